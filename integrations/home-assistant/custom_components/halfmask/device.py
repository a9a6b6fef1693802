"""The blocking side: the device of one sensor, in a folder of its own. Home Assistant calls it in its executor."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from halfmask_device.consent import Consent
from halfmask_device.errors import HalfmaskError, OptionError
from halfmask_device.http_client import UNAUTHENTICATED, ServiceClient, ServiceError
from halfmask_device.instants import Instant
from halfmask_device.membership import Membership, find_campaign
from halfmask_device.protocol import CampaignTerms
from halfmask_device.report_history import ReportHistory
from halfmask_device.sharing import Sharer

CAMPAIGNS = "/v1/campaigns"
TERMS_CHANGED = "option.terms"
"""Code of the error with which the device refuses to send to a campaign whose terms changed."""

TOKEN_REFUSED = "service.token"
"""Code of the problem that the service does not take the device's token, as after it expelled the device."""


def client(address: str) -> ServiceClient:
    """Return a client that gives up after seconds: whoever waits is a person, or tries again by itself."""
    return ServiceClient(address, tries=3)


def find_offers(link: str) -> tuple[str, dict[str, CampaignTerms]]:
    """Return the address of the service that a link leads to, and the campaigns that can be joined there, by id.

    ``link``  the service's address, a campaign's address, or the page on which its levels are chosen
    """
    try:
        parts = urlsplit(link.strip())
        service = client(f"{parts.scheme}://{parts.netloc}")
    except ValueError as error:
        raise OptionError("this is not an address: write it like https://host", kind="address") from error
    path, _, id = parts.path.rstrip("/").rpartition("/")
    if path != CAMPAIGNS:
        id = dict(parse_qsl(parts.query)).get("campaign", "")
    plain = [find_campaign(service, id)] if id else service.ask("GET", CAMPAIGNS)["campaigns"]
    now = time.time() * 1e6
    offers = {str(each["campaign"]): CampaignTerms.read(each) for each in plain}
    return service.address, {id: terms for id, terms in offers.items() if terms.ends > now}


@dataclass(frozen=True)
class Standing:
    """What a device has shared, for sensors and diagnostics. It has no readings and no reports.

    ``budget_left``  epsilon that is left in the 30 days that end today; None if no budget is kept
    ``problem``      code and words of what kept reports from being sent; empty if nothing did
    ``tried``        whether this follows an attempt to send
    """

    member: Membership
    history: ReportHistory
    earned_this_month: int
    budget_left: float | None
    budget_words: tuple[str, ...]
    gathered: int
    problem: tuple[str, str] = ("", "")
    tried: bool = False


class SensorDevice:
    """The device of one sensor: in one campaign at most, so that a reading is observed once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def join(self, address: str, campaign: str, level: str, invitation: str | None, consent: Consent) -> Membership:
        self.folder.parent.mkdir(mode=0o700, exist_ok=True)
        return Sharer(self.folder, client).join(address, campaign, level, invitation, consent)

    def member(self, campaign: str) -> Membership:
        """Return the latest membership of a campaign, which may have been left."""
        members = self._sharer().memberships(left=True)
        found = next((each for each in members if each.campaign == campaign), None)
        if found is None:
            raise OptionError(f"this device is not in campaign {campaign}: remove the entry", kind="membership")
        return found

    def change(self, campaign: str, level: str, budget: float | None) -> Membership:
        return self._sharer().change(campaign, level, budget)

    def leave(self, campaign: str) -> None:
        """Leave the campaign, unless it was left already."""
        sharer = self._sharer()
        if any(each.campaign == campaign for each in sharer.memberships()):
            sharer.leave(campaign)

    def rejoin(self, campaign: str, level: str, invitation: str | None) -> Membership:
        """Join a campaign again on the terms that it has now, with the budget that is kept."""
        address = self.member(campaign).address
        least = CampaignTerms.read(find_campaign(client(address), campaign)).least_producers
        consent = Consent(also=True, least_producers=least, again=True)
        return self.join(address, campaign, level, invitation, consent)

    def share(self, campaign: str, readings: Iterable[tuple[str, str]], month: Instant) -> Standing:
        """Mask readings, send what is due, and return the standing. What was masked before stays as it is."""
        sharer, problem = self._sharer(), ("", "")
        try:
            sharer.put(readings)
            sharer.send(partial=True)  # whether a period's readings suffice was decided by its statistics
        except HalfmaskError as error:
            refused = isinstance(error, ServiceError) and error.said == UNAUTHENTICATED
            problem = (TOKEN_REFUSED if refused else error.code, str(error))
        return self._standing(sharer, campaign, month, problem, tried=True)

    def standing(self, campaign: str, month: Instant) -> Standing:
        """Return the standing; ``month`` is the begin of the month whose earnings are counted."""
        return self._standing(self._sharer(), campaign, month, ("", ""), tried=False)

    def _sharer(self) -> Sharer:
        return Sharer(self.folder, client, create=False)

    def _standing(
        self, sharer: Sharer, campaign: str, month: Instant, problem: tuple[str, str], *, tried: bool
    ) -> Standing:
        member, budgets = self.member(campaign), sharer.budgets()
        lefts = [each.left for each in budgets if each.left is not None]
        return Standing(
            member, sharer.history(campaign), sharer.history(campaign, month).earned, min(lefts, default=None),
            tuple(sharer.budget_words()), sum(each.readings for _, each in sharer.gathered()), problem, tried,
        )  # fmt: skip
