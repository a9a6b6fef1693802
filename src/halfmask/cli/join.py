"""``halfmask join``."""

from halfmask.cli.output import note
from halfmask.commands.join import Join
from halfmask.commands.join import join as join_campaign


def join(options: Join) -> None:
    """Join a campaign of a service from the producer's own device."""
    member = join_campaign(options)
    offer = member.offer
    print(f"joined campaign {member.campaign} by setting {member.setting}")
    note(f"purpose: {offer.get('purpose')}; published from {offer.get('least_producers')} producers on")
    if offer.get("live"):
        note("the campaign is live: aggregates are shown while a period is open")
    note(f"terms pinned: {member.pinned[:16]}...; then: halfmask send readings.csv --state {options.state}")
