"""``halfmask recommend``."""

from halfmask.cli.output import note, print_rows
from halfmask.commands.recommend import Recommend
from halfmask.commands.recommend import recommend as advise

DEFAULTS = Recommend()


def recommend(options: Recommend = DEFAULTS) -> None:
    """Advise one producer: which setting of the menu serves a wish. The readings stay on this machine."""
    from halfmask.choice.held_out import trial_rows

    found = advise(options)
    if isinstance(found, list):
        print_rows(trial_rows(found), f"A wish for privacy of {options.privacy:g}, on held-out users")
        return
    print_rows(found.rows(), f"{found.chosen.entry.id} ({found.chosen.entry.setting})")
    for told in found.notes:
        note(told)
