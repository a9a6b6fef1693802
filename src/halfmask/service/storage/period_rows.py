"""Closed periods, and the events that tell of them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Index, PrimaryKeyConstraint, bindparam, insert, select

from halfmask.service.storage.statements import Plain, Statements, chunks, dump
from halfmask.service.storage.tables import long_text, numbered, table, text, whole
from halfmask_device.instants import Instant

closed = table(
    "closed",
    whole("campaign"),
    text("period", 24),
    whole("begins"),
    whole("closed_at"),
    long_text("cells"),
    long_text("entry"),
    PrimaryKeyConstraint("campaign", "period"),
)
events = table("events", numbered(), whole("campaign"), text("period", 24), Index("events_of", "campaign", "id"))


class ClosedRow(NamedTuple):
    period: str
    begins: Instant
    closed: Instant
    cells: Plain
    entry: Plain


class PeriodStatements(Statements):
    def closed(self, campaign: int, keys: Iterable[str] | None = None) -> dict[str, ClosedRow]:
        return self._closed(campaign, *([] if keys is None else [closed.c.period.in_(list(keys))]))

    def closed_between(self, campaign: int, first: Instant, last: Instant) -> dict[str, ClosedRow]:
        """Return the closed periods that begin from ``first`` to ``last``, both included, in order."""
        return self._closed(campaign, closed.c.begins.between(first, last))

    def _closed(self, campaign: int, *where: Any) -> dict[str, ClosedRow]:
        c = closed.c
        query = select(c.period, c.begins, c.closed_at, c.cells, c.entry).where(c.campaign == campaign, *where)
        rows = self._do(query.order_by(c.begins))
        return {row[0]: ClosedRow(*row[:3], json.loads(row[3]), json.loads(row[4])) for row in rows}

    def closed_keys(self, campaign: int, keys: Iterable[str] | None = None) -> set[str]:
        if keys is None:
            return set(self._do(select(closed.c.period).where(closed.c.campaign == campaign)).scalars())
        found: set[str] = set()
        for part in chunks(sorted(keys)):
            found |= set(self._do(_CLOSED_KEYS, {"campaign": campaign, "keys": part}).scalars())
        return found

    def add_closed(self, campaign: int, rows: Sequence[ClosedRow]) -> None:
        """Close periods, and add an event for each."""
        self._insert(closed, [(campaign, *row[:3], dump(row.cells), dump(row.entry)) for row in rows])
        self._insert(events, [(campaign, row.period) for row in rows])

    def add_event(self, campaign: int, period: str) -> None:
        self._do(insert(events).values(campaign=campaign, period=period))

    def events(self, campaign: int, after: int) -> list[tuple[int, str]]:
        c = events.c
        query = select(c.id, c.period).where(c.campaign == campaign, c.id > after).order_by(c.id)
        return [(row[0], row[1]) for row in self._do(query)]


_CLOSED_KEYS = select(closed.c.period).where(
    closed.c.campaign == bindparam("campaign"), closed.c.period.in_(bindparam("keys", expanding=True))
)
