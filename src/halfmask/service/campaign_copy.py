"""A copy of another node's campaign: the same id and terms, and no rewards, since its budget is not here."""

import re
from collections.abc import Mapping
from typing import Any

from halfmask.service.campaign import check_campaign, check_whole
from halfmask.service.refusal import Refusal, unfit
from halfmask.service.storage.campaign_rows import UPSTREAM, CampaignRow
from halfmask.service.storage.transaction import Transaction

_ID = re.compile(r"[A-Za-z0-9_-]{1,32}", re.ASCII)
_BESIDE = ("campaign", "later_rewards")
"""Fields of an offer that are not terms."""


def mirror(tx: Transaction, offer: Mapping[str, Any], consumer: int, now: int, sooner: int = 0) -> CampaignRow:
    """Return the row of the campaign here. Make it if it does not exist.

    ``sooner``  minutes that are taken off its grace

    Nothing is earned here, because a budget that two nodes spend could be spent twice.
    """
    public = offer.get("campaign")
    if not isinstance(public, str) or not _ID.fullmatch(public):
        raise unfit("campaign", "the campaign's id is not valid")
    found = tx.campaign(public)
    if found is not None:
        if (found.consumer == UPSTREAM) != (consumer == UPSTREAM):
            raise Refusal(409, "own_campaign", "the campaign is in this database in another way: take a new one")
        return found
    plain = {name: value for name, value in offer.items() if name not in _BESIDE}
    grace = check_whole(plain.get("grace_minutes"), "grace_minutes", 0, 10**6) - sooner
    terms = check_campaign(plain | {"rewards": {}, "budget": 0, "grace_minutes": max(grace, 0)})
    tx.put_schedule(tx.add_campaign(public, consumer, terms, now), -(2**62), {})
    made = tx.campaign(public)
    if made is None:
        raise RuntimeError("a campaign that was made is missing")
    return made
