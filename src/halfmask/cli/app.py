"""The program itself: every command of the package, by the module of its name beside this one."""

from importlib import import_module

from cyclopts import App

from halfmask import __version__
from halfmask.commands import names

app = App(
    name="halfmask",
    help="Useful totals from people's sensors without taking people's data.",
    version=__version__,
    suppress_keyboard_interrupt=False,  # `main` says what became of the work
)
for name in names():
    group, _, part = name.rpartition("_")  # the module reward_fit is the command 'halfmask reward fit'
    (app[group] if group else app).command(getattr(import_module(f"halfmask.cli.{name}"), name), name=part)
