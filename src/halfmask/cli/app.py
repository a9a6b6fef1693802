"""The program itself: every command of the package, by the module of its name beside this one."""

import sys

from cyclopts import App

from halfmask import __version__
from halfmask.cli.lazy import summary
from halfmask.commands import names

app = App(
    name="halfmask",
    help="Useful totals from people's sensors without taking people's data.",
    version=__version__,
    help_format="plaintext" if sys.argv[1:] in ([], ["--help"], ["-h"]) else "markdown",  # lines alone need no layout
    suppress_keyboard_interrupt=False,  # `main` says what became of the work
)


_LISTED = len(sys.argv) < 2 or sys.argv[1] not in names()
"""Whether a list of all commands may be wanted: their summaries, but those of groups, are looked up only then."""

for name in names():
    group, _, part = name.rpartition("_")  # the module reward_fit is the command 'halfmask reward fit'
    said = summary(name) if _LISTED or group else None
    (app[group] if group else app).command(f"halfmask.cli.lazy:{name}", name=part, help=said)
