"""``halfmask status``: show the campaigns of a device, and what happened to its reports."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from halfmask.commands._options import command
from halfmask.commands._printing import CommandAnswer, one_line
from halfmask.commands._shared_options import IN_SHORT, Display, OfDevice
from halfmask.commands.send import counted
from halfmask_device.decimals import money
from halfmask_device.instants import instant_text
from halfmask_device.membership import Membership, pay_words
from halfmask_device.reading_times import day_text

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


LATEST = 3
"""How many periods without a total are printed by default."""


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


def main(options: Status, *, shown: Display = IN_SHORT) -> None:
    """Show the campaigns that a device is in, and what became of its reports."""
    standing = status(options)
    if not standing.campaigns:
        shown.show(
            CommandAnswer(_plain(standing), [], "This device is in no campaign.", "halfmask join URL --state STATE")
        )
        return
    rows: list[Sequence[str]] = [("campaign", "setting", "reports", "rewards expected")]
    for each in standing.campaigns:
        rows += _rows(each)
    kept = [words for budget in standing.budgets for words in budget.words()]
    keys = [
        f"the key of {day} is kept until {until}: until then this folder and a report of that day give the reading"
        for day, until in standing.keys.items()
    ]
    more = [f"keys of {len(keys)} days are kept: this folder and a report of such a day give the reading"] * bool(keys)
    shown.show(
        CommandAnswer(
            _plain(standing),
            [("", rows)],
            "\n".join(line for each in standing.campaigns if not each.member.left for line in _about(each)),
            f"halfmask ledger --state {options.state}",
            [*(words for each in standing.campaigns for words in _open(each)), *kept, *more],
            words=[*(words for each in standing.campaigns for words in _details(each)), *keys],
        )
    )


def _plain(standing: DeviceStanding) -> dict[str, Any]:
    """Return everything but the secrets of the device."""
    from halfmask.plain import to_plain

    return {
        "campaigns": [
            {
                "campaign": each.member.campaign,
                "address": each.member.address,
                "name": each.member.offer.get("name"),
                "setting": each.member.setting,
                "left": bool(each.member.left),
                "outcomes": {name: {"reports": count, "reward": paid} for name, (count, paid) in each.counts.items()},
            }
            for each in standing.campaigns
        ],
        "budgets": to_plain(standing.budgets),
        "keys": standing.keys,
    }


def _rows(each: CampaignStanding) -> list[Sequence[str]]:
    """Return a row for each outcome of a campaign's reports."""
    member, currency = each.member, str(each.member.offer.get("currency", ""))
    name = member.campaign + (" (left)" if member.left else "")
    found = [(counted({outcome: reports}), money(paid, currency)) for outcome, (reports, paid) in each.counts.items()]
    return [(name, member.setting, *cells) for cells in found or [("no reports yet", "")]]


def _pay(member: Membership) -> str:
    """Return what a campaign is and what its setting earns."""
    name, paid = one_line(member.offer.get("name")), pay_words(member.terms, member.setting)
    return f"{name}: by setting {member.setting}{f', {paid}' if paid else ''}."


def _about(each: CampaignStanding) -> list[str]:
    """Return what a campaign is, and the latest periods that have no total yet."""
    expected = each.member.terms.readings_expected
    waiting = [f"{one.span.key}: {one.readings} of {expected} readings, no total yet" for one in each.gathered]
    signature = each.member.terms.signature
    return [_pay(each.member), *([signature.words(date.today())] if signature else []), *waiting[-LATEST:]]


def _open(each: CampaignStanding) -> list[str]:
    """Return what the producer must see: who holds the shares, and whose withdrawal is not done."""
    member, told = each.member, []
    if member.splits:
        told.append(f"totals are split between {member.address} and {member.helper}, which must not work together")
    if member.withdrawing:
        told.append(f"{member.helper} has not withdrawn its shares yet: 'halfmask send' asks it again")
    return told


def _details(each: CampaignStanding) -> list[str]:
    """Return a campaign's address."""
    member = each.member
    return [f"{member.campaign} at {member.address}"]
