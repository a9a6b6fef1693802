"""``halfmask compare``."""

from halfmask.cli.output import note, print_rows
from halfmask.commands.compare import Compare
from halfmask.commands.compare import compare as measure


def compare(options: Compare) -> None:
    """Two menus or studies on common normalisers: who wins at which level of privacy."""
    found = measure(options)
    print_rows(found.rows(), "On common normalisers")
    for told in found.notes():
        note(told)
