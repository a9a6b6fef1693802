"""A request as the service's functions see it: the caller, the path, query and body, the time and the transaction.

A caller is known by its token: 256 random bits, shown once. The store holds only their SHA-256.
"""

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halfmask.service.campaign import Campaign
from halfmask.service.refusal import Refusal, forbidden, not_found, unfit
from halfmask.service.storage.campaign_rows import UNGIVEN
from halfmask.service.storage.identity_rows import Identity, Role
from halfmask.service.storage.sql_store import Transaction
from halfmask_device.instants import Instant

if TYPE_CHECKING:
    from halfmask.service.service import Service

Clock = Callable[[], Instant]
"""Returns the current instant. It is read once per request. Tests and simulations pass another clock."""


def system_clock() -> Instant:
    return time.time_ns() // 1000


def new_name() -> str:
    """Return a name that reveals nothing: 64 random bits."""
    return secrets.token_hex(8)


def new_secret() -> str:
    """Return 256 random bits as digits and letters: a leading hyphen would be taken for an option when it is typed."""
    return secrets.token_hex(32)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class Secrets:
    """The secrets of one answer, in order: random, or derived from a seed, so that the same are made again.

    ``made``  the place of each secret made so far
    """

    def __init__(self, seed: bytes | None = None) -> None:
        self._seed, self.made = seed, dict[str, int]()

    def new(self) -> str:
        place = len(self.made)
        secret = new_secret() if self._seed is None else hmac.new(self._seed, b"%d" % place, "sha256").hexdigest()
        self.made[secret] = place
        return secret


def issue(
    tx: Transaction,
    role: Role,
    subject: int,
    now: Instant,
    expires: Instant | None = None,
    *,
    token: str | None = None,
    replaces: str | None = None,
) -> str:
    """Store and return a new token.

    ``token``     a new secret; by default it is random
    ``replaces``  the hash of the token that is valid until this one is used
    """
    token = token or new_secret()
    tx.add_token(digest(token), role, subject, now, expires, replaces)
    return token


Values = Mapping[str, str]


@dataclass(frozen=True)
class Request:
    """The parts of a request that do not depend on the store.

    ``token``  the hash of the token that was sent
    ``key``    what the request is for, with the idempotency key that was sent; None if none was
    """

    token: str | None
    path: Values
    query: Values
    raw: bytes
    now: Instant
    key: str | None = None


@dataclass(frozen=True)
class Call:
    """A request in a transaction. The caller has one of the route's roles."""

    service: "Service"
    tx: Transaction
    who: Identity | None
    request: Request
    secrets: Secrets = field(default_factory=Secrets)
    prepared: Any = None
    """What the route's ``prepare`` returned."""

    @property
    def now(self) -> Instant:
        return self.request.now

    @property
    def subject(self) -> int:
        return self.who.subject if self.who else 0

    def issue(self, role: Role, subject: int, expires: Instant | None = None, replaces: str | None = None) -> str:
        """Store and return a new token."""
        return issue(self.tx, role, subject, self.now, expires, token=self.secrets.new(), replaces=replaces)

    def body(self) -> dict[str, Any]:
        """Return the JSON object in the body."""
        value = parse_json(self.request.raw)
        if not isinstance(value, dict):
            raise unfit("", "the body must be a JSON object")
        return value

    def campaign(self) -> Campaign:
        """Return the campaign that the path names."""
        found = self.service.campaign(self.tx, self.request.path["c"])
        if found is None:
            raise not_found("campaign")
        return found

    def own_campaign(self) -> Campaign:
        """Return the campaign that the path names, if it belongs to the caller: the consumer's own, or the node's.

        A campaign of another node does not have a consumer here; the operator acts in its place.
        """
        campaign = self.campaign()
        if self.who is None:
            raise forbidden("a token is needed")
        if self.who.role == "node":
            owns = campaign.key == self.who.campaign
        else:  # a consumer may have been assigned since the campaign was read
            row = self.tx.campaign(campaign.key) if campaign.consumer <= UNGIVEN else campaign
            holder = row.consumer if row else UNGIVEN
            owns = holder == self.subject if self.who.role == "consumer" else holder <= UNGIVEN
        if not owns:
            raise forbidden("this campaign is another's")
        return campaign


def parse_json(raw: bytes) -> Any:
    """Parse a JSON body. Refuse NaN, broken UTF-8 and too deep nesting (400), without repeating the body."""
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Refusal(400, "not_json", "the body is not JSON in UTF-8") from None


def _no_number(_: str) -> None:
    raise ValueError
