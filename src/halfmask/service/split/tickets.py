"""Tickets: with one, a producer of the leader sends shares to the helper, which knows it by a pseudonym alone.

A ticket is base64url(payload) + "." + base64url(HMAC-SHA256 of the payload under the ticket key), without padding. The
payload is JSON: the helper's campaign id, the pseudonym, and when the ticket expires.
"""

import base64
import hashlib
import hmac
import json
import re
from typing import Any, NamedTuple

from halfmask.service.refusal import unauthenticated
from halfmask_device.instants import Instant, instant_text, parse_instant

PSEUDONYM = re.compile(r"[0-9a-f]{32}", re.ASCII)


class Ticket(NamedTuple):
    """What a ticket says, without its signature."""

    campaign: str
    pseudonym: str
    expires: Instant


def pseudonym(key: bytes, producer: str) -> str:
    """Return a producer's name at the helper: one for good, which says nothing of its name at the leader."""
    return hmac.digest(key, producer.encode(), hashlib.sha256)[:16].hex()


def issue_ticket(ticket: Ticket, key: bytes) -> str:
    plain = ticket._asdict() | {"expires": instant_text(ticket.expires)}
    return sign_ticket(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode(), key)


def read_ticket(text: str, key: bytes, campaign: str, now: Instant) -> Ticket:
    """Return what a ticket says. Refuse one of another key or campaign, and one that has expired (401)."""
    try:
        signed = _bytes(text.partition(".")[0])
        right = hmac.compare_digest(text, sign_ticket(signed, key))  # one spelling alone: the rate limit is by ticket
        plain: Any = json.loads(signed) if right else {}
        expires = parse_instant(plain.get("expires", ""))
        found = Ticket(plain.get("campaign"), plain.get("pseudonym"), expires or 0)
        fits = found.campaign == campaign and found.expires > now and PSEUDONYM.fullmatch(found.pseudonym)
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise unauthenticated() from None
    if not fits:
        raise unauthenticated()
    return found


def sign_ticket(payload: bytes, key: bytes) -> str:
    return f"{_text(payload)}.{_text(hmac.digest(key, payload, hashlib.sha256))}"


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
