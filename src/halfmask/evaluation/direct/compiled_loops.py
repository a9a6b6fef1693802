"""The direct method's inner loops, compiled and without the interpreter's lock."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.metrics import GUARD

PeriodArray = NDArray[np.int32]


@njit(nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def measure_errors(
    masked: FloatArray, values: FloatArray, divisor: FloatArray, per_bin: float, counts: IntArray
) -> tuple[int, float, float, float, FloatArray]:
    """Return number, mean, sum of squares about the mean, and largest of the errors |m - s| / |divisor|, for divisors
    other than 0.

    Errors are counted in their bins in ``counts``. For errors beyond its end, the last result contains the numbers of
    their bins.
    """
    errors = np.empty(values.size)
    n, total, largest = 0, 0.0, 0.0
    for i in range(values.size):
        size = abs(divisor[i])
        if size > 0:
            error = abs(masked[i] - values[i]) / size
            errors[n] = error
            total += error
            largest = max(largest, error)
            n += 1
    mean = total / max(n, 1)
    beyond = np.empty(n if largest * per_bin + GUARD >= counts.size else 0)
    squares, far = 0.0, 0
    for i in range(n):
        distance = errors[i] - mean
        squares += distance * distance
        place = errors[i] * per_bin + GUARD
        if place < counts.size:
            counts[np.int64(place)] += 1
        else:
            beyond[far] = np.floor(place)
            far += 1
    return n, mean, squares, largest, beyond[:far].copy()


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def add_sums(masked: FloatArray, periods: PeriodArray, n: IntArray, total: FloatArray) -> None:
    """Add number and sum of the values of each period; readings of one period mostly follow one another."""
    i = 0
    while i < masked.size:
        t, start, run = periods[i], i, 0.0
        while i < masked.size and periods[i] == t:
            run += masked[i]
            i += 1
        n[t] += i - start
        total[t] += run


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def add_squares(masked: FloatArray, periods: PeriodArray, n: IntArray, total: FloatArray, squares: FloatArray) -> None:
    """Add number and sum of the values of each period, and squares of their distances from its mean.

    Squares are computed about the mean of each run of values, and merged as in `PeriodSums.add`.
    """
    i = 0
    while i < masked.size:
        t, start, run = periods[i], i, 0.0
        while i < masked.size and periods[i] == t:
            run += masked[i]
            i += 1
        count, own = i - start, 0.0
        for k in range(start, i):
            own += (masked[k] - run / count) ** 2
        if n[t] > 0:
            own += (run / count - total[t] / n[t]) ** 2 * (n[t] * count / (n[t] + count))
        n[t] += count
        total[t] += run
        squares[t] += own


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def add_extremes(masked: FloatArray, periods: PeriodArray, n: IntArray, least: FloatArray, largest: FloatArray) -> None:
    """Add the number of values of each period, and update its smallest and largest value."""
    for i in range(masked.size):
        t = periods[i]
        n[t] += 1
        least[t] = min(least[t], masked[i])
        largest[t] = max(largest[t], masked[i])


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def scatter_by_period(masked: FloatArray, periods: PeriodArray, place: IntArray, out: FloatArray) -> None:
    """Put each value at the next free place of its period."""
    for i in range(masked.size):
        out[place[periods[i]]] = masked[i]
        place[periods[i]] += 1


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def deal(
    users: IntArray, times: IntArray, values: FloatArray, place: IntArray, end: IntArray,
    all_times: IntArray, all_values: FloatArray,
) -> bool:  # fmt: skip
    """Put each reading at the next free place of its user; return False if a user has more readings than expected."""
    for i in range(values.size):
        at = place[users[i]]
        if at >= end[users[i]]:
            return False
        all_times[at] = times[i]
        all_values[at] = values[i]
        place[users[i]] = at + 1
    return True
