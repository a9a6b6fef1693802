"""A device's membership of a campaign: what it stores when it joins, and what the campaign's menu offers."""

import json
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from halfmask_device.decimals import money
from halfmask_device.protocol import CampaignTerms


@dataclass(frozen=True)
class Membership:
    """What a device stores about a campaign that it joined.

    ``setting``  id of the current setting on the campaign's menu
    ``pinned``   hash of the terms that were joined
    ``token``    the producer's secret
    ``past``     ids of earlier settings, whose reports remain valid
    ``left``     whether the device has left the campaign
    """

    address: str
    campaign: str
    producer: str
    setting: str
    pinned: str
    offer: dict[str, object]
    token: str = field(repr=False)
    past: tuple[str, ...] = ()
    left: bool = False

    @cached_property
    def terms(self) -> CampaignTerms:
        """The offer as it was when the device joined."""
        return CampaignTerms.read(self.offer)


@lru_cache(maxsize=1024)
def read_membership(plain: str) -> Membership:
    """Return the membership stored as this JSON text, cached because the same text is parsed with every reading."""
    row = json.loads(plain)
    return Membership(**(row | {"past": tuple(row["past"])}))


def levels(terms: CampaignTerms) -> dict[str, list[str]]:
    """Return for each setting id of a campaign's menu its name, the setting and the reward per report.

    A name or reward that the campaign does not state is left out.
    """
    offer, found = terms.offer, {}
    for entry in offer["menu"]["settings"]:
        reward, name = (offer.get("rewards") or {}).get(entry["id"]), entry.get("name")
        paid = f"{money(reward, str(offer.get('currency', '')))} a report" if isinstance(reward, int) else ""
        told = [name if isinstance(name, str) else "", terms.menu[entry["id"]], paid]
        found[entry["id"]] = [words for words in told if words]
    return found
