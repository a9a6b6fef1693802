"""``halfmask merge``."""

from dataclasses import replace

from halfmask.cli.output import note, print_table_of
from halfmask.commands.merge import MergeOptions
from halfmask.commands.merge import merge as add_up


def merge(options: MergeOptions) -> None:
    """Two profiles of different readings as one, without reading the readings again."""
    print_table_of(add_up(replace(options, tell=note)))
    note(f"wrote {options.output}")
