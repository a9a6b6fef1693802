"""What becomes of a period's masked values: running sums if these give the aggregate, else a place on disk."""

import threading
from typing import Protocol

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.aggregates import Aggregate, PeriodSums
from halfmask.evaluation.direct import kernel
from halfmask.evaluation.direct.kernel import PeriodArray
from halfmask.evaluation.direct.store import Room


class Periods(Protocol):
    """Takes in the masked values of pieces of readings."""

    def add(self, masked: FloatArray, periods: PeriodArray) -> None:
        """Take in one piece."""


class RunningPeriods:
    """Sums or extremes of each period, whichever the aggregate needs."""

    def __init__(self, aggregate: Aggregate, periods: int) -> None:
        self.aggregate = aggregate
        self.sums = PeriodSums.empty(periods)

    def add(self, masked: FloatArray, periods: PeriodArray) -> None:
        """Take in one piece."""
        sums = self.sums
        if self.aggregate.name in ("max", "min"):
            kernel.add_extremes(masked, periods, sums.n, sums.least, sums.largest)
        elif self.aggregate.name == "variance":
            kernel.add_squares(masked, periods, sums.n, sums.total, sums.squares)
        else:
            kernel.add_sums(masked, periods, sums.n, sums.total)


class GatheredPeriods:
    """All masked values of a sample, laid out by period in a file without a name; threads may add at once.

    Values are sorted before a function sees them, so that the outcome does not depend on who came first.
    """

    def __init__(self, aggregate: Aggregate, readings: IntArray, folder: str | None) -> None:
        self.aggregate = aggregate
        self.ends = np.cumsum(readings)
        self.starts = self.ends - readings
        self._next = self.starts.copy()
        self._lock = threading.Lock()
        self._room = Room(folder)
        self._values = self._room.array(int(readings.sum()), np.float64)

    def add(self, masked: FloatArray, periods: PeriodArray) -> None:
        """Take in one piece: book its places first, then fill them."""
        booked = np.bincount(periods, minlength=len(self._next))
        with self._lock:
            place = self._next.copy()
            self._next += booked
        kernel.scatter(masked, periods, place, self._values)

    def values(self) -> FloatArray:
        """The aggregate of each period; NaN without a reading."""
        function = self.aggregate.function
        result = np.full(len(self.starts), np.nan)
        for t in np.flatnonzero(self.ends > self.starts):
            if function is not None:
                result[t] = function(np.sort(self._values[self.starts[t] : self.ends[t]]))
        return result
