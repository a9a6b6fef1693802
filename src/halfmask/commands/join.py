"""Joining a campaign from a producer's own device."""

from dataclasses import KW_ONLY, dataclass

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, Options, command
from halfmask_device.sharing import Membership, Sharer


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
def join(options: Join) -> Membership:
    """Join a campaign: the device keeps its token, and pins the terms by their hash."""
    return Sharer(options.state).join(options.url, options.campaign, options.setting, options.invitation)
