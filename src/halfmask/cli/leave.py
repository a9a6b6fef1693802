"""``halfmask leave``."""

from halfmask.commands.leave import Leave
from halfmask.commands.leave import leave as leave_campaign


def leave(options: Leave) -> None:
    """Leave a campaign: reports of open periods are withdrawn, earned rewards stay."""
    member = leave_campaign(options)
    print(f"left campaign {member.campaign}; reports of periods that are still open are withdrawn")
