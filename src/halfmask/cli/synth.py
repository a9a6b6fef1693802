"""``halfmask synth``."""

from dataclasses import replace

from halfmask.cli.output import bar, note
from halfmask.commands.synth import Synth
from halfmask.commands.synth import synth as write_panel


def synth(options: Synth) -> None:
    """Write a synthetic panel that behaves like the Irish smart meter trial."""
    with bar("drawing users", options.users) as progress:
        written = write_panel(replace(options, progress=progress))
    note(f"wrote {written}: {options.users * options.days * 48:,} rows")
