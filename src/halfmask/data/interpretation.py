"""A table together with what was concluded about its columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import narwhals as nw
import pyarrow as pa

from halfmask.data.column_types import ColumnType
from halfmask.data.columns import ROLES
from halfmask.data.options import ReadOptions
from halfmask.data.panel import Guess, Panel, Quick
from halfmask.data.source_table import Rule, SourceTable
from halfmask.data.sql import Queries
from halfmask.data.unreadable_cells import guard


@dataclass(frozen=True)
class Interpretation:
    """A table, the types of its columns and the caller's options. ``notes`` and ``guesses`` collect the conclusions."""

    raw: SourceTable
    kinds: Mapping[str, ColumnType]
    options: ReadOptions
    notes: list[str] = field(default_factory=list)
    guesses: list[Guess] = field(default_factory=list)

    def sample(self, name: str) -> pa.ChunkedArray:
        """Return the first rows of a column."""
        return self.raw.sample.column(name)

    def panel(
        self, rules: Sequence[Rule], unit: str | None = None, unpivot: Callable[..., nw.LazyFrame[Any]] | None = None
    ) -> Panel:
        """Return the panel of the readings.

        ``rules``    how to parse each column
        ``unpivot``  selects the readings if a row holds several
        """
        raw, watch = self.raw, partial(guard, self.raw, rules)
        read = [rule for rule in rules if rule.role in ROLES]
        select = unpivot or partial(raw.select, {rule.role: rule.sql for rule in read})
        with watch():
            frame, ordered = (select(ordered=ordered) for ordered in (False, True))
            raw.engine.collect(frame.head(100))
        user = next((rule.column for rule in rules if rule.role == "user"), "")
        keys = [rule.column for rule in rules if rule.role != "value"]
        return Panel(
            frame,
            ordered,
            raw.engine,
            raw.source,
            watch,
            (*raw.notes, *self.notes),
            (*raw.guesses, *self.guesses),
            unit,
            quick=None if unpivot else self._quick(read),
            queries=Queries(raw.origin, user, keys, bool(raw.files)),
        )

    def _quick(self, rules: Sequence[Rule]) -> Quick | None:
        """Return a function that streams the columns through Arrow or simpler SQL expressions; None if neither is
        possible.
        """
        cells = [rule.cells for rule in rules if rule.cells]
        by_blocks = self.raw.by_blocks if len(cells) == len(rules) else None
        if by_blocks and (quick := by_blocks([rule.column for rule in rules], cells)):
            return quick
        if not any(rule.quick for rule in rules):
            return None
        frame = self.raw.select({rule.role: rule.quick or rule.sql for rule in rules}, ordered=False)
        return partial(self.raw.engine.batches, frame)
