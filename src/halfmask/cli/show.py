"""``halfmask show``."""

from halfmask.cli.output import note, print_json, print_table_of
from halfmask.commands._options import Flag
from halfmask.commands.show import Show
from halfmask.commands.show import show as look_at


def show(options: Show, *, json: Flag = False) -> None:
    """Look at a profile: quality of the data, how large readings are, totals or means over time.

    Parameters
    ----------
    json
        Print one JSON object instead.
    """
    from halfmask.profiles.quality import quality

    profile = look_at(options)
    if json:
        print_json({**quality(profile), "fingerprint": profile.fingerprint()})
    else:
        print_table_of(profile, options.aggregate)
    if options.picture is not None:
        note(f"drew {options.picture}")
