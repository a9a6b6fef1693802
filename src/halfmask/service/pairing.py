"""Pairing: a device that has joined lets a page see what it sends, and leave for it, by a code that is typed once.

The page's token reads the producer's state and ledger, and may leave. It cannot report, nor change the level: the
device alone decides how much it shows.
"""

import secrets

from halfmask.service.refusal import Refusal
from halfmask.service.request import Call, digest, issue
from halfmask.service.storage.tables import Plain
from halfmask_device.instants import MINUTE, instant_text

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Letters and digits that nobody mistakes for one another."""
LENGTH = 10
VALID = 10
"""Minutes within which a code can be used."""


def make_code(call: Call) -> Plain:
    """Make a code of 50 random bits, which one page may use within `VALID` minutes."""
    producer = call.tx.producer(call.subject)
    if producer.left is not None:
        raise Refusal(403, "left", "this producer has left the campaign")
    campaign = call.service.campaign_of(call.tx, producer.campaign)
    code = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
    expires = call.now + VALID * MINUTE
    call.tx.add_token(_digest(campaign.public, code), "code", producer.key, call.now, expires)
    return {"code": code, "campaign": campaign.public, "expires": instant_text(expires)}


def open_page(call: Call) -> Plain:
    """Exchange a code for a page's token."""
    campaign, code = call.campaign(), call.body().get("code")
    call.service.joins.take(campaign.key, "this page was not connected")
    hash = _digest(campaign.public, code.strip().upper() if isinstance(code, str) else "")
    found = call.tx.identities([hash]).get(hash)
    if found is None or found.role != "code" or found.revoked or (found.expires or 0) <= call.now:
        raise Refusal(403, "code_unknown", "this code is unknown, was used before, or is too old", "code")
    call.tx.revoke_token(hash, call.now)
    return {"token": issue(call.tx, "page", found.subject, call.now)}


def _digest(campaign: str, code: str) -> str:
    return digest(f"{campaign}/{code}")
