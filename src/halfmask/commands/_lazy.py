"""The command line's function of every command as an attribute, imported when it is asked for.

A program that lists or runs one command does not wait for the others.
"""

import ast
import functools
import inspect
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from halfmask.commands._options import Options
from halfmask.commands._output import note
from halfmask.errors import HalfmaskError

MARK = '"unfit_for_relative": "'
"""A menu file holds this text if relative errors do not suit its data; without it the menu need not be read."""


def __getattr__(name: str) -> Callable[..., None]:
    """Return what the command line runs for a command: the function ``main`` of its module."""
    if name.startswith("_"):
        raise AttributeError(name)
    return warned(import_module(f"halfmask.commands.{name}").main)


def listed(name: str) -> tuple[str, str]:
    """Return a command's group in the list of commands and its summary, from its source, without importing it."""
    source = ast.parse(Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8"))
    set_once = [each for each in source.body if isinstance(each, ast.Assign)]
    (group,) = (ast.literal_eval(each.value) for each in set_once if ast.unparse(each.targets[0]) == "GROUP")
    (main,) = (each for each in source.body if isinstance(each, ast.FunctionDef) and each.name == "main")
    return group, (ast.get_docstring(main) or "").partition("\n")[0]


def warned(run: Callable[..., None]) -> Callable[..., None]:
    """Return the command, followed by the warnings of the menu that it read.

    It may be called without any option if every option has a default.
    """
    signature = inspect.signature(run)
    kind = signature.parameters["options"].annotation
    if not any(each.default is each.empty for each in inspect.signature(kind).parameters.values()):
        first, *others = signature.parameters.values()
        signature = signature.replace(parameters=[first.replace(default=kind()), *others])

    @functools.wraps(run)
    def called(*args: Any, **kwargs: Any) -> None:
        run(*args, **kwargs)
        options = next((each for each in (*args, *kwargs.values()) if isinstance(each, Options)), None)
        menu = getattr(options, "menu", None)
        if menu is None or not Path(menu).is_file() or MARK not in Path(menu).read_text(encoding="utf-8"):
            return
        from halfmask.menus.menu import read_menu

        with suppress(HalfmaskError):  # the file is not a menu: the command has said so
            for warning in read_menu(menu).warnings():
                note(warning)

    called.__signature__ = signature  # type: ignore[attr-defined]
    return called
