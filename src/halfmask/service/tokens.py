"""Tokens: 256 random bits, shown once; the store has their SHA-256 alone."""

import hashlib
import secrets

from halfmask.service.storage.base import Role, Transaction
from halfmask_device.instants import Instant


def new_name() -> str:
    """A name that tells nothing: 64 random bits."""
    return secrets.token_hex(8)


def new_secret() -> str:
    """256 random bits, in digits and letters alone: a leading hyphen would be taken for an option where it is typed."""
    return secrets.token_hex(32)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def issue(tx: Transaction, role: Role, subject: int, now: Instant, expires: Instant | None = None) -> str:
    """A new token for somebody."""
    token = new_secret()
    tx.add_token(digest(token), role, subject, now, expires)
    return token
