"""The program itself: its commands are added by the modules beside this one."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from halfmask import __version__
from halfmask.errors import OptionError, RunError

app = App(
    name="halfmask",
    help="Useful totals from people's sensors without taking people's data.",
    version=__version__,
    suppress_keyboard_interrupt=False,  # `main` says what became of the work
)


def has_a_place(_: object, output: Path | None) -> None:
    """Refuse a file that could not be written before the work for it is done."""
    if output is None:
        return
    if output.is_dir():
        raise OptionError(f"cannot write {output}: it is a folder; name a file in it")
    if not output.parent.is_dir():
        raise OptionError(f"cannot write {output}: there is no folder {output.parent}; make it first")
    if not os.access(output.parent, os.W_OK):
        raise RunError(f"cannot write {output}: the folder {output.parent} is not yours to write in; name another")


Output = Annotated[Path, Parameter(name=["--output", "-o"], validator=has_a_place)]
OutputIfAny = Annotated[Path | None, Parameter(name=["--output", "-o"], validator=has_a_place)]
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
