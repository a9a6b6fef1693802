"""``halfmask suspects``."""

from halfmask.cli.output import note, print_rows
from halfmask.commands.suspects import Suspects
from halfmask.commands.suspects import suspects as find


def suspects(options: Suspects) -> None:
    """Producers whose reports do not look like what their setting claims. A flag is a reason to ask."""
    found, names = find(options)
    rows = [("producer", "setting", "reports", "reason", "chance if honest, at most")]
    rows += [
        (names[each.producer], each.setting, str(each.reports), each.reason, _chance(each.chance))
        for each in found.suspects
    ]
    print_rows(rows)
    note(f"{found.tested:,} series of reports were long enough to be tested.")
    note(
        f"If all producers are honest, at most one run in {1 / found.false_alarm:,.0f} flags any of them with proof. "
        "What varies more than its peers may still be true."
    )
    for setting, reports in found.needed.items():
        note(f"{setting}: {reports} reports prove that steady readings were sent without its noise")


def _chance(chance: float | None) -> str:
    return "not known" if chance is None else f"{chance:.1g}"
