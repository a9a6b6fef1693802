"""Joining a campaign from a producer's own device."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, Options, command

if TYPE_CHECKING:
    from halfmask_device.sharing import Membership


@Parameter(name="*")
@dataclass(frozen=True)
class Join(Options):
    """Options of `join`.

    Parameters
    ----------
    url
        The service's address.
    state
        Folder of this device's secret, memory and queue: one for each producer. Keep it, and keep it private.
    campaign
        The campaign's id; not needed where the service has one campaign.
    setting
        The id of the menu's setting to share by.
    invitation
        An invitation, for campaigns that are not open to all.
    """

    url: str
    _: KW_ONLY
    state: AnyPath
    campaign: str | None = None
    setting: str | None = None
    invitation: str | None = None


@command(Join)
def join(options: Join) -> "Membership":
    """Join a campaign: the device keeps its token, and pins the terms by their hash."""
    from halfmask_device.sharing import Sharer

    return Sharer(options.state).join(options.url, options.campaign, options.setting, options.invitation)
