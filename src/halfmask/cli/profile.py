"""``halfmask profile``."""

from dataclasses import replace

from halfmask.cli.output import counting, note, print_table_of
from halfmask.commands._options import Flag
from halfmask.commands.profile import ProfileOptions
from halfmask.commands.profile import profile as make_profile
from halfmask.errors import OptionError

NOTHING_SAID = ProfileOptions()


def profile(options: ProfileOptions = NOTHING_SAID, *, dry_run: Flag = False) -> None:
    """Readings to a profile: the compact file that every later step works from.

    Parameters
    ----------
    dry_run
        Only describe the source: columns and quality.
    """
    if options.output is None and not dry_run:
        raise OptionError("say where the profile goes: -o NAME.profile (or --dry-run to look at the source only)")
    with counting("reading", "readings") as advance:
        made = make_profile(replace(options, output=None if dry_run else options.output, advance=advance, tell=note))
    print_table_of(made)
    if not dry_run:
        note(f"wrote {options.output}")
