"""``halfmask join``."""

from halfmask.cli.output import note
from halfmask.commands.join import Join
from halfmask.commands.join import join as join_campaign
from halfmask_device.protocol import CampaignTerms
from halfmask_device.setting import DeviceSetting
from halfmask_device.sharing import levels


def join(options: Join) -> None:
    """Join a campaign of a service from the producer's own device."""
    member = join_campaign(options)
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
