"""Commands from readings to a profile."""

from pathlib import Path

from halfmask.cli.app import Flag, app
from halfmask.cli.output import note, print_json, print_table_of


@app.command
def show(
    profile: Path,
    *,
    png: Path | None = None,
    json: Flag = False,
) -> None:
    """Look at a profile: quality of the data, how large readings are, totals over time.

    Parameters
    ----------
    profile
        A file that 'halfmask profile' wrote.
    png
        Also draw it to this file (.png, .svg or .pdf).
    json
        Print one JSON object instead.
    """
    from halfmask.profiles.quality import quality
    from halfmask.profiles.show import draw_profile
    from halfmask.profiles.store import load_profile

    loaded = load_profile(profile)
    if json:
        print_json(quality(loaded))
    else:
        print_table_of(loaded)
    if png is not None:
        draw_profile(loaded, png)
        note(f"drew {png}")
