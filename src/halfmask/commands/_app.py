"""The list of commands. The module of a command is imported when the command runs, or its own help is asked for."""

import ast
import functools
import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from cyclopts import App, Group

from halfmask import __version__
from halfmask.commands import names
from halfmask.commands._configuration import configure
from halfmask.commands._options import Options
from halfmask.commands._printing import note
from halfmask.errors import HalfmaskError

GROUPS = ("Start here", "Measure", "Choose", "Check", "Show", "Share: device", "Share: service")
"""What people do, in the order of the list of commands."""
SHOWN = {name: Group(name, sort_key=place) for place, name in enumerate(GROUPS)}

UNFIT = '"unfit_for_relative": "'
"""A menu file holds this text if relative errors do not suit its data; without it the menu need not be read."""


def __getattr__(name: str) -> Callable[..., None]:
    """Return what the command line runs for a command: the function ``main`` of its module."""
    if name.startswith("_"):
        raise AttributeError(name)
    return finished(import_module(f"halfmask.commands.{name}").main)


def listed(name: str) -> tuple[str, str]:
    """Return a command's group in the list of commands and its summary, from its source, without importing it."""
    source = ast.parse(Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8"))
    functions = {each.name: each for each in source.body if isinstance(each, ast.FunctionDef)}
    (group,) = (each.value for call in functions[name].decorator_list for each in getattr(call, "keywords", ()))
    return ast.literal_eval(group), (ast.get_docstring(functions["main"]) or "").partition("\n")[0]


def finished(run: Callable[..., None]) -> Callable[..., None]:
    """Return the command, followed by a line for each file that it wrote and by the warnings of its menu.

    It may be called without any option if every option has a default.
    """
    signature = inspect.signature(run)
    kind = signature.parameters["options"].annotation
    if not any(each.default is each.empty for each in inspect.signature(kind).parameters.values()):
        first, *others = signature.parameters.values()
        signature = signature.replace(parameters=[first.replace(default=kind()), *others])

    @functools.wraps(run)
    def called(options: Options | None = None, **more: Any) -> None:
        options = kind() if options is None else options
        run(options, **more)
        for path in options.written():
            note(f"wrote {path}")
        menu = getattr(options, "menu", None)
        if menu is not None and Path(menu).is_file() and UNFIT in Path(menu).read_text(encoding="utf-8"):
            from halfmask.menus.menu import Menu

            with suppress(HalfmaskError):  # the file is not a menu: the command has said so
                for warning in Menu.read(menu).warnings():
                    note(warning)

    vars(called)["__signature__"] = signature
    return called


app = App(
    name="halfmask",
    help="Useful totals from people's sensors without taking people's data.",
    version=__version__,
    help_format="plaintext" if sys.argv[1:] in ([], ["--help"], ["-h"]) else "markdown",  # lines alone need no layout
    suppress_keyboard_interrupt=False,  # `main` says what became of the work
    config=configure,
)

_LISTED = len(sys.argv) < 2 or sys.argv[1] not in names()
"""Whether the list of commands may be wanted: only then are summaries looked up, except those of subcommands."""

for name in names():
    above, _, part = name.rpartition("_")  # the module reward_fit is the command 'halfmask reward fit'
    group, summary = listed(name) if _LISTED or above else (None, None)
    (app[above] if above else app).command(
        f"{__name__}:{name}", name=part, help=summary, group=SHOWN[group] if group and not above else None
    )
