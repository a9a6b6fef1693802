"""The program itself: its commands are added by the modules beside this one."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from halfmask import __version__

app = App(
    name="halfmask",
    help="Useful totals from people's sensors without taking people's data.",
    version=__version__,
    suppress_keyboard_interrupt=False,  # `main` says what became of the work
)

Output = Annotated[Path, Parameter(name=["--output", "-o"])]
Flag = Annotated[bool, Parameter(negative="")]
