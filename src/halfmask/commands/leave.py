"""``halfmask leave``: leaving a campaign from a producer's own device."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, Options, command

if TYPE_CHECKING:
    from halfmask_device.membership import Membership

GROUP = "Share: device"


@Parameter(name="*")
@dataclass(frozen=True)
class Leave(Options):
    """Options of `leave`.

    Parameters
    ----------
    state
        Folder of this device's secret, memory and queue.
    campaign
        The campaign's id; not needed where the device is in one.
    """

    _: KW_ONLY
    state: AnyPath
    campaign: str | None = None


@command(Leave)
def leave(options: Leave) -> "Membership":
    """Leave a campaign: reports of open periods are withdrawn, earned rewards stay, the queue for it is dropped."""
    from halfmask_device.sharing import Sharer

    sharer = Sharer(options.state, create=False)
    return sharer.leave(sharer.member(options.campaign).campaign)


def main(options: Leave) -> None:
    """Leave a campaign: reports of open periods are withdrawn, earned rewards stay."""
    member = leave(options)
    print(f"left campaign {member.campaign}; reports of periods that are still open are withdrawn")
