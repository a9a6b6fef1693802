"""A table of an engine, before its columns are interpreted as readings."""

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
"""The number of first rows that are used as a sample."""
MOST_TEXTS = 1_000
"""The largest number of distinct texts for which `SourceTable.distinct` returns counts."""


@dataclass(frozen=True)
class CellPlace:
    """A cell's text and its place: the file, if any, and the number of the data row, counted from 1."""

    file: str | None
    row: int
    text: str


@dataclass(frozen=True)
class Rule:
    """How to parse one column.

    ``role``    user, time or value
    ``sql``     the SQL expression that parses a cell, or fails
    ``bad``     the SQL condition for cells on which ``sql`` fails; None if it never fails
    ``wanted``  a description of readable cells, for error messages
    ``quick``   a faster SQL expression that works only for cells written like the first rows; may be empty
    ``cells``   how Arrow's readers of text and Parquet parse the column, which is faster still; None if they cannot
    """

    role: str
    column: str
    sql: str
    bad: str | None = None
    wanted: str = ""
    quick: str = ""
    cells: ArrowCells | None = None


def operand(name: str, column: pa.ChunkedArray) -> str:
    """Return a column as an SQL operand. It is cast to text if it holds categories or only nulls."""
    plain = not (pa.types.is_dictionary(column.type) or pa.types.is_null(column.type))
    return quote(name) if plain else f"CAST({quote(name)} AS VARCHAR)"


class SourceTable(ABC):
    """A table of an engine, with a sample of its rows. After a failed query it can find the row that caused the
    failure.

    ``partitions``  the columns that are encoded in folder names (``day=2026-01-31``)
    ``units``       the units from a row under the header
    ``workplace``   a temporary folder that exists as long as the table
    ``by_blocks``   returns a function that reads columns with Arrow; None if Arrow cannot read the table
    ``origin``      the text after FROM in the caller's query
    ``rules``       how to parse the columns, if the format fixes it
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
        """Return ``SELECT shown FROM (SELECT columns FROM the table)``. ``ordered`` adds a column ``order`` to both."""

    @abstractmethod
    def of_parts(self, columns: str, rest: str = "") -> pa.Table:
        """Run ``SELECT columns FROM the table rest`` on each part of the table, and return the rows of all parts."""

    def select(self, expressions: Mapping[str, str], *, ordered: bool) -> nw.LazyFrame[Any]:
        """Return a frame with the named SQL expressions as columns. ``ordered`` adds the column ``order``."""
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
        """Return user, time and value, with one row for each value of each row of the table.

        ``users``    the SQL expression of each value's user, or one expression for all
        ``base``     the expression of the row's time
        ``offsets``  the offset of each value's time from the row's time
        ``moment``   the expression of a reading's time, which refers to ``base`` and ``shift`` (the offset)
        ``values``   the expression of each value
        """
        user = users[0] if len(users) == 1 else f"unnest([{', '.join(users)}])"
        shift = f"unnest([{', '.join(map(str, offsets))}])" if any(offsets) else "0"
        columns = f'{user} AS "user", {base} AS base, {shift} AS shift, unnest([{", ".join(values)}]) AS "value"'
        # The conversion to a zone's clock is a long expression, so it is applied once, outside the inner query.
        return self.frame(columns, f'"user", {moment} AS "time", "value"', ordered=ordered)

    def distinct(self, text: str) -> dict[str, int]:
        """Return the distinct texts of an SQL expression and their counts. Outer blanks are removed; null counts as
        empty.
        """
        text = f"coalesce(trim(CAST({text} AS VARCHAR)), '')"
        found = self.of_parts(f"{text} AS text, count(*) AS rows", f"GROUP BY ALL ORDER BY text LIMIT {MOST_TEXTS}")
        rows = found.group_by("text").aggregate([("rows", "sum")]).sort_by("text").slice(0, MOST_TEXTS)
        return dict(zip(rows["text"].to_pylist(), rows["rows_sum"].to_pylist(), strict=True))

    def count(self, conditions: Sequence[str]) -> list[int]:
        """Return the number of rows that meet each condition."""
        counts = ", ".join(f"count(*) FILTER (WHERE {condition}) AS n{i}" for i, condition in enumerate(conditions))
        return [sum(column.to_pylist()) for column in self.of_parts(counts).columns]

    @abstractmethod
    def first(self, condition: str, shown: str) -> CellPlace | None:
        """Return the place of the first row that meets a condition, with the text of ``shown``; None if no row does."""

    @abstractmethod
    def fatal(self, error: Exception) -> RunError | None:
        """Return the error for a failure of the machine, such as too little memory; None for other failures."""

    @abstractmethod
    def explain(self, error: Exception) -> HalfmaskError:
        """Return the error for a failure that no single reading caused."""

    def keep(self, columns: Sequence[str]) -> None:  # noqa: B027 (most tables read only what is asked for anyway)
        """Restrict later queries to these columns."""
