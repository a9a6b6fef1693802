"""The program itself: its commands are added by the modules beside this one."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from halfmask import __version__
from halfmask.commands import names
from halfmask.commands._options import has_a_place

app = App(
    name="halfmask",
    help="Useful totals from people's sensors without taking people's data.",
    version=__version__,
    suppress_keyboard_interrupt=False,  # `main` says what became of the work
)


for name in names():
    app.command(getattr(import_module(f"halfmask.cli.{name}"), name))


def _checked(_: object, output: Path | None) -> None:
    if output is not None:
        has_a_place(output)


Output = Annotated[Path, Parameter(name=["--output", "-o"], validator=_checked)]
OutputIfAny = Annotated[Path | None, Parameter(name=["--output", "-o"], validator=_checked)]
Flag = Annotated[bool, Parameter(negative="")]


@Parameter(name="*")
@dataclass(frozen=True)
class Columns:
    """How to read a panel, as 'halfmask profile' was told.

    Parameters
    ----------
    user
        The panel's column that tells users apart; guessed where not named.
    time
        The panel's column with the times; guessed where not named.
    value
        The panel's column with the readings; guessed where not named.
    format
        The panel's format, as for 'halfmask profile'.
    table
        The panel's table, where it is a database.
    wide
        The panel has one column a sensor, beside the time.
    tz
        Zone in which the profile's days were cut.
    """

    user: str | None = None
    time: str | None = None
    value: str | None = None
    format: str = "auto"
    table: str | None = None
    wide: Flag = False
    tz: str | None = None
