"""``halfmask status``."""

from halfmask.cli.output import note
from halfmask.cli.send import counted
from halfmask.commands.status import Status
from halfmask.commands.status import status as standings
from halfmask_device.decimals import money


def status(options: Status) -> None:
    """The campaigns that a device is in, and what became of its reports."""
    found = standings(options)
    for each in found:
        member, left = each.member, " (left)" if each.member.left else ""
        print(f"{member.campaign}{left} at {member.address}: setting {member.setting}, {member.offer.get('name')}")
        for outcome, (reports, reward) in each.counts.items():
            print(f"  {counted({outcome: reports})}; {money(reward, str(member.offer.get('currency', '')))}")
    if not found:
        note("this device is in no campaign: halfmask join URL")
