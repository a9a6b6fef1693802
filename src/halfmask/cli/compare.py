"""``halfmask compare``."""

from halfmask.cli.output import note, print_json, print_rows
from halfmask.commands._options import Flag
from halfmask.commands.compare import Compare
from halfmask.commands.compare import compare as measure


def compare(options: Compare, *, json: Flag = False) -> None:
    """Two menus or studies on common normalisers: which wins at which level of privacy.

    Parameters
    ----------
    json
        Print the result as JSON instead of a table.
    """
    found = measure(options)
    if json:
        print_json(found.to_json())
    else:
        print_rows(found.rows(), "On common normalisers")
    for said in found.notes():
        note(said)
