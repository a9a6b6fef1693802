"""How a device stands with its campaigns."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, Options, command

if TYPE_CHECKING:
    from halfmask_device.sharing import Membership


@Parameter(name="*")
@dataclass(frozen=True)
class Status(Options):
    """Options of `status`.

    Parameters
    ----------
    state
        Folder of this device's secret, memory and queue.
    """

    _: KW_ONLY
    state: AnyPath


@dataclass(frozen=True)
class CampaignStanding:
    """One campaign: reports and rewards by outcome, ``waiting`` for those without a receipt.

    Of a campaign that was left and joined again there are several, the latest first.
    """

    member: "Membership"
    counts: dict[str, tuple[int, int]]


@command(Status)
def status(options: Status) -> list[CampaignStanding]:
    """The campaigns of a device, with what became of its reports; from the device alone, nobody is asked."""
    from halfmask_device.sharing import Sharer

    return [CampaignStanding(member, counts) for member, counts in Sharer(options.state, create=False).standings()]
