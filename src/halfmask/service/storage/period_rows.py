"""Closed periods, snapshots of open periods in live campaigns, the events that announce both, and cells of nodes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Index, PrimaryKeyConstraint, and_, bindparam, case, delete, exists, func, insert, select, update

from halfmask.service.storage.campaign_rows import entries
from halfmask.service.storage.cell_rows import cells
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
unpublished = table("unpublished", whole("campaign"), text("period", 24), PrimaryKeyConstraint("campaign", "period"))
PUBLISHED = ~exists().where(unpublished.c.campaign == closed.c.campaign, unpublished.c.period == closed.c.period)
"""The condition that a closed period is published."""
events = table("events", numbered_column(), whole("campaign"), text("period", 24), Index("events_of", "campaign", "id"))
looks = table(
    "looks",
    whole("campaign"),
    text("period", 24),
    whole("number"),
    long_text("cells"),
    long_text("entry"),
    PrimaryKeyConstraint("campaign", "period"),
)
touched = table(
    "touched",
    whole("campaign"),
    text("period", 24),
    whole("producer"),
    PrimaryKeyConstraint("campaign", "period", "producer"),
)
shown = table(
    "shown",
    whole("campaign"),
    text("period", 24),
    whole("producer"),
    long_text("cells"),
    long_text("looks"),
    whole("gone"),
    PrimaryKeyConstraint("campaign", "period", "producer"),
)
known = table(
    "known",
    whole("campaign"),
    text("node", 32),
    text("period", 24),
    whole("version"),
    whole("final"),
    long_text("cells"),
    PrimaryKeyConstraint("campaign", "period", "node"),
)
node_cells = table(
    "node_cells",
    whole("node"),
    text("period", 24),
    whole("campaign"),
    whole("version"),
    long_text("cells"),
    PrimaryKeyConstraint("node", "period"),
    Index("node_cells_of", "campaign", "period"),
)


class ClosedRow(NamedTuple):
    """A closed period. ``entry`` is what the consumer sees, once the period is published.

    Until then it is empty, or has what was known when a period with split reports was closed.
    """

    period: str
    begins: Instant
    closed: Instant
    cells: Plain
    entry: Plain


class SnapshotRow(NamedTuple):
    """The snapshot of an open period in a live campaign: its cells at the time when enough producers had changed it.

    ``number`` counts the snapshots of the period, from 1.
    """

    number: int
    cells: Plain
    entry: Plain


class KnownRow(NamedTuple):
    """A node's own cells of a period, as far as they are known here. If ``final``, they will not change."""

    node: str
    period: str
    version: int
    final: bool
    cells: Plain


