"""The service itself, without a network: a store, a clock, limits, and the functions that work on them."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from halfmask.service.campaign import Campaign
from halfmask.service.clock import Clock, system_clock
from halfmask.service.period_calendar import Span
from halfmask.service.period_closing import closing_groups, due
from halfmask.service.rate_limits import Buckets, Limits
from halfmask.service.refusal import Refusal, not_found, unauthenticated
from halfmask.service.report_decisions import Post, Results, ingest, valid
from halfmask.service.request import Call, Request, check_role
from halfmask.service.storage.campaign_rows import UPSTREAM
from halfmask.service.storage.identity_rows import Identity, Role
from halfmask.service.storage.sql_store import Store, Transaction
from halfmask.service.tokens import new_name
from halfmask_device.instants import Instant

T = TypeVar("T")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
"""The form of all names in a path."""


class Service:
    """The operations of the protocol. HTTP, MQTT and nodes are shells around it. Several may share one store."""

    def __init__(self, store: Store, clock: Clock = system_clock, limits: Limits | None = None) -> None:
        self.store, self.clock, self.limits = store, clock, limits or Limits()
        self.requests = Buckets("requests of one token", self.limits.requests_per_second, 1)
        self.joins = Buckets("joins of one campaign", self.limits.joins_per_minute, 60)
        self.counted: Counter[tuple[str, str, str]] = Counter()
        """Number of results of reports, by campaign, status and code."""
        self.node = ""
        """The service's name among its peers, empty without peers."""
        self.heard: dict[int, Instant] = {}
        """When a peer last answered a request, by campaign. Messages that come unasked do not count: they can be old.
        """
        self.settled: dict[int, Instant] = {}
        """The instant before which all periods of a campaign are closed, so that they are not checked again."""
        self.stopping = False
        """Whether the process is stopping, so that streams must end."""
        self._campaigns: dict[int | str, Campaign] = {}

    @cached_property
    def name(self) -> str:
        """Return a random name that distinguishes this database from all others; it is stored in the database."""
        with self.store.reading() as tx:
            found = tx.fact("node")
        if found is None:
            with self.store.transaction() as tx:
                found = tx.first_fact("node", new_name())
        return found

    def campaign(self, tx: Transaction, key: int | str) -> Campaign | None:
        """Return a campaign by its key or its name, or None. Its terms never change, so it is cached."""
        found = self._campaigns.get(key)
        if found is None and (row := tx.campaign(key)) is not None:
            found = Campaign(*row, peered=bool(self.node) and row.consumer != UPSTREAM)
            self._campaigns[row.key] = self._campaigns[row.public] = found
        return found

    def undone(self) -> None:
        """Forget the cached campaigns: one of them may have been made in the transaction that was undone."""
        self._campaigns.clear()

    def campaign_of(self, tx: Transaction, key: int) -> Campaign:
        found = self.campaign(tx, key)
        if found is None:
            raise RuntimeError("a producer's campaign is missing")
        return found

    def accept(self, tx: Transaction, posts: Sequence[Post]) -> list[Results | Refusal]:
        """Decide on reports, as `ingest` does."""
        return ingest(tx, posts, self.campaign_of, self.count)

    def count(self, campaign: str, results: Results) -> None:
        """Count results by kind for the operator. No values are kept."""
        if not results:
            return
        first = results[0]
        groups: Mapping[tuple[str, str], int] = {(first["status"], first.get("code", "")): len(results)}
        if results.count(first) != len(results):
            groups = Counter((each["status"], each.get("code", "")) for each in results)
        for (status, code), number in groups.items():
            self.counted[campaign, status, code] += number

    def identify(self, tx: Transaction, request: Request, roles: tuple[Role, ...]) -> Identity | None:
        """Return the caller, or None if anyone may ask. Refuse a caller without one of the roles."""
        if not roles:
            return None
        if request.token is None:
            raise unauthenticated()
        who = valid(tx.identities([request.token]).get(request.token), request.now)
        check_role(who, roles)
        return who

    def answer(self, tx: Transaction, request: Request, roles: tuple[Role, ...], work: Callable[[Call], T]) -> T:
        """Do a route's work for a caller who may ask for it."""
        who = self.identify(tx, request, roles)
        if not all(map(_NAME.fullmatch, request.path.values())):  # such a name cannot be in a store
            raise not_found("path")
        return work(Call(self, tx, who, request))

    def due(self, now: Instant, key: int | str | None = None) -> list[tuple[Campaign, Sequence[Span]]]:
        """Return the periods to close, of all campaigns or the one named.

        They come in parts, so small that other work need not wait long.
        """
        with self.store.reading() as tx:
            keys = [row.key for row in tx.campaigns()] if key is None else [key]
            found = [each for each in (self.campaign(tx, key) for key in keys) if each]
            return [(each, part) for each in found for part in closing_groups(tx, each, self._due(tx, each, now))]

    def _due(self, tx: Transaction, campaign: Campaign, now: Instant) -> list[Span]:
        spans, self.settled[campaign.key] = due(tx, campaign, now, self.settled.get(campaign.key))
        return spans
