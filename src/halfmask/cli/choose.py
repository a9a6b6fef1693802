"""``halfmask choose``."""

from halfmask.cli.output import note, print_rows
from halfmask.cli.tables import assignment_rows, choice_rows
from halfmask.commands.choose import Choose
from halfmask.commands.choose import choose as find_setting


def choose(options: Choose) -> None:
    """Change a setting: producers ask for more privacy, the consumer for more utility."""
    from halfmask.choice.requirements import Choice

    found = find_setting(options)
    print_rows(choice_rows(found) if isinstance(found, Choice) else assignment_rows(found))
    if isinstance(found, Choice) and found.chosen is None:
        note(f"no setting has privacy above {found.privacy_above:.3g} and utility above {found.utility_above:.3g}")
    elif not isinstance(found, Choice) and not found.feasible:
        note("not every wish is met: lower deltas, or ask for less utility")
