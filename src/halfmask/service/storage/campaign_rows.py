"""Campaigns, their budgets and rewards, and the ledger: what was booked for reports, and what was taken back."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    CheckConstraint,
    Column,
    Index,
    PrimaryKeyConstraint,
    String,
    and_,
    bindparam,
    func,
    insert,
    select,
    update,
)

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
    Index("entries_by_name", "public"),
    Index("entries_of_campaign", "campaign", "period", "id"),
    Index("entries_of_producer", "producer", "period", "id"),
)
spendings = table(
    "spendings",
    whole("campaign"),
    text("period", 24),
    whole("amount"),
    whole("shown"),
    PrimaryKeyConstraint("campaign", "period"),
)
"""The sum of the entries of a period, and whether its entries are shown to the consumer."""


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
        """Store entries, and add them to what their periods cost. Their campaigns must be locked."""
        self._insert(entries, rows)
        sums: dict[tuple[int, str], int] = {}
        for row in rows:
            key = row.campaign, row.period
            sums[key] = sums.get(key, 0) + row.amount
        s = spendings.c
        for (campaign, period), amount in sums.items():
            where = (s.campaign == campaign, s.period == period)
            if not self._do(update(spendings).where(*where).values(amount=s.amount + amount)).rowcount:
                self._do(insert(spendings).values(campaign=campaign, period=period, amount=amount, shown=0))

    def show_entries(self, campaign: int, periods: Sequence[str]) -> None:
        """Show the entries of published periods to the campaign's consumer."""
        s = spendings.c
        for part in chunks(list(periods)):
            self._do(update(spendings).where(s.campaign == campaign, s.period.in_(part)).values(shown=1))

    def hidden_spending(self, campaign: int) -> int:
        """Return the sum of the entries of periods whose entries are not shown."""
        s = spendings.c
        query = select(func.coalesce(func.sum(s.amount), 0)).where(s.campaign == campaign, s.shown == 0)
        return int(self._do(query).scalar_one())

    def shown_entries(self, campaign: int, after: str | None, most: int) -> list[EntryRow]:
        """Return entries of published periods, by period: at most ``most`` after the one named ``after``."""
        s, e = spendings.c, entries.c
        last = select(func.max(s.period)).where(s.campaign == campaign, s.shown == 1).scalar_subquery()
        joined = entries.join(spendings, and_(s.campaign == e.campaign, s.period == e.period, s.shown == 1))
        return self._page(joined, (e.campaign == campaign, e.period <= last), after, most)

    def entries_of(self, producer: int, after: str | None, most: int) -> list[EntryRow]:
        """Return a producer's entries, by period: at most ``most`` after the one named ``after``."""
        return self._page(entries, (entries.c.producer == producer,), after, most)

    def _page(self, source: Any, where: tuple[Any, ...], after: str | None, most: int) -> list[EntryRow]:
        """Return a page of entries. Its index leads to its first entry, so that all pages cost the same."""
        e = entries.c
        query = select(*_ENTRY).select_from(source).where(*where).order_by(e.period, e.id)
        if after is None:
            return [EntryRow(*row) for row in self._do(query.limit(most))]
        period, number = self._do(select(e.period, e.id).where(e.public == after)).one()
        found = [EntryRow(*row) for row in self._do(query.where(e.period == period, e.id > number).limit(most))]
        rest = query.where(e.period > period).limit(most - len(found))
        return found + ([EntryRow(*row) for row in self._do(rest)] if len(found) < most else [])

    def earnings(self, producers: Sequence[int], periods: Sequence[str]) -> dict[tuple[int, str], int]:
        """Return what producers earn in periods, by producer and period."""
        e, found = entries.c, dict[tuple[int, str], int]()
        for part in chunks(list(producers)):
            query = select(e.producer, e.period, func.sum(e.amount)).where(e.producer.in_(part), e.period.in_(periods))
            rows = self._do(query.group_by(e.producer, e.period))
            found |= {(row[0], row[1]): int(row[2]) for row in rows}
        return found

    def standing_entries(self, producers: Sequence[int], periods: Sequence[str]) -> list[EntryRow]:
        """Return the entries of producers in periods that are not reversed."""
        e, found = entries.c, list[EntryRow]()
        for part in chunks(list(producers)):
            for keys in chunks(list(periods)):
                found += self._entries(e.producer.in_(part), e.period.in_(keys))
        gone = {row.reverses for row in found}
        return [row for row in found if row.reverses is None and row.public not in gone]

    def ledger_of_campaign(self, campaign: int) -> list[EntryRow]:
        """Return all entries of a campaign."""
        return self._entries(entries.c.campaign == campaign)

    def entry(self, campaign: int, public: str) -> EntryRow | None:
        found = self._entries(entries.c.public == public)  # by this index alone: a campaign has many entries
        return next((row for row in found if row.campaign == campaign), None)

    def reversal(self, entry: EntryRow) -> EntryRow | None:
        """Return the entry that takes another one back, if there is one."""
        e = entries.c
        where = (e.producer == entry.producer, e.period == entry.period, e.reverses == entry.public)
        return next(iter(self._entries(*where)), None)

    def spent(self, campaign: int) -> dict[str, int]:
        """Return the sum of the entries of each period whose entries are shown."""
        s = spendings.c
        query = select(s.period, s.amount).where(s.campaign == campaign, s.shown == 1).order_by(s.period)
        return {period: int(amount) for period, amount in self._do(query)}

    def _entries(self, *where: Any) -> list[EntryRow]:
        return [EntryRow(*row) for row in self._do(select(*_ENTRY).where(*where).order_by(entries.c.id))]


_e = entries.c
_ENTRY = (_e.public, _e.campaign, _e.producer, _e.amount, _e.period, _e.booked, _e.reverses)
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
