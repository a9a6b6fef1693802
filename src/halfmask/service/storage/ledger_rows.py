"""Entries of the ledger: what was booked for reports, and what was taken back."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, Index, String, func, select

from halfmask.service.storage.identity_rows import producers
from halfmask.service.storage.tables import Statements, numbered_column, table, text, whole
from halfmask_device.instants import Instant

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


class EntryRow(NamedTuple):
    """One booking. ``amount`` is positive; a reversal's is negative, and ``reverses`` names the entry it takes back."""

    public: str
    campaign: int
    producer: int
    amount: int
    period: str
    booked: Instant
    reverses: str | None = None


class LedgerStatements(Statements):
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

    def entry(self, campaign: int, public: str) -> EntryRow | None:
        return next(iter(self._entries(entries.c.campaign == campaign, entries.c.public == public)), None)

    def reversal(self, campaign: int, public: str) -> EntryRow | None:
        """Return the entry that takes another one back, if there is one."""
        return next(iter(self._entries(entries.c.campaign == campaign, entries.c.reverses == public)), None)

    def _entries(self, *where: Any, most: int | None = None) -> list[EntryRow]:
        e = entries.c
        columns = (e.public, e.campaign, e.producer, e.amount, e.period, e.booked, e.reverses)
        return [EntryRow(*row) for row in self._do(select(*columns).where(*where).order_by(e.id).limit(most))]

    def owed(self, campaign: int) -> list[tuple[str, int]]:
        """Return producers by name, and the sum of their entries."""
        e, p = entries.c, producers.c
        joined = entries.join(producers, p.id == e.producer)
        query = select(p.public, func.sum(e.amount)).select_from(joined).where(e.campaign == campaign)
        return [(public, int(amount)) for public, amount in self._do(query.group_by(p.public).order_by(p.public))]
