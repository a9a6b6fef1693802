"""The signature of an offer: its signer, its last day, and the hash of what was signed.

The menu of a campaign made from a signed offer is the offer itself. So a device can compute the hash. It refuses a menu
that was changed after signing. The name is not proved by cryptography: the signer publishes a statement with the hash.
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
    """A signature.

    ``by``     who signed
    ``until``  the last day on which the offer is valid, like 2027-12-31
    ``hash``   the hash of the offer
    """

    by: str
    until: str
    hash: str

    def words(self, today: date) -> str:
        """Describe the signature."""
        over = " (over)" if date.fromisoformat(self.until) < today else ""
        return f"the offer is signed by {self.by} until {self.until}{over}; its hash is {self.hash}"


def offer_hash(offer: Mapping[str, Any]) -> str:
    """Return the hash of an offer's file without its signature."""
    return content_hash({name: value for name, value in offer.items() if name != SIGNED})


def signature_of(offer: Mapping[str, Any]) -> SignedOffer | None:
    """Return the signature of an offer; None without one. Raise a ValueError if it is malformed or does not match."""
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
