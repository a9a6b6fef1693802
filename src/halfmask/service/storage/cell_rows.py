"""The cells of open periods, kept up to date by whoever adds or withdraws reports.

Sums are text, because they may exceed 64 bits.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import PrimaryKeyConstraint, bindparam, delete, insert, select, update

from halfmask.service.storage.tables import Statements, chunks, table, text, whole
from halfmask_device.protocol import Cell

cells = table(
    "cells",
    whole("campaign"),
    text("period", 24),
    text("cell", 128),
    whole("reports"),
    whole("producers"),
    text("sum", 64),
    text("squares", 64),
    PrimaryKeyConstraint("campaign", "period", "cell"),
)


class CellStatements(Statements):
    def cells(self, campaign: int, periods: Iterable[str]) -> dict[str, dict[str, Cell]]:
        """Return the cells of reports by period and name. A period that never had a report is left out."""
        c = cells.c
        found: dict[str, dict[str, Cell]] = {}
        for part in chunks(list(periods)):
            for period, name, cell in self._cells(c.campaign == campaign, c.period.in_(part)):
                found.setdefault(period, {})[name] = cell
        return found

    def add_to_cells(self, campaign: int, period: str, added: Mapping[str, Cell]) -> bool:
        """Add to cells of a period. Return whether any of them was there. The campaign must be locked."""
        c = cells.c
        before: dict[str, Cell] = {}
        for part in chunks(list(added)):
            found = self._cells(c.campaign == campaign, c.period == period, c.cell.in_(part))
            before |= {name: cell for _, name, cell in found}
        row = {"campaign": campaign, "period": period}
        new = [row | {"cell": name} | _numbers(cell) for name, cell in added.items() if name not in before]
        old = [
            {f"of_{key}": value for key, value in (row | {"cell": name}).items()} | _numbers(before[name].merge(cell))
            for name, cell in added.items()
            if name in before
        ]
        if new:
            self._do(insert(cells), new)
        if old:
            self._do(_CHANGE, old)
        return bool(before)

    def remove_cells(self, campaign: int, period: str) -> None:
        self._do(delete(cells).where(cells.c.campaign == campaign, cells.c.period == period))

    def periods_with_cells(self, campaign: int) -> list[str]:
        """Return the periods whose reports are stored, and those of kept reports that are not closed yet."""
        query = select(cells.c.period).where(cells.c.campaign == campaign).distinct()
        return sorted(self._do(query).scalars())

    def _cells(self, *where: Any) -> list[tuple[str, str, Cell]]:
        c = cells.c
        rows = self._do(select(c.period, c.cell, c.reports, c.producers, c.sum, c.squares).where(*where))
        return [(row[0], row[1], Cell(row[2], row[3], int(row[4]), int(row[5]))) for row in rows]


def _numbers(cell: Cell) -> dict[str, object]:
    return cell._asdict() | {"sum": str(cell.sum), "squares": str(cell.squares)}


_CHANGE = update(cells).where(*(cells.c[name] == bindparam(f"of_{name}") for name in ("campaign", "period", "cell")))
