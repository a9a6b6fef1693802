"""The program itself: every command of the package, by the module of its name beside this one."""

import sys
from importlib import import_module
from typing import Any

from cyclopts import App

from halfmask import __version__
from halfmask.cli.warned import warned
from halfmask.commands import names

app = App(
    name="halfmask",
    help="Useful totals from people's sensors without taking people's data.",
    version=__version__,
    suppress_keyboard_interrupt=False,  # `main` says what became of the work
)


def _function(name: str) -> Any:
    """The command's function, or its address where another command runs: the others are then not imported."""
    running = sys.argv[1] if len(sys.argv) > 1 else ""
    if running in names() and name.partition("_")[0] != running:
        return f"halfmask.cli.{name}:{name}"
    return warned(getattr(import_module(f"halfmask.cli.{name}"), name))


for name in names():
    group, _, part = name.rpartition("_")  # the module reward_fit is the command 'halfmask reward fit'
    (app[group] if group else app).command(_function(name), name=part)
