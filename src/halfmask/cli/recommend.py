"""``halfmask recommend``."""

from halfmask.cli.output import note, print_rows
from halfmask.cli.tables import advice_rows, trial_rows
from halfmask.commands.recommend import Recommend
from halfmask.commands.recommend import recommend as advise

DEFAULTS = Recommend()


def recommend(options: Recommend = DEFAULTS) -> None:
    """Advise one producer: which setting of the menu serves a wish. The readings stay on this machine."""
    found = advise(options)
    if isinstance(found, list):
        print_rows(trial_rows(found), f"A wish for privacy of {options.privacy:g}, on held-out users")
        return
    print_rows(advice_rows(found), f"{found.chosen.entry.id} ({found.chosen.entry.setting})")
    for told in found.notes:
        note(told)
