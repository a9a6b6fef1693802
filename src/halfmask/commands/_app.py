"""The program: every command, by the module of its name in this folder."""

import sys

from cyclopts import App, Group

from halfmask import __version__
from halfmask.commands import names
from halfmask.commands._lazy import listed

GROUPS = ("Start here", "Measure", "Choose", "Check", "Show", "Share: device", "Share: service")
"""What people do, in the order of the list of commands; a command names its own in ``GROUP``."""
SHOWN = {name: Group(name, sort_key=place) for place, name in enumerate(GROUPS)}

app = App(
    name="halfmask",
    help="Useful totals from people's sensors without taking people's data.",
    version=__version__,
    help_format="plaintext" if sys.argv[1:] in ([], ["--help"], ["-h"]) else "markdown",  # lines alone need no layout
    suppress_keyboard_interrupt=False,  # `main` says what became of the work
)

_LISTED = len(sys.argv) < 2 or sys.argv[1] not in names()
"""Whether the list of commands may be wanted: summaries, except those of groups, are looked up only then."""

for name in names():
    group, _, part = name.rpartition("_")  # the module reward_fit is the command 'halfmask reward fit'
    shown, summary = listed(name) if _LISTED or group else (None, None)
    (app[group] if group else app).command(
        f"halfmask.commands._lazy:{name}", name=part, help=summary, group=SHOWN[shown] if shown and not group else None
    )
