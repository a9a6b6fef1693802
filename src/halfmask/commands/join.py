"""``halfmask join``: join a campaign from a producer's own device."""

from dataclasses import field

from halfmask.commands._options import command
from halfmask.commands._printing import note
from halfmask.commands._shared_options import OfDevice
from halfmask_device.membership import Membership, levels
from halfmask_device.protocol import CampaignTerms
from halfmask_device.setting import DeviceSetting


class Join(OfDevice):
    """Options of `join`.

    Parameters
    ----------
    url
        The service's address.
    campaign
        The campaign's id; not needed if the service has one campaign.
    setting
        The id of the menu's setting to share by.
    invitation
        An invitation, for campaigns that are not open to all.
    """

    url: str = field(kw_only=False)
    campaign: str | None = None
    setting: str | None = None
    invitation: str | None = None


@command(Join, group="Share: device")
def join(options: Join) -> Membership:
    """Join a campaign: the device stores its token, and pins the terms by their hash."""
    from halfmask_device.sharing import Sharer

    return Sharer(options.state).join(options.url, options.campaign, options.setting, options.invitation)


def main(options: Join) -> None:
    """Join a campaign of a service from the producer's own device."""
    member = join(options)
    offer = member.offer
    terms = CampaignTerms.read(offer)
    print(f"joined campaign {member.campaign} by setting {member.setting} ({'; '.join(levels(terms)[member.setting])})")
    note(f"purpose: {offer.get('purpose')}; published from {offer.get('least_producers')} producers on")
    if DeviceSetting.parse(terms.menu[member.setting]).text == "none":
        note(f"setting {member.setting} is 'none': readings are sent as they are, without a mask")
    if offer.get("keep_reports") == "always":
        note("the service keeps masked reports after their period is closed")
    if offer.get("live"):
        note(
            "the campaign is live: aggregates are shown while a period is open, and the closed one may differ from the "
            "last of these by fewer producers"
        )
    note(f"terms pinned: {member.pinned[:16]}...; then: halfmask send readings.csv --state {options.state}")
