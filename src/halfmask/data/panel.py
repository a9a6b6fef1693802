"""A panel: readings of many users over time, wherever they lie, as one lazy frame."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import narwhals as nw
import pyarrow as pa

from halfmask.data.advised_queries import Queries

T = TypeVar("T")
Quick = Callable[[], Generator[pa.RecordBatch]]
"""Streams user, time and value, or fails on the first that is not written as the first rows are."""


@dataclass(frozen=True)
class Guess:
    """One thing that was concluded about a source: what, why, and the option that overrules it.

    ``sure``: by its name or by a proof; else because nothing else was left, which the readings have to bear out.
    """

    what: str
    choice: str
    evidence: str
    option: str
    sure: bool = True


class Engine(ABC):
    """What a panel needs of the machinery under its frame, beyond Narwhals' expressions."""

    name: str

    @abstractmethod
    def table(self, rows: pa.Table) -> nw.LazyFrame[Any]:
        """Bring a small Arrow table to the engine, so that it can be joined."""

    @abstractmethod
    def collect(self, frame: nw.LazyFrame[Any]) -> pa.Table:
        """Run a query whose result is small enough to hold."""

    @abstractmethod
    def misread(self, error: Exception) -> bool:
        """Return whether a query failed on a reading that it could not take, and on nothing else."""

    @abstractmethod
    def keep(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """Run a query now and keep its result on the engine, for the queries that follow."""

    @abstractmethod
    def map_users(
        self, frame: nw.LazyFrame[Any], groups: int, work: Callable[[Iterator[pa.RecordBatch]], T]
    ) -> Iterator[T]:
        """What ``work`` makes of each group of users: a user's rows are all in one group.

        There are ``groups`` groups; of 1, Spark makes as many as suit the number of rows.
        """

    @abstractmethod
    def batches(self, frame: nw.LazyFrame[Any]) -> Generator[pa.RecordBatch]:
        """Run a query and stream its result; the whole of it is never in memory."""


@dataclass(frozen=True)
class Panel:
    """Readings as a lazy frame of three columns, and what was assumed to get there.

    ``user``   string or integer; null where the source names none
    ``time``   Int64, microseconds of local wall-clock time since 1970-01-01T00:00; null where unknown
    ``value``  Float64; null, NaN and infinities are still in it

    ``ordered`` is the same frame with a fourth column ``order`` (Int64) that grows in the order of the
    source; it costs more, and serves only to tell the first of two duplicates from the last.
    ``unit`` is that of the values, if it is known. ``quantity`` is what they are of if they do not add up, such as
    temperatures (`averaged_quantities`).
    ``register``: whether values were the states of a register, None where
    nobody said; then ``losses`` counts the states that gave no reading, by reason.
    ``guesses`` say what was concluded about the source, and why; ``notes`` are those worth a line every time.
    ``quick`` streams the same frame by a reader that fails on what is not written as the first rows are, where there is
    such: its numbers count only if it comes to its end. ``guard`` wraps every query: it turns the engine's failure into
    an error that names file and row. ``queries`` read a part of the source.
    """

    frame: nw.LazyFrame[Any]
    ordered: nw.LazyFrame[Any]
    engine: Engine
    source: str
    guard: Callable[[], AbstractContextManager[None]]
    notes: tuple[str, ...] = field(default=())
    guesses: tuple[Guess, ...] = field(default=())
    unit: str | None = None
    quantity: str | None = None
    register: bool | None = None
    losses: Callable[[], dict[str, int]] | None = None
    quick: Quick | None = None
    queries: Queries = field(default=Queries())

    def collect(self, frame: nw.LazyFrame[Any]) -> pa.Table:
        """Run a query over this panel, with errors that name the place in the source."""
        with self.guard():
            return self.engine.collect(frame)

    def batches(self) -> Generator[pa.RecordBatch]:
        """Stream the three columns."""
        with self.guard():
            yield from self.engine.batches(self.frame)
