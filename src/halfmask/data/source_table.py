"""Readings before they are read as such: a table that an engine holds or reaches, whatever its columns."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import narwhals as nw
import pyarrow as pa

from halfmask.data.advised_queries import READINGS
from halfmask.data.arrow_blocks import ArrowCells
from halfmask.data.clean import Rule
from halfmask.data.engines.sql import quote
from halfmask.data.panel import Engine, Guess, Quick
from halfmask.data.zones import wall_clock
from halfmask.errors import HalfmaskError, RunError

SAMPLE_ROWS = 1_000
"""How many first rows are looked at to tell what a column holds."""
MOST_TEXTS = 1_000
"""How many texts of a column are told apart."""


@dataclass(frozen=True)
class CellPlace:
    """Where in the source a reading stands, and what stands there: the file if there is one, the data row from 1."""

    file: str | None
    row: int
    text: str


@dataclass(frozen=True)
class RowTimes:
    """When the values in a row are of: ``base``, an expression, plus ``offsets``, one for each value, or none at all.

    ``zone``: the base is an instant, and what that zone's clock shows then is the time.
    """

    base: str
    offsets: tuple[int, ...] = ()
    zone: str | None = None

    def of(self, base: str, offset: str) -> str:
        """Return the time from the columns that hold the two."""
        moment = f"({base} + {offset})" if self.offsets else base
        return wall_clock(moment, self.zone) if self.zone else moment


class SourceTable(ABC):
    """A table of an engine, a sample of it, and the way from a query's failure back to the row at fault.

    ``partitions`` are the columns that come from folder names (``day=2026-01-31``), not from the files; ``units`` those
    that a row under the header names. ``workplace`` is a temporary folder that lives with the table. ``by_blocks``
    gives what reads three columns by Arrow, and fails on what is not written as they say; None where nothing does.
    ``origin`` is what a query of a caller has behind FROM. ``rules``: how the columns are read, if the format fixes it.
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
        """``SELECT shown FROM (SELECT columns FROM the table)``; ``ordered`` adds ``order`` to both."""

    @abstractmethod
    def of_parts(self, columns: str, rest: str = "") -> pa.Table:
        """``SELECT columns FROM the table rest``, run on each part of the table by itself; the rows of all parts."""

    def select(self, expressions: Mapping[str, str], *, ordered: bool) -> nw.LazyFrame[Any]:
        """Return the named expressions of every row, with ``order`` if asked for."""
        return self.frame(", ".join(f"{sql} AS {quote(name)}" for name, sql in expressions.items()), ordered=ordered)

    def unpivot(
        self, users: Sequence[str], times: RowTimes, values: Sequence[str], *, ordered: bool
    ) -> nw.LazyFrame[Any]:
        """``user, time, value``: a row for every row of the table and every value in it, with its user and time.

        One expression for the user serves all values.
        """
        user = users[0] if len(users) == 1 else f"unnest([{', '.join(users)}])"
        offset = f"unnest([{', '.join(map(str, times.offsets))}])" if times.offsets else "0"
        columns = f'{user} AS "user", {times.base} AS base, {offset} AS shift, unnest([{", ".join(values)}]) AS "value"'
        # The clock of a zone is a long expression: it is written once, outside, and not once per column.
        shown = f'"user", {times.of("base", "shift")} AS "time", "value"'
        return self.frame(columns, shown, ordered=ordered)

    def distinct(self, text: str) -> dict[str, int]:
        """The texts of an expression, without blanks around them, and how often each occurs; null is an empty text."""
        text = f"coalesce(trim(CAST({text} AS VARCHAR)), '')"
        found = self.of_parts(f"{text} AS text, count(*) AS rows", f"GROUP BY ALL ORDER BY text LIMIT {MOST_TEXTS}")
        rows = found.group_by("text").aggregate([("rows", "sum")]).sort_by("text").slice(0, MOST_TEXTS)
        return dict(zip(rows["text"].to_pylist(), rows["rows_sum"].to_pylist(), strict=True))

    def count(self, conditions: Sequence[str]) -> list[int]:
        """In how many rows each condition holds."""
        counts = ", ".join(f"count(*) FILTER (WHERE {condition}) AS n{i}" for i, condition in enumerate(conditions))
        return [sum(column.to_pylist()) for column in self.of_parts(counts).columns]

    @abstractmethod
    def first(self, condition: str, shown: str) -> CellPlace | None:
        """Return the first row where a condition holds, and the text of ``shown`` there."""

    @abstractmethod
    def fatal(self, error: Exception) -> RunError | None:
        """Return the error for a failure of the machine, not of the source: out of memory, interrupted, engine gone."""

    @abstractmethod
    def explain(self, error: Exception) -> HalfmaskError:
        """What went wrong, for a failure that no single reading accounts for."""

    def keep(self, columns: Sequence[str]) -> None:  # noqa: B027 (most tables read only what is asked for anyway)
        """Nothing but these columns will be asked for from now on."""
