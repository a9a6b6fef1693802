"""Tokens: 256 random bits, shown once. The store holds only their SHA-256."""

import hashlib
import secrets

from halfmask.service.storage.identity_rows import Role
from halfmask.service.storage.sql_store import Transaction
from halfmask_device.instants import Instant


def new_name() -> str:
    """Return a name that reveals nothing: 64 random bits."""
    return secrets.token_hex(8)


def new_secret() -> str:
    """Return 256 random bits as digits and letters: a leading hyphen would be taken for an option when it is typed."""
    return secrets.token_hex(32)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def issue(tx: Transaction, role: Role, subject: int, now: Instant, expires: Instant | None = None) -> str:
    """Make, store and return a new token."""
    token = new_secret()
    tx.add_token(digest(token), role, subject, now, expires)
    return token
