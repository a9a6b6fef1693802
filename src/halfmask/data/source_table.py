"""A table of an engine before its columns are interpreted as readings."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import narwhals as nw
import pyarrow as pa

from halfmask.data.arrow_blocks import ArrowCells
from halfmask.data.panel import Engine, Guess, Quick
from halfmask.data.sql import READINGS, quote
from halfmask.errors import HalfmaskError, RunError

SAMPLE_ROWS = 1_000
"""The number of first rows that show what a column holds."""
MOST_TEXTS = 1_000
"""The largest number of different texts of a column that are counted."""


@dataclass(frozen=True)
class CellPlace:
    """The place of a cell in the source and its text: the file, if there is one, and the data row, counted from 1."""

    file: str | None
    row: int
    text: str


@dataclass(frozen=True)
class Rule:
    """How one column is read as user, time or value.

    ``role``     user, time or value
    ``sql``      the expression that reads a cell, and fails if it cannot
    ``bad``      a condition that holds for the cells on which ``sql`` fails; None if it never fails
    ``wanted``   in words, what a readable cell looks like
    ``quick``    a quicker expression for cells written like the first rows; if it fails, ``sql`` is used; may be empty
    ``cells``    how Arrow's still quicker readers of text and Parquet read the column; None if they cannot
    """

    role: str
    column: str
    sql: str
    bad: str | None = None
    wanted: str = ""
    quick: str = ""
    cells: ArrowCells | None = None


def operand(name: str, column: pa.ChunkedArray) -> str:
    """Return the column as an SQL operand; it is cast to text if it holds categories or only nulls."""
    plain = not (pa.types.is_dictionary(column.type) or pa.types.is_null(column.type))
    return quote(name) if plain else f"CAST({quote(name)} AS VARCHAR)"


class SourceTable(ABC):
    """A table of an engine with a sample of it. From a query's failure it finds the row at fault.

    ``partitions``  the columns that come from folder names (``day=2026-01-31``), not from the files
    ``units``       the units that a row under the header names
    ``workplace``   a temporary folder that exists as long as the table
    ``by_blocks``   returns a function that reads three columns by Arrow, and fails on cells of other types; or None
    ``origin``      what a caller's query has after FROM
    ``rules``       how the columns are read, if the format fixes it
    """

    engine: Engine
    source: str
    sample: pa.Table
    failures: tuple[type[Exception], ...]
    partitions: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    guesses: tuple[Guess, ...] = ()
    units: Mapping[str, str] = MappingProxyType({})
    files: tuple[str, ...] = ()
    workplace: Any = None
    origin: str = READINGS
    rules: Sequence[Rule] = ()
    by_blocks: Callable[[Sequence[str], Sequence[ArrowCells]], Quick | None] | None = None

    @abstractmethod
    def frame(self, columns: str, shown: str = "*", *, ordered: bool = False) -> nw.LazyFrame[Any]:
        """Return ``SELECT shown FROM (SELECT columns FROM the table)``; ``ordered`` adds ``order`` to both."""

    @abstractmethod
    def of_parts(self, columns: str, rest: str = "") -> pa.Table:
        """Return the rows of ``SELECT columns FROM the table rest``, run on each part of the table by itself."""

    def select(self, expressions: Mapping[str, str], *, ordered: bool) -> nw.LazyFrame[Any]:
        """Return the named expressions of every row, with ``order`` if ``ordered``."""
        return self.frame(", ".join(f"{sql} AS {quote(name)}" for name, sql in expressions.items()), ordered=ordered)

    def unpivot(
        self,
        users: Sequence[str],
        base: str,
        offsets: Sequence[int],
        moment: str,
        values: Sequence[str],
        *,
        ordered: bool,
    ) -> nw.LazyFrame[Any]:
        """Return ``user, time, value`` with a row for every value of every row of the table.

        If there is one expression for the user, it serves all values. ``moment`` is the expression of a reading's time:
        ``base`` is the expression of the row's time, and ``shift`` is the offset of the reading.
        """
        user = users[0] if len(users) == 1 else f"unnest([{', '.join(users)}])"
        shift = f"unnest([{', '.join(map(str, offsets))}])" if any(offsets) else "0"
        columns = f'{user} AS "user", {base} AS base, {shift} AS shift, unnest([{", ".join(values)}]) AS "value"'
        # The clock of a zone is a long expression: it is written once, outside, and not once per column.
        return self.frame(columns, f'"user", {moment} AS "time", "value"', ordered=ordered)

    def distinct(self, text: str) -> dict[str, int]:
        """Return the texts of an expression, stripped, and how often each occurs; null counts as an empty text."""
        text = f"coalesce(trim(CAST({text} AS VARCHAR)), '')"
        found = self.of_parts(f"{text} AS text, count(*) AS rows", f"GROUP BY ALL ORDER BY text LIMIT {MOST_TEXTS}")
        rows = found.group_by("text").aggregate([("rows", "sum")]).sort_by("text").slice(0, MOST_TEXTS)
        return dict(zip(rows["text"].to_pylist(), rows["rows_sum"].to_pylist(), strict=True))

    def count(self, conditions: Sequence[str]) -> list[int]:
        """Return for each condition the number of rows that meet it."""
        counts = ", ".join(f"count(*) FILTER (WHERE {condition}) AS n{i}" for i, condition in enumerate(conditions))
        return [sum(column.to_pylist()) for column in self.of_parts(counts).columns]

    @abstractmethod
    def first(self, condition: str, shown: str) -> CellPlace | None:
        """Return the first row that meets a condition, with the text of ``shown`` in it; None if no row does."""

    @abstractmethod
    def fatal(self, error: Exception) -> RunError | None:
        """Return the error for a failure of the machine, such as too little memory; None for other failures."""

    @abstractmethod
    def explain(self, error: Exception) -> HalfmaskError:
        """Return the error for a failure that is not due to a single reading."""

    def keep(self, columns: Sequence[str]) -> None:  # noqa: B027 (most tables read only what is asked for anyway)
        """Keep only these columns, because no later query needs others."""
