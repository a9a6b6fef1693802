"""The state of a sample while its readings are masked: its local errors, and the values of its periods.

Both are updated piece by piece. A period has running sums if the aggregate follows from them; otherwise all its values
are kept on disk.
"""

import threading
from typing import Protocol

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.aggregates import Aggregate, PeriodSums
from halfmask.evaluation.direct import compiled_loops
from halfmask.evaluation.direct.compiled_loops import PeriodArray
from halfmask.evaluation.direct.disk_array import disk_array
from halfmask.evaluation.metrics import WIDTH, Summary, entropy_of_counts

DENSE = 2**20
"""Number of bins counted in an array. Larger errors, from DENSE x 0.001 on, are rare; the numbers of
their bins are listed.
"""


class LocalState:
    """Errors so far: number, mean, sum of squares about the mean, and histogram.

    Means and squares are merged by the method of Chan, Golub and LeVeque, so that a small spread about a large mean is
    not lost.
    """

    def __init__(self) -> None:
        self.n = 0
        self.mean = 0.0
        self.squares = 0.0
        self.top = 0  # bins below this may be filled
        self.counts: IntArray = np.zeros(DENSE, np.int64)
        self.beyond: list[FloatArray] = []

    def add(self, masked: FloatArray, values: FloatArray, divisor: FloatArray) -> None:
        """Add the errors |m - s| / |divisor| of one piece, for divisors other than 0."""
        n, mean, squares, largest, beyond = compiled_loops.measure_errors(
            masked, values, divisor, 1 / WIDTH, self.counts
        )
        self._merge_moments(n, mean, squares)
        self.top = max(self.top, int(min(largest / WIDTH + 2, DENSE)))
        if len(beyond):
            self.beyond.append(beyond)

    def merge(self, other: "LocalState") -> "LocalState":
        """Return a new state with the errors of both."""
        both = LocalState()
        both.absorb(self)
        both.absorb(other)
        return both

    def absorb(self, other: "LocalState") -> None:
        """Add the errors of another state to this one, without a copy."""
        self._merge_moments(other.n, other.mean, other.squares)
        self.counts[: other.top] += other.counts[: other.top]
        self.top = max(self.top, other.top)
        self.beyond += other.beyond

    def _merge_moments(self, n: int, mean: float, squares: float) -> None:
        if not n:
            return
        total = self.n + n
        distance = mean - self.mean
        self.squares += squares + distance * distance * (self.n * n / total)
        self.mean += distance * (n / total)
        self.n = total

    def summary(self) -> Summary:
        """Return mean, standard deviation and entropy of all errors."""
        variance = self.squares / max(self.n, 1)
        std = float(np.sqrt(variance)) if np.isfinite(variance) else np.inf
        mean = self.mean if np.isfinite(self.mean) else np.inf
        far = np.unique(np.concatenate([*self.beyond, []]), return_counts=True)[1]
        return Summary(mean, std, entropy_of_counts(np.concatenate([self.counts[: self.top], far])))


class Periods(Protocol):
    """Collects the masked values of pieces of readings."""

    def add(self, masked: FloatArray, periods: PeriodArray) -> None:
        """Add one piece."""


class RunningPeriods:
    """Sums or extremes of each period, as the aggregate needs them."""

    def __init__(self, aggregate: Aggregate, periods: int) -> None:
        self.aggregate = aggregate
        self.sums = PeriodSums.empty(periods)

    def add(self, masked: FloatArray, periods: PeriodArray) -> None:
        """Add one piece."""
        sums = self.sums
        if self.aggregate.name in ("max", "min"):
            compiled_loops.add_extremes(masked, periods, sums.n, sums.least, sums.largest)
        elif self.aggregate.name == "variance":
            compiled_loops.add_squares(masked, periods, sums.n, sums.total, sums.squares)
        else:
            compiled_loops.add_sums(masked, periods, sums.n, sums.total)


class GatheredPeriods:
    """All masked values of a sample, by period, in a file without a name; threads may add values at the same time.

    Values are sorted before they are aggregated, so that the result does not depend on the order of threads.
    """

    def __init__(self, aggregate: Aggregate, readings: IntArray, folder: str | None) -> None:
        self.aggregate = aggregate
        self.ends = np.cumsum(readings)
        self.starts = self.ends - readings
        self._next = self.starts.copy()
        self._lock = threading.Lock()
        self._values = disk_array(int(readings.sum()), np.float64, folder)

    def add(self, masked: FloatArray, periods: PeriodArray) -> None:
        """Add one piece: reserve its places, then fill them."""
        booked = np.bincount(periods, minlength=len(self._next))
        with self._lock:
            place = self._next.copy()
            self._next += booked
        compiled_loops.scatter_by_period(masked, periods, place, self._values)

    def values(self) -> FloatArray:
        """Return the aggregate of each period; NaN without a reading."""
        function = self.aggregate.function
        result = np.full(len(self.starts), np.nan)
        for t in np.flatnonzero(self.ends > self.starts):
            if function is not None:
                result[t] = function(np.sort(self._values[self.starts[t] : self.ends[t]]))
        return result
