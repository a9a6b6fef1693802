"""A panel: readings of many users over time as one lazy frame, wherever they are stored."""

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
"""Streams user, time and value, or fails on the first that is not written as the first rows are."""


@dataclass(frozen=True)
class Guess:
    """One conclusion about a source, the evidence for it, and the option that overrules it.

    ``sure``: whether a name or a proof shows it. If not, it was the only choice left, and the readings are checked.
    """

    what: str
    choice: str
    evidence: str
    option: str
    sure: bool = True


class Engine(ABC):
    """What a panel needs from the engine under its frame, in addition to Narwhals' expressions."""

    name: str

    @abstractmethod
    def table(self, rows: pa.Table) -> nw.LazyFrame[Any]:
        """Bring a small Arrow table to the engine, so that it can be joined."""

    @abstractmethod
    def collect(self, frame: nw.LazyFrame[Any]) -> pa.Table:
        """Run a query whose result fits into memory."""

    @abstractmethod
    def misread(self, error: Exception) -> bool:
        """Return whether a query failed because a reading could not be read, and for no other reason."""

    @abstractmethod
    def keep(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """Run a query now and keep its result on the engine for later queries."""

    @abstractmethod
    def map_users(
        self, frame: nw.LazyFrame[Any], groups: int, work: Callable[[Iterator[pa.RecordBatch]], T]
    ) -> Iterator[T]:
        """Return the results of ``work`` for each group of users; all rows of a user are in one group.

        ``groups`` is the number of groups. If it is 1, Spark chooses as many as suit the number of rows.
        """

    @abstractmethod
    def batches(self, frame: nw.LazyFrame[Any]) -> Generator[pa.RecordBatch]:
        """Run a query and stream its result, which is never in memory as a whole."""


@dataclass(frozen=True)
class Panel:
    """Readings as a lazy frame of three columns, and what was assumed to read them.

    The columns of ``frame``:

    ``user``   string or integer; null if the source does not name one
    ``time``   Int64, microseconds of local wall-clock time since 1970-01-01T00:00; null if unknown
    ``value``  Float64; null, NaN and infinities are not removed

    The other fields:

    ``ordered``   the frame with a column ``order`` (Int64) that grows in the order of the source; it costs more, and
                  serves only to find the first and the last of duplicates
    ``unit``      the unit of the values, if it is known
    ``quantity``  what the values measure if they do not add up, such as temperatures (`averaged_quantities`)
    ``register``  whether values were the states of a register; None if nobody said
    ``losses``    of a register: counts the states that gave no reading, by reason
    ``guesses``   what was concluded about the source, and why
    ``notes``     conclusions that are worth a line every time
    ``quick``     streams the frame by a faster reader, which fails on what is not written like the first rows; its
                  numbers count only if it reaches the end; None if there is no such reader
    ``guard``     wraps every query: it turns an engine's failure into an error that names file and row
    ``queries``   read a part of the source
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
