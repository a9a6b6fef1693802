"""The values that readings may have in the bins of a profile, and how likely each is.

A profile keeps no readings, but for each user the number in each bin, and the number by the coarsest step of which they
are multiples (`halfmask.profiles.rounding`). A reading of a bin is a multiple of such a step, or lies anywhere.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray
from halfmask.profiles.bins import bin_of, edge
from halfmask.profiles.profile import Profile
from halfmask.profiles.quality import typical_sizes
from halfmask.profiles.rounding import HIGHEST, LOWEST, coarsest_steps, step_sizes

LEAST = 0.01  # share of readings on steps, below which none is believed in
ROUNDS = 30
ALIKE = 1e-9  # excess of the mean of 1/|s| within bins below which their readings are all equal
NEWTON, STEEPEST = 12, 50.0  # steps and bounds of the search for a tilt
PARTS = 64  # of a bin, for readings that lie anywhere in it


@dataclass(frozen=True)
class ReadingValues:
    """Possible values of readings.

    ``place``   index of the bin
    ``size``    the value
    ``weight``  how likely it is, compared with others of its bin and step
    ``step``    index of the coarsest step of which it is a multiple
    """

    place: IntArray
    size: FloatArray
    weight: FloatArray
    step: IntArray

    def probabilities(self, bins: FloatArray, steps: FloatArray) -> FloatArray:
        """Return the probability of each value, if bins and steps have these probabilities.

        It is a weight times one factor of the bin and one of the step, found by iterative proportional fitting.
        """
        key = self.place * len(steps) + self.step
        table = np.bincount(key, self.weight, len(bins) * len(steps)).reshape(len(bins), len(steps))
        of_bin = np.ones(len(bins))
        for _ in range(ROUNDS if len(steps) > 1 else 1):
            of_step = _ratio(steps, of_bin @ table)
            of_bin = _ratio(bins, table @ of_step)
        return np.asarray(self.weight * of_bin[self.place] * of_step[self.step])


def anywhere(bins: IntArray, step: int = 0) -> ReadingValues:
    """Return the centres of `PARTS` parts of each bin, which are as likely as they are wide."""
    edges = edge(bins[:, None] + np.arange(0, PARTS + 0.5, 0.5) / PARTS)
    width, place = np.diff(edges[:, ::2]), np.repeat(np.arange(len(bins)), PARTS)
    return ReadingValues(place, edges[:, 1::2].ravel(), width.ravel(), np.full(len(place), step))


def multiples(bins: IntArray, step: float | None) -> ReadingValues:
    """Return the multiples of a step in each bin, all equally likely.

    Bins without a multiple, and with very large ones, have values anywhere.
    """
    if step is None:
        return anywhere(bins)
    points = np.arange(1, HIGHEST, dtype=float) * step
    return _together(bins, points, np.zeros(len(points), np.int64), 0, edge(bins + 1) > HIGHEST * step)


def reading_values(profile: Profile) -> tuple[ReadingValues | None, FloatArray]:
    """Return the possible values of readings in the bins of a profile, and the number of each row's readings by step.

    The last step stands for readings anywhere. There are no values if the readings within each bin are all equal.
    """
    bins, size, counts = profile.bin_index, typical_sizes(profile), profile.bin_counts
    steps, place = np.unique(profile.rounded.bin, return_inverse=True)
    table = np.zeros((len(profile), len(steps) + 1))
    table[profile.rounded.row, place] = profile.rounded.count
    table[:, -1] = (profile.rows["readings"] - profile.rows["zeros"]) - table.sum(axis=1)
    if float(profile.rows["inverse1"].sum()) < (1 + ALIKE) * float((counts / size).sum()):
        return None, table
    if table[:, :-1].sum() < LEAST * table.sum():
        return anywhere(bins), table.sum(axis=1, keepdims=True)
    fourth = np.arange(steps[0] // 3 - 3, steps[-1] // 3 + 1)[:, None]
    whole = np.arange(LOWEST, HIGHEST)
    step = 3 * fourth + coarsest_steps()[whole]
    points = whole * (10.0**fourth * step_sizes(profile.grain or 1.0)[0])
    held = np.isin(step, steps)
    everywhere = np.full(len(bins), bool(table[:, -1].any()))
    values = _together(bins, points[held], np.searchsorted(steps, step[held]), len(steps), everywhere)
    even = values.probabilities(counts / counts.sum(), table.sum(axis=0) / table.sum())
    even = with_means(values.place, values.size, even, size)
    return ReadingValues(values.place, values.size, even, values.step), table


def reading_step(profile: Profile) -> float | None:
    """Return the largest step of which all readings are multiples; None if there is none.

    Readings of more than four digits count as multiples.
    """
    steps = np.unique(profile.rounded.bin)
    if not len(steps):
        return None
    finest = step_sizes(profile.grain or 1.0)[3 * (steps[0] // 3)]
    long = profile.bin_counts[edge(profile.bin_index + 1) > HIGHEST * finest].sum()
    if profile.bin_counts.sum() - profile.rounded.count.sum() > long:
        return None
    times = np.rint(step_sizes(1.0)[steps] / step_sizes(1.0)[3 * (steps[0] // 3)])
    return float(np.gcd.reduce(times.astype(np.int64)) * finest)


def with_means(place: IntArray, values: FloatArray, weight: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the shares of values in their bins, changed so that each bin has its ``mean``.

    Shares become weight exp(t (value - mean)), the law nearest to ``weight`` with this mean; t of each bin is found by
    Newton's method.
    """
    apart = values / mean[place] - 1
    width = np.full(len(mean), 1e-12)
    np.maximum.at(width, place, np.abs(apart))
    apart = apart / width[place]
    tilt = np.zeros(len(mean))
    for _ in range(NEWTON):
        tilted = weight * np.exp(tilt[place] * apart)
        tilted /= np.bincount(place, tilted, len(mean))[place]
        first, second = (np.bincount(place, tilted * apart**power, len(mean)) for power in (1, 2))
        tilt = np.clip(tilt - first / np.maximum(second - first**2, 1e-6), -STEEPEST, STEEPEST)
    return np.asarray(tilted)


def _together(
    bins: IntArray, points: FloatArray, step: IntArray, free: int, everywhere: npt.NDArray[np.bool_]
) -> ReadingValues:
    """Return the points that lie in a bin; and values anywhere, of the step ``free``, in bins without a point and those
    of ``everywhere``.
    """
    own = bin_of(points)
    place = np.minimum(np.searchsorted(bins, own), len(bins) - 1)
    inside = bins[place] == own
    place, points, step = place[inside], points[inside], step[inside]
    open_bins = np.flatnonzero(everywhere | (np.bincount(place, minlength=len(bins)) == 0))
    rest = anywhere(bins[open_bins], free)
    return ReadingValues(
        np.append(place, open_bins[rest.place]),
        np.append(points, rest.size),
        np.append(np.ones(len(points)), rest.weight),
        np.append(step, rest.step),
    )


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.divide(top, bottom, out=np.zeros(len(top)), where=bottom > 0)
