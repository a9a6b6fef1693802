"""``halfmask suspects``: find reports that do not have the noise of their setting."""

from dataclasses import field
from typing import TYPE_CHECKING

from halfmask.commands._options import command
from halfmask.commands._printing import CommandAnswer
from halfmask.commands._shared_options import IN_SHORT, Display, OfService
from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.service.suspects import Suspicions


class Suspects(OfService):
    """Options of `suspects`.

    Parameters
    ----------
    campaign
        The campaign to check, among the reports that the service still keeps.
    false_alarm
        The chance that a run over honest producers flags any of them.
    """

    campaign: str = field(kw_only=False)
    false_alarm: float = 1e-3

    def check_together(self) -> None:
        if not 0 < self.false_alarm < 1:
            raise OptionError(f"{self.false_alarm} is not a false-alarm rate: use a number between 0 and 1")


@command(Suspects, group="Share: service")
def suspects(options: Suspects) -> "tuple[Suspicions, dict[int, str]]":
    """Return flagged producers with the reason and its probability for an honest one.

    And the producers' names by key.
    """
    from halfmask.service.operator_queries import suspicions

    return suspicions(options.db, options.campaign, options.false_alarm)


def main(options: Suspects, *, shown: Display = IN_SHORT) -> None:
    """List producers whose reports do not have the noise of their setting. A flag is a reason to ask."""
    from halfmask.plain import to_plain

    found, names = suspects(options)
    rows = [("producer", "setting", "reports", "reason", "chance if honest, at most", "assumes")]
    rows += [
        (
            names[each.producer],
            each.setting,
            str(each.reports),
            each.reason,
            f"{each.chance:.1g}",
            each.assumes,
        )
        for each in found.suspects
    ]
    honest = f"at most one run in {1 / found.false_alarm:,.0f} over honest producers flags any of them"
    shown.show(
        CommandAnswer(
            {
                "suspects": [to_plain(each) | {"producer": names[each.producer]} for each in found.suspects],
                "tested": found.tested,
                "needed": to_plain(found.needed),
            },
            [("", rows)] if found.suspects else [],
            f"{len(found.suspects):,} of {found.tested:,} series of enough reports are flagged; {honest}.",
            f"halfmask payout --campaign {options.campaign} --db {options.db}",
            ["a flag is a reason to ask: whoever differs from its peers may still be right"] if found.suspects else [],
            words=[
                f"{setting}: {reports} reports prove that steady readings were sent without its noise"
                for setting, reports in found.needed.items()
            ],
        )
    )
