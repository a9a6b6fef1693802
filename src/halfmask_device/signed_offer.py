"""Who answers for an offer, until when, and the hash of what was signed.

A campaign that is made from a signed offer carries it as its menu. So a device can compute the hash itself: a menu that
was changed after it was signed is refused. The name is not proved by cryptography; the hash is that of the statement
which the person who signs has published.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from halfmask_device.canonical import content_hash

SIGNED = "signed"
LONGEST = 200


@dataclass(frozen=True)
class SignedOffer:
    """``by`` whom an offer is signed, ``until`` which day (2027-12-31, that day included), and the ``hash`` of it."""

    by: str
    until: str
    hash: str

    def words(self, today: date) -> str:
        """Return the signature in words."""
        over = " (over)" if date.fromisoformat(self.until) < today else ""
        return f"the offer is signed by {self.by} until {self.until}{over}; its hash is {self.hash}"


def offer_hash(offer: Mapping[str, Any]) -> str:
    """Return the hash of an offer's file without its signature."""
    return content_hash({name: value for name, value in offer.items() if name != SIGNED})


def signature_of(offer: Mapping[str, Any]) -> SignedOffer | None:
    """Return the signature of an offer; None without one. Raise a ValueError if it is malformed or of another offer."""
    plain = offer.get(SIGNED)
    if plain is None:
        return None
    if not isinstance(plain, dict) or plain.keys() != {"by", "until", "hash"}:
        raise ValueError("a signature has by, until and hash")
    if not all(isinstance(each, str) and 0 < len(each) <= LONGEST and each.isprintable() for each in plain.values()):
        raise ValueError("a signature's parts are short texts")
    found = SignedOffer(**plain)
    date.fromisoformat(found.until)
    if found.hash != offer_hash(offer):
        raise ValueError("it is not the offer that was signed: it was changed afterwards")
    return found
