"""Campaigns, their budgets and rewards, and the ledger: what was booked for reports, and what was taken back."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import CheckConstraint, Column, Index, PrimaryKeyConstraint, String, bindparam, func, select, update

from halfmask.service.storage.identity_rows import producers
from halfmask.service.storage.tables import (
    Plain,
    Statements,
    chunks,
    dump,
    long_text,
    numbered_column,
    table,
    text,
    whole,
)
from halfmask_device.instants import Instant

UNGIVEN, UPSTREAM, DELETED = 0, -1, -2
"""Values of ``consumer`` in campaigns of other nodes: a peer's until the operator assigns a consumer, and a gateway's.
And in a campaign that was deleted, of which only an empty row is left.
"""

campaigns = table(
    "campaigns",
    numbered_column(),
    text("public", 32, unique=True),
    whole("consumer"),
    long_text("terms"),
    whole("created"),
    whole("budget"),
    whole("committed"),
    CheckConstraint("committed >= 0 AND committed <= budget", name="within_budget"),
)
schedules = table(
    "schedules",
    whole("campaign"),
    whole("begins"),
    long_text("rewards"),
    PrimaryKeyConstraint("campaign", "begins"),
)
entries = table(
    "entries",
    numbered_column(),
    text("public", 32),
    whole("campaign"),
    whole("producer"),
    whole("amount"),
    text("period", 24),
    whole("booked"),
    Column("reverses", String(32), nullable=True),
    Index("entries_of_campaign", "campaign"),
    Index("entries_of_producer", "producer"),
)


class CampaignRow(NamedTuple):
    key: int
    public: str
    consumer: int
    terms: Plain


class EntryRow(NamedTuple):
    """One booking. ``amount`` is positive; a reversal's is negative, and ``reverses`` names the entry it takes back."""

    public: str
    campaign: int
    producer: int
    amount: int
    period: str
    booked: Instant
    reverses: str | None = None


class CampaignStatements(Statements):
    def add_campaign(self, public: str, consumer: int, terms: Plain, now: Instant) -> int:
        row = {"public": public, "consumer": consumer, "terms": dump(terms), "created": now}
        return self._number(campaigns, **row, budget=terms["budget"], committed=0)

    def campaign(self, key: int | str) -> CampaignRow | None:
        c = campaigns.c
        return next(iter(self._campaigns(c.id == key if isinstance(key, int) else c.public == key)), None)

    def campaigns(self) -> list[CampaignRow]:
        return self._campaigns()

    def _campaigns(self, *where: Any) -> list[CampaignRow]:
        c = campaigns.c
        rows = self._do(select(c.id, c.public, c.consumer, c.terms).where(c.consumer != DELETED, *where).order_by(c.id))
        return [CampaignRow(*row[:3], json.loads(row[3])) for row in rows]

    def set_consumer(self, campaign: int, consumer: int) -> None:
        self._do(update(campaigns).where(campaigns.c.id == campaign).values(consumer=consumer))

    def lock(self, campaign: int) -> tuple[int, int]:
        """Return the budget and what is committed of it. Other transactions that call this wait until this one ends."""
        budget, committed = self._do(_LOCK, {"campaign": campaign}).one()
        return budget, committed

    def spend(self, campaign: int, amount: int) -> bool:
        """Commit ``amount`` more of the budget, if it fits. Return whether it did."""
        return bool(self._do(_SPEND, {"campaign": campaign, "amount": amount}).rowcount == 1)

    def schedule(self, campaign: int) -> list[tuple[Instant, dict[str, int]]]:
        """Return pairs of the instant from which rewards apply and the rewards, in order."""
        return [(begins, json.loads(rewards)) for begins, rewards in self._do(_SCHEDULE, {"campaign": campaign})]

    def put_schedule(self, campaign: int, begins: Instant, rewards: Mapping[str, int]) -> None:
        self._replace(schedules, campaign=campaign, begins=begins, rewards=dump(rewards))

    def add_entries(self, rows: Sequence[EntryRow]) -> None:
        self._insert(entries, rows)

    def ledger_of_producer(self, producer: int) -> list[EntryRow]:
        return self._entries(entries.c.producer == producer)

    def ledger_of_campaign(self, campaign: int, after: str | None = None, most: int | None = None) -> list[EntryRow]:
        """Return entries in order: those after the entry named ``after``, at most ``most``."""
        e = entries.c
        where = [e.campaign == campaign]
        if after is not None:
            named = select(e.id).where(e.campaign == campaign, e.public == after).scalar_subquery()
            where.append(e.id > named)
        return self._entries(*where, most=most)

    def entries_of(self, campaign: int, period: str, producers: Sequence[int]) -> list[EntryRow]:
        """Return what was booked to some producers for a period, without what was taken back."""
        e, found = entries.c, list[EntryRow]()
        for part in chunks(list(producers)):
            found += self._entries(e.campaign == campaign, e.producer.in_(part), e.period == period)
        gone = {row.reverses for row in found}
        return [row for row in found if row.reverses is None and row.public not in gone]

    def entry(self, campaign: int, public: str) -> EntryRow | None:
        return next(iter(self._entries(entries.c.campaign == campaign, entries.c.public == public)), None)

    def reversal(self, campaign: int, public: str) -> EntryRow | None:
        """Return the entry that takes another one back, if there is one."""
        return next(iter(self._entries(entries.c.campaign == campaign, entries.c.reverses == public)), None)

    def _entries(self, *where: Any, most: int | None = None) -> list[EntryRow]:
        e = entries.c
        columns = (e.public, e.campaign, e.producer, e.amount, e.period, e.booked, e.reverses)
        return [EntryRow(*row) for row in self._do(select(*columns).where(*where).order_by(e.id).limit(most))]

    def spent(self, campaign: int) -> dict[str, int]:
        """Return the sum of the entries of each period."""
        e = entries.c
        query = select(e.period, func.sum(e.amount)).where(e.campaign == campaign).group_by(e.period)
        return {period: int(amount) for period, amount in self._do(query)}

    def owed(self, campaign: int) -> list[tuple[str, int]]:
        """Return producers by name, and the sum of their entries."""
        e, p = entries.c, producers.c
        joined = entries.join(producers, p.id == e.producer)
        query = select(p.public, func.sum(e.amount)).select_from(joined).where(e.campaign == campaign)
        return [(public, int(amount)) for public, amount in self._do(query.group_by(p.public).order_by(p.public))]


_LOCK = (
    select(campaigns.c.budget, campaigns.c.committed).where(campaigns.c.id == bindparam("campaign")).with_for_update()
)
_SPEND = (
    update(campaigns)
    .where(
        campaigns.c.id == bindparam("campaign"),
        campaigns.c.committed + bindparam("amount") <= campaigns.c.budget,
    )
    .values(committed=campaigns.c.committed + bindparam("amount"))
)
_SCHEDULE = (
    select(schedules.c.begins, schedules.c.rewards)
    .where(schedules.c.campaign == bindparam("campaign"))
    .order_by(schedules.c.begins)
)
