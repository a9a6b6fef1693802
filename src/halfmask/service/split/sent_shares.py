"""Nonces, shares and verifiers as they are sent: bytes are standard base64 with padding, a nonce is 32 hex digits."""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from halfmask.service.refusal import Refusal, unfit
from halfmask_device.instants import Instant, parse_instant
from halfmask_device.prio3.turboshake import SEED_BYTES

NONCE = re.compile(r"[0-9a-f]{32}", re.ASCII)
MOST_IN_POST = 10_000


def read_bytes(text: object, size: int | None = None) -> bytes | None:
    """Return the bytes of standard base64 with padding; None if it is another text, or has another size."""
    try:
        found = base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (ValueError, binascii.Error):
        return None
    return found if found is not None and size in (None, len(found)) else None


def set_hash(nonces: Iterable[str]) -> str:
    """Return what a set of reports is known by, whatever their order."""
    return hashlib.sha256("".join(sorted(nonces)).encode()).hexdigest()


@dataclass(frozen=True)
class SentShare:
    """A share as it was sent; ``time`` is None if any part of it is malformed."""

    time: Instant | None = None
    nonce: str = ""
    share: bytes = b""


def read_shares(raw: bytes) -> list[SentShare]:
    """Return the shares of a body, the malformed ones among them without a time."""
    try:
        plain = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Refusal(400, "not_json", "the body is not JSON in UTF-8") from None
    sent = plain.get("shares") if isinstance(plain, dict) else None
    if not isinstance(sent, list):
        raise unfit("shares", "the body must be an object with a list of shares")
    if len(sent) > MOST_IN_POST:
        raise Refusal(413, "too_many_reports", f"a request may have at most {MOST_IN_POST} shares", "shares")
    return [read_share(each, "share", SEED_BYTES) for each in sent]


def read_share(plain: object, name: str, size: int) -> SentShare:
    if not isinstance(plain, dict):
        return SentShare()
    time, nonce, share = plain.get("time"), plain.get("report"), read_bytes(plain.get(name), size)
    if not isinstance(time, str) or not isinstance(nonce, str) or not NONCE.fullmatch(nonce) or share is None:
        return SentShare()
    return SentShare(parse_instant(time), nonce, share)


def check_nonces(nonces: Any) -> list[str]:
    """Return nonces that were sent. Refuse any other form, and a nonce that occurs twice (400)."""
    fine = isinstance(nonces, list) and all(isinstance(each, str) and NONCE.fullmatch(each) for each in nonces)
    if not fine or len(set(nonces)) != len(nonces):
        raise Refusal(400, "nonce", "a nonce is 32 lowercase hex digits, and occurs once in a set", "reports")
    return list(nonces)
