"""A device's membership of a campaign: what it stores when it joins, and the levels that the campaign offers."""

import json
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from halfmask_device.decimals import money
from halfmask_device.errors import OptionError, RunError
from halfmask_device.http_client import ServiceClient
from halfmask_device.level_epsilon import month_reward
from halfmask_device.protocol import CampaignTerms
from halfmask_device.split_terms import SplitTerms


@dataclass(frozen=True)
class Membership:
    """What a device stores about a campaign that it joined.

    ``setting``      id of the current setting on the campaign's menu
    ``pinned``       hash of the terms that were joined
    ``token``        the producer's secret
    ``past``         ids of earlier settings, whose reports remain valid
    ``left``         whether the device has left the campaign
    ``ticket``       credential with which shares are sent to the helper; empty if no level was split yet
    ``withdrawing``  whether the helper has not yet confirmed that it withdrew this device's shares
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
    ticket: str = field(default="", repr=False)
    withdrawing: bool = False

    @property
    def splits(self) -> bool:
        """Whether the current setting splits totals between two services."""
        return self.setting == self.terms.split_id

    @cached_property
    def helper(self) -> str:
        """The address of the helper of a split campaign."""
        return str(self.terms.offer["split"]["helper"])

    @cached_property
    def helper_path(self) -> str:
        """The path to which this device sends its shares at the helper."""
        return f"/v1/split/{self.terms.offer['split']['campaign']}/shares"

    @cached_property
    def split_terms(self) -> SplitTerms:
        """The terms that both services showed when the device joined a split setting."""
        return SplitTerms.read(self.terms.offer["split"]["terms"])

    @cached_property
    def terms(self) -> CampaignTerms:
        """The terms of the campaign that the device joined."""
        return CampaignTerms.read(self.offer)


def earlier_joins(campaign: str) -> str:
    """Return the prefix of the names under which the queue keeps reports of earlier joins of a campaign."""
    return f"{campaign} before "


@lru_cache(maxsize=1024)
def read_membership(plain: str) -> Membership:
    """Parse a stored membership. The result is cached, because the same text is parsed with every reading."""
    row = json.loads(plain)
    return Membership(**(row | {"past": tuple(row["past"])}))


def check_group(terms: CampaignTerms, group: str | None) -> None:
    """Raise OptionError unless ``group`` is a group of the campaign, or None if the campaign has no groups."""
    if terms.groups and group not in terms.groups:
        raise OptionError(
            f"name a `group` of the campaign: {', '.join(terms.groups[:20])}", kind="group", field="group"
        )
    if group is not None and not terms.groups:
        raise OptionError("this campaign has no groups: leave `group` out", kind="group")


def pay_words(terms: CampaignTerms, id: str, seen: int | None = None) -> str:
    """Describe what a level earns: in 30 days, if known, and per report; empty if it earns nothing."""
    reward, currency = (terms.offer.get("rewards") or {}).get(id), str(terms.offer.get("currency", ""))
    if not isinstance(reward, int):
        return ""
    most = month_reward(terms, id, seen)
    each = f"{money(reward, currency)} a report"
    return each if most is None else f"up to {money(most, currency)} a month, {each}"


def levels(terms: CampaignTerms) -> dict[str, list[str]]:
    """Return, for each setting id of a campaign's menu, its name, the setting and the reward.

    A missing name or reward is left out.
    """
    offer, found = terms.offer, {}
    for entry in offer["menu"]["settings"]:
        reward, name = (offer.get("rewards") or {}).get(entry["id"]), entry.get("name")
        paid = pay_words(terms, entry["id"]) if isinstance(reward, int) else ""
        told = [name if isinstance(name, str) else "", terms.menu[entry["id"]], paid]
        found[entry["id"]] = [words for words in told if words]
    return found


def not_of_the_protocol(service: ServiceClient) -> RunError:
    """Return the error for an answer that does not follow the sharing protocol."""
    message = f"{service.address} answers, but not as the sharing protocol has it: is it the right one?"
    return RunError(message, kind="protocol")


def find_campaign(service: ServiceClient, campaign: str | None) -> dict[str, Any]:
    """Return the offer of a service's campaign. If the service has only one campaign, ``campaign`` may be None."""
    if campaign is not None:
        found = service.ask("GET", f"/v1/campaigns/{campaign}")
        if not isinstance(found, dict):
            raise not_of_the_protocol(service)
        return found
    answer = service.ask("GET", "/v1/campaigns")
    offers = answer.get("campaigns") if isinstance(answer, dict) else None
    if not isinstance(offers, list) or not all(isinstance(each, dict) for each in offers):
        raise not_of_the_protocol(service)
    if len(offers) != 1:
        named = (
            ", ".join(f"{each.get('campaign')} ({' '.join(str(each.get('name')).split())[:60]})" for each in offers)
            or "none"
        )
        raise OptionError(f"name a `campaign` of {service.address}: it has {named}", kind="several")
    return dict(offers[0])
