"""``halfmask synth``: write a synthetic panel."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, command
from halfmask.commands._printing import bar, note
from halfmask.commands._shared_options import Advances


class Synth(Advances):
    """Options of `synth`.

    Parameters
    ----------
    output
        The Parquet file to write.
    users
        How many users there are.
    days
        How many days, of 48 half-hourly readings each, from 14 July 2009.
    seed
        The same seed gives the same file, byte for byte.
    """

    output: Annotated[AnyPath, Parameter(name=["--output", "-o"])]
    users: int = 6435
    days: int = 536
    seed: int = 1


@command(Synth, group="Start here")
def synth(options: Synth) -> Path:
    """Write a synthetic panel that behaves like the Irish smart meter trial, and return its path."""
    from halfmask.data.synth import synth as write_panel

    target = Path(options.output)
    write_panel(target, users=options.users, days=options.days, seed=options.seed, progress=options.advance)
    return target


def main(options: Synth) -> None:
    """Write a synthetic panel that behaves like the Irish smart meter trial."""
    with bar("drawing users", options.users) as advance:
        synth(replace(options, advance=advance))
    note(f"{options.users * options.days * 48:,} rows")
