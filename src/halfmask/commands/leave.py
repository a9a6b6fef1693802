"""``halfmask leave``: leave a campaign from a producer's own device."""

from halfmask.commands._options import command
from halfmask.commands._printing import note
from halfmask.commands._shared_options import OfDevice
from halfmask_device.membership import Membership


class Leave(OfDevice):
    """Options of `leave`.

    Parameters
    ----------
    campaign
        The campaign's id; not needed if the device is in one campaign.
    """

    campaign: str | None = None


@command(Leave, group="Share: device")
def leave(options: Leave) -> Membership:
    """Leave a campaign: reports of open periods are withdrawn, earned rewards stay, the queue for it is dropped."""
    from halfmask_device.sharing import Sharer

    sharer = Sharer(options.state, create=False)
    return sharer.leave(sharer.member(options.campaign).campaign)


def main(options: Leave) -> None:
    """Leave a campaign: reports of open periods are withdrawn, earned rewards stay."""
    member = leave(options)
    print(f"left campaign {member.campaign}; reports of periods that are still open are withdrawn")
    if member.withdrawing:
        note(
            f"{member.helper} does not answer, and still has its shares: 'halfmask send' asks it again to withdraw them"
        )
