"""A panel: the readings of many users over time, as one lazy frame."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import narwhals as nw
import pyarrow as pa

from halfmask.data.sql import Queries

T = TypeVar("T")
Quick = Callable[[], Generator[pa.RecordBatch]]
"""Streams user, time and value. Fails on the first cell that is not written like those of the first rows."""


@dataclass(frozen=True)
class Guess:
    """A conclusion about a source, the evidence for it, and the option that overrules it.

    ``sure``  True if a name or other evidence proves it; False if it was the only choice left, so that it must be
              checked
    """

    what: str
    choice: str
    evidence: str
    option: str
    sure: bool = True


class Engine(ABC):
    """The operations that a panel needs from its engine, in addition to Narwhals' expressions."""

    name: str

    @abstractmethod
    def table(self, rows: pa.Table) -> nw.LazyFrame[Any]:
        """Copy a small Arrow table to the engine, so that it can be joined."""

    @abstractmethod
    def collect(self, frame: nw.LazyFrame[Any]) -> pa.Table:
        """Run a query whose result fits into memory."""

    @abstractmethod
    def misread(self, error: Exception) -> bool:
        """Return whether a query failed because a reading could not be parsed."""

    @abstractmethod
    def keep(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """Run a query now, and keep the result on the engine for later queries."""

    @abstractmethod
    def map_users(
        self, frame: nw.LazyFrame[Any], groups: int, work: Callable[[Iterator[pa.RecordBatch]], T]
    ) -> Iterator[T]:
        """Divide the users into groups, and yield the result of ``work`` for each group.

        ``groups``  the number of groups; if it is 1, Spark chooses a number that suits the number of rows
        All rows of a user are in one group.
        """

    @abstractmethod
    def batches(self, frame: nw.LazyFrame[Any]) -> Generator[pa.RecordBatch]:
        """Run a query and stream its result. Memory never holds the whole result."""


@dataclass(frozen=True)
class Panel:
    """Readings as a lazy frame of three columns, and the conclusions about how to read them.

    The columns of ``frame``:

    ``user``   string or integer; null if unknown
    ``time``   Int64, microseconds of local wall-clock time since 1970-01-01T00:00; null if unknown
    ``value``  Float64; null, NaN and infinities are kept

    The other fields:

    ``ordered``   the frame with a column ``order`` (Int64) that grows in the source's order; it is slower, and is used
                  only to find the first and last of duplicates
    ``unit``      the unit of the values, if known
    ``quantity``  the kind of values if they must not be summed, such as temperatures (`averaged_quantities`)
    ``register``  whether the values were counter states; None if not known
    ``losses``    for a register: counts the states that gave no reading, by reason
    ``guesses``   the conclusions about the source, with their evidence
    ``notes``     conclusions that are always shown
    ``quick``     streams the frame faster, but fails on cells that are not written like the first rows; then its output
                  must be discarded; None if there is no faster reader
    ``guard``     wraps every query and turns an engine's failure into an error that names file and row
    ``queries``   queries for messages that advise to read part of the source
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
        """Run a query on this panel. Errors name the place in the source."""
        with self.guard():
            return self.engine.collect(frame)

    def batches(self) -> Generator[pa.RecordBatch]:
        """Stream user, time and value of all rows."""
        with self.guard():
            yield from self.engine.batches(self.frame)
