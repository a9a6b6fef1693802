"""Cells of other nodes, and facts about this one."""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from sqlalchemy import Column, Index, PrimaryKeyConstraint, String, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from halfmask.service.storage.tables import Plain, Statements, among, chunks, dump, long_text, table, text, whole

facts = table("facts", Column("name", String(64), primary_key=True), text("value", 200))
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


class KnownRow(NamedTuple):
    """A node's own cells of a period, as far as they are known here. If ``final``, they will not change."""

    node: str
    period: str
    version: int
    final: bool
    cells: Plain


class NodeCellStatements(Statements):
    def node_version(self, node: int, period: str) -> int | None:
        c = node_cells.c
        return self._do(select(c.version).where(c.node == node, c.period == period)).scalar()

    def put_node_cells(self, campaign: int, node: int, period: str, version: int, cells: Plain) -> None:
        row = {"node": node, "period": period, "campaign": campaign, "version": version, "cells": dump(cells)}
        self._replace(node_cells, **row)

    def node_cells(self, campaign: int, period: str) -> list[Plain]:
        c = node_cells.c
        query = select(c.cells).where(c.campaign == campaign, c.period == period).order_by(c.node)
        return [json.loads(cells) for cells in self._do(query).scalars()]

    def forget_node_cells(self, campaign: int, period: str) -> None:
        c = node_cells.c
        self._do(delete(node_cells).where(c.campaign == campaign, c.period == period))

    def fact(self, name: str) -> str | None:
        """Return a fact that this database stores about itself, or None."""
        return self._do(select(facts.c.value).where(facts.c.name == name)).scalar()

    def first_fact(self, name: str, value: str) -> str:
        """Store a fact unless there is one. Return the value that was stored first, by any process."""
        with suppress(IntegrityError), self.connection.begin_nested():
            self._do(insert(facts).values(name=name, value=value))
        return self.fact(name) or value

    def known(self, campaign: int, periods: Iterable[str]) -> list[KnownRow]:
        c, wanted = known.c, sorted(set(periods))
        columns = (c.node, c.period, c.version, c.final, c.cells)
        query = select(*columns).where(c.campaign == campaign).order_by(*columns[:2])
        found: list[KnownRow] = []
        for part in chunks(wanted):
            held, rows = set(part), self._do(query.where(among(c.period, part)))
            found += [KnownRow(*row[:3], bool(row[3]), json.loads(row[4])) for row in rows if row[1] in held]
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
