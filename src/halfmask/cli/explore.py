"""``halfmask explore``."""

from dataclasses import replace

from halfmask.cli.output import note
from halfmask.commands.explore import Explore
from halfmask.commands.explore import explore as serve

OWN = ("127.0.0.1", "localhost", "::1")


def explore(options: Explore) -> None:
    """Results of a folder, interactive in the browser: other menus, mixes and settings at a touch. Ctrl-C ends it."""
    if options.output is None and options.host not in OWN:
        note(f"listening on {options.host}: whoever reaches this machine sees the results, without a password")
    serve(replace(options, tell=lambda address: print(address, flush=True)))
    note("stopped" if options.output is None else f"wrote {options.output}")