class PeriodStatements(Statements):
    def closed(self, campaign: int, first: Instant, last: Instant) -> dict[str, ClosedRow]:
        """Return the published periods that begin from ``first`` to ``last``, both included, in order."""
        c = closed.c
        found = self._closed(c.campaign == campaign, c.begins.between(first, last), PUBLISHED)
        return {row.period: row for _, row in found}

    def unpublished(self, campaign: int | None = None) -> list[tuple[int, ClosedRow]]:
        """Return the closed periods that are not published, of a campaign or of all, each with its campaign."""
        c, u = closed.c, unpublished.c
        query = select(u.campaign, u.period).order_by(u.campaign, u.period)
        keys = self._do(query if campaign is None else query.where(u.campaign == campaign))
        return [row for key, period in list(keys) for row in self._closed(c.campaign == key, c.period == period)]

    def _closed(self, *where: Any) -> list[tuple[int, ClosedRow]]:
        c = closed.c
        query = select(c.campaign, c.period, c.begins, c.closed_at, c.cells, c.entry).where(*where)
        rows = self._do(query.order_by(c.campaign, c.begins))
        return [(row[0], ClosedRow(*row[1:4], json.loads(row[4]), json.loads(row[5]))) for row in rows]

    def deletable(self, before: Instant) -> list[tuple[int, str]]:
        """Return campaign and period of what was published and closed before an instant and still has cells."""
        c, k = closed.c, cells.c
        joined = closed.join(cells, and_(k.campaign == c.campaign, k.period == c.period))
        query = select(c.campaign, c.period).select_from(joined).distinct()
        rows = self._do(query.where(c.closed_at <= before, PUBLISHED).order_by(c.campaign, c.period))
        return [(row[0], row[1]) for row in rows]

    def closed_keys(self, campaign: int, keys: Iterable[str] | None = None) -> set[str]:
        if keys is None:
            return set(self._do(select(closed.c.period).where(closed.c.campaign == campaign)).scalars())
        found: set[str] = set()
        for part in chunks(sorted(keys)):
            found |= set(self._do(_CLOSED_KEYS, {"campaign": campaign, "keys": part}).scalars())
        return found

    def add_closed(self, campaign: int, rows: Sequence[ClosedRow]) -> None:
        """Close periods, which are not published yet."""
        self._insert(closed, [(campaign, *row[:3], dump(row.cells), dump(row.entry)) for row in rows])
        self._insert(unpublished, [(campaign, row.period) for row in rows])

    def publish(self, campaign: int, made: Mapping[str, Plain]) -> None:
        """Store what the consumer sees of closed periods, and add an event for each, unless they were published."""
        u, new = unpublished.c, list[str]()
        for part in chunks(list(made)):
            where = (u.campaign == campaign, u.period.in_(part))
            waiting = set(self._do(select(u.period).where(*where)).scalars())
            self._do(delete(unpublished).where(*where))
            new += [period for period in part if period in waiting]
        if new:
            self._do(_PUBLISH, [{"key": campaign, "name": each, "entry": dump(made[each])} for each in new])
            self._insert(events, [(campaign, each) for each in new])

    def earned(self, producer: int) -> tuple[int, int]:
        """Return what a producer earned in closed periods, and what it is expected to earn in open ones."""
        e = entries.c
        paid = func.coalesce(func.sum(case((closed.c.period.is_not(None), e.amount), else_=0)), 0)
        joined = entries.outerjoin(closed, and_(closed.c.campaign == e.campaign, closed.c.period == e.period))
        query = select(paid, func.coalesce(func.sum(e.amount), 0)).select_from(joined).where(e.producer == producer)
        earned, whole = map(int, self._do(query).one())
        return earned, whole - earned

    def owed(self, campaign: int) -> list[tuple[str, int]]:
        """Return producers by name, and what they earned in closed periods."""
        e, p = entries.c, producers.c
        joined = entries.join(producers, p.id == e.producer).join(
            closed, and_(closed.c.campaign == e.campaign, closed.c.period == e.period)
        )
        query = select(p.public, func.sum(e.amount)).select_from(joined).where(e.campaign == campaign)
        return [(public, int(amount)) for public, amount in self._do(query.group_by(p.public).order_by(p.public))]

    def add_event(self, campaign: int, period: str) -> None:
        self._do(insert(events).values(campaign=campaign, period=period))

    def events(self, campaign: int, after: int) -> list[tuple[int, str]]:
        c = events.c
        query = select(c.id, c.period).where(c.campaign == campaign, c.id > after).order_by(c.id)
        return [(row[0], row[1]) for row in self._do(query)]

    def snapshots(self, campaign: int) -> dict[str, SnapshotRow]:
        c = looks.c
        rows = self._do(select(c.period, c.number, c.cells, c.entry).where(c.campaign == campaign))
        return {row[0]: SnapshotRow(row[1], json.loads(row[2]), json.loads(row[3])) for row in rows}

    def put_snapshot(self, campaign: int, period: str, row: SnapshotRow) -> None:
        texts = {"cells": dump(row.cells), "entry": dump(row.entry)}
        self._replace(looks, campaign=campaign, period=period, number=row.number, **texts)

    def touch(self, campaign: int, period: str, producers: Sequence[int]) -> int:
        """Record that these producers changed the period since its last snapshot.

        Return the number of all producers who have changed it since then.
        """
        known = set(self.touched(campaign, period))
        new = [each for each in dict.fromkeys(producers) if each not in known]
        if new:
            rows = [{"campaign": campaign, "period": period, "producer": each} for each in new]
            self._do(insert(touched), rows)
        return len(known) + len(new)

    def untouch(self, campaign: int, period: str, producers: Sequence[int]) -> None:
        c = touched.c
        for part in chunks(list(producers)):
            self._do(delete(touched).where(c.campaign == campaign, c.period == period, c.producer.in_(part)))

    def touched(self, campaign: int, period: str) -> list[int]:
        c = touched.c
        return list(self._do(select(c.producer).where(c.campaign == campaign, c.period == period)).scalars())

    def shown(self, campaign: int, period: str, producers: Sequence[int]) -> dict[int, Plain]:
        """Return the cells of these producers in the last snapshot; a producer without any is left out."""
        c = shown.c
        found: dict[int, Plain] = {}
        for part in chunks(list(producers)):
            where = (c.campaign == campaign, c.period == period, c.producer.in_(part), c.gone == 0)
            found |= {row[0]: json.loads(row[1]) for row in self._do(select(c.producer, c.cells).where(*where))}
        return found

    def put_shown(self, campaign: int, period: str, number: int, cells: Mapping[int, Plain]) -> None:
        """Store the cells of producers in the snapshot with this number; empty for a producer who withdrew."""
        c = shown.c
        before: dict[int, list[int]] = {}
        for part in chunks(list(cells)):
            where = (c.campaign == campaign, c.period == period, c.producer.in_(part))
            before |= {row[0]: json.loads(row[1]) for row in self._do(select(c.producer, c.looks).where(*where))}
            self._do(delete(shown).where(*where))
        rows = [
            (campaign, period, each, dump(own), json.dumps([*before.get(each, []), number]), int(not own))
            for each, own in cells.items()
            if own or each in before
        ]
        self._insert(shown, rows)

    def changes(self, campaign: int, period: str) -> dict[int, tuple[list[int], bool]]:
        """Return for each producer ever shown the numbers of the snapshots that changed it, and whether it has gone."""
        c = shown.c
        rows = self._do(select(c.producer, c.looks, c.gone).where(c.campaign == campaign, c.period == period))
        return {row[0]: (json.loads(row[1]), bool(row[2])) for row in rows}

    def forget_open(self, campaign: int, periods: Iterable[str]) -> None:
        """Delete what is stored of periods only while they are open: snapshots, and cells of gateways."""
        for part in chunks(list(periods)):
            for each in (looks, node_cells):
                self._do(delete(each).where(each.c.campaign == campaign, each.c.period.in_(part)))

    def forget_changes(self, campaign: int, period: str, most: int) -> int:
        """Delete up to ``most`` rows of who changed a live period, and of what was shown. Return how many."""
        gone = 0
        for each in (touched, shown):
            where = (each.c.campaign == campaign, each.c.period == period)
            found = list(self._do(select(each.c.producer).where(*where).limit(most)).scalars())
            for part in chunks(found):
                gone += self._do(delete(each).where(*where, each.c.producer.in_(part))).rowcount
        return gone

    def node_version(self, node: int, period: str) -> int | None:
        c = node_cells.c
        return self._do(select(c.version).where(c.node == node, c.period == period)).scalar()

    def put_node_cells(self, campaign: int, node: int, period: str, version: int, cells: Plain) -> None:
        row = {"node": node, "period": period, "campaign": campaign, "version": version, "cells": dump(cells)}
        self._replace(node_cells, **row)

    def node_cells(self, campaign: int, periods: Iterable[str]) -> list[tuple[str, Plain]]:
        """Return the cells that each gateway sent of periods, with the period."""
        c, found = node_cells.c, list[tuple[str, Plain]]()
        for part in chunks(list(periods)):
            query = select(c.period, c.cells).where(c.campaign == campaign, c.period.in_(part))
            found += [(row[0], json.loads(row[1])) for row in self._do(query.order_by(c.period, c.node))]
        return found

    def known(self, campaign: int, periods: Iterable[str]) -> list[KnownRow]:
        c = known.c
        columns = (c.node, c.period, c.version, c.final, c.cells)
        query = select(*columns).where(c.campaign == campaign).order_by(*columns[:2])
        found: list[KnownRow] = []
        for part in chunks(list(set(periods))):
            rows = self._do(query.where(c.period.in_(part)))
            found += [KnownRow(*row[:3], bool(row[3]), json.loads(row[4])) for row in rows]
        return found

    def put_known(self, campaign: int, rows: Sequence[KnownRow]) -> None:
        c = known.c
        periods: dict[str, list[str]] = {}
        for row in rows:
            periods.setdefault(row.node, []).append(row.period)
        for node, own in periods.items():
            for part in chunks(own):
                self._do(delete(known).where(c.campaign == campaign, c.node == node, c.period.in_(part)))
        self._insert(known, [(campaign, *row[:3], int(row.final), dump(row.cells)) for row in rows])

    def newest(self, campaign: int, node: str) -> int:
        """Return the highest version of a node's cells, or 0 if there are none."""
        c = known.c
        return int(self._do(select(func.max(c.version)).where(c.campaign == campaign, c.node == node)).scalar() or 0)


_PUBLISH = update(closed).where(closed.c.campaign == bindparam("key"), closed.c.period == bindparam("name"))
_CLOSED_KEYS = select(closed.c.period).where(
    closed.c.campaign == bindparam("campaign"), closed.c.period.in_(bindparam("keys", expanding=True))
)
