"""``halfmask status``: show the campaigns of a device, and what happened to its reports."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.commands._options import command
from halfmask.commands._printing import note
from halfmask.commands._shared_options import OfDevice
from halfmask.commands.send import counted
from halfmask_device.decimals import money
from halfmask_device.membership import Membership

if TYPE_CHECKING:
    from halfmask_device.period_totals import Gathered


class Status(OfDevice):
    """Options of `status`.

    Parameters
    ----------
    """


@dataclass(frozen=True)
class CampaignStanding:
    """One campaign: reports and rewards by outcome; reports without a receipt are ``waiting``.

    A campaign that was left and joined again has several, the latest first.
    """

    member: Membership
    counts: dict[str, tuple[int, int]]
    gathered: "tuple[Gathered, ...]" = ()
    """Periods of a campaign of totals that have readings and no total yet."""


@command(Status, group="Share: device")
def status(options: Status) -> list[CampaignStanding]:
    """Return the campaigns of a device, and what happened to its reports, as far as the device knows."""
    from halfmask_device.sharing import Sharer

    sharer = Sharer(options.state, create=False)
    gathered = sharer.gathered()
    return [
        CampaignStanding(member, counts, tuple(each for of, each in gathered if of == member.campaign))
        for member, counts in sharer.standings()
    ]


def main(options: Status) -> None:
    """Show the campaigns that a device is in, and what became of its reports."""
    found = status(options)
    for each in found:
        member, left = each.member, " (left)" if each.member.left else ""
        print(f"{member.campaign}{left} at {member.address}: setting {member.setting}, {member.offer.get('name')}")
        for outcome, (reports, reward) in each.counts.items():
            print(f"  {counted({outcome: reports})}; {money(reward, str(member.offer.get('currency', '')))}")
        for period in each.gathered:
            print(f"  {period.span.key}: {period.readings} of {member.terms.readings_expected} readings, no total yet")
    if not found:
        note("this device is in no campaign: halfmask join URL")
