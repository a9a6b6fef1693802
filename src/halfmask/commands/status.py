"""``halfmask status``: show the campaigns of a device, and what happened to its reports."""

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from halfmask.commands._options import command
from halfmask.commands._printing import note, one_line, without_controls
from halfmask.commands._shared_options import OfDevice
from halfmask.commands.send import counted
from halfmask_device.decimals import money
from halfmask_device.instants import instant_text
from halfmask_device.membership import Membership
from halfmask_device.reading_times import day_text

SHOWN = 10
"""How many days with keys are printed: the latest."""

if TYPE_CHECKING:
    from halfmask_device.budget_standing import BudgetStanding
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


@dataclass(frozen=True)
class DeviceStanding:
    """A device: its campaigns, its budgets, and the days whose keys it keeps.

    ``keys``  by date, the time from which no campaign takes reports of the day, when its key is erased
    """

    campaigns: list[CampaignStanding]
    budgets: "list[BudgetStanding]" = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)


@command(Status, group="Share: device")
def status(options: Status) -> DeviceStanding:
    """Return the campaigns of a device, and what happened to its reports, as far as the device knows.

    Keys of days that no campaign needs any more are erased first.
    """
    from halfmask_device.sharing import Sharer

    sharer = Sharer(options.state, create=False)
    sharer.erase_keys()
    gathered = sharer.gathered()
    campaigns = [
        CampaignStanding(member, counts, tuple(each for of, each in gathered if of == member.campaign))
        for member, counts in sharer.standings()
    ]
    keys = {day_text(day): instant_text(until) for day, until in sharer.keys_kept()}
    return DeviceStanding(campaigns, sharer.budgets(), keys)


def main(options: Status) -> None:
    """Show the campaigns that a device is in, and what became of its reports."""
    standing = status(options)
    found = standing.campaigns
    for each in found:
        member, left = each.member, " (left)" if each.member.left else ""
        name = without_controls(one_line(member.offer.get("name")))
        print(f"{member.campaign}{left} at {member.address}: setting {member.setting}, {name}")
        if member.splits:
            print(f"  totals are split between {member.address} and {member.helper}, which must not work together")
        if member.withdrawing:
            print(f"  {member.helper} has not withdrawn its shares yet: 'halfmask send' asks it again")
        if member.terms.signature:
            print(f"  {member.terms.signature.words(date.today())}")
        for outcome, (reports, reward) in each.counts.items():
            print(f"  {counted({outcome: reports})}; {money(reward, str(member.offer.get('currency', '')))}")
        for period in each.gathered:
            print(f"  {period.span.key}: {period.readings} of {member.terms.readings_expected} readings, no total yet")
    if not found:
        note("this device is in no campaign: halfmask join URL")
    for budget in standing.budgets:
        for words in budget.words():
            note(words)
    for day, until in list(standing.keys.items())[-SHOWN:]:
        note(
            f"the key of {day} is kept until {until}: until then this folder and a report of that day give the reading"
        )
    if len(standing.keys) > SHOWN:
        note(f"keys of {len(standing.keys)} days are kept; the last {SHOWN} are shown")
