"""The difference between the objectives of two settings, with its confidence interval.

Objectives are percentiles over samples, so the interval comes from resampling the samples, within each size of subset.
Of the n samples of a size, n - 1 are drawn with replacement (Rao and Wu's bootstrap, which is unbiased for few
samples). If both settings were measured on the same subsets, both use the same draws.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.streams import stream

CHANCE = 0.05
"""Probability that an interval misses the true difference."""
DRAWS = 1000


@dataclass(frozen=True)
class ObjectiveDifference:
    """One setting's objective minus another's; ``low`` and ``high`` are None if there are too few samples."""

    value: float
    low: float | None
    high: float | None

    @property
    def sign(self) -> int:
        """1 or -1 if the interval excludes 0, else 0."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > 0) - int(self.high < 0)

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:+.4f}"
        return f"{self.value:+.4f} ({self.low:+.4f} to {self.high:+.4f})"


@dataclass(frozen=True, eq=False)
class UtilitySamples:
    """Utility of one setting on each sample, and the size of each sample's subset."""

    utility: FloatArray
    sizes: IntArray


def objective(utility: FloatArray) -> FloatArray:
    """Return perc(U, 50) + perc(U, 10) over the last axis."""
    return np.asarray(np.percentile(utility, (50, 10), axis=-1).sum(axis=0))


def difference(
    one: UtilitySamples, other: UtilitySamples, *, paired: bool, chance: float = CHANCE
) -> ObjectiveDifference:
    """Return the difference of two objectives, with an interval that misses the truth with probability ``chance``.

    ``paired`` says that both were measured on the same subsets, in the same order.
    """
    from scipy.special import stdtrit  # here, because SciPy takes long to import

    value = float(objective(one.utility) - objective(other.utility))
    free = min(_free(one.sizes), _free(other.sizes))
    if free < 1:
        return ObjectiveDifference(value, None, None)
    drawn = _drawn(one.sizes, 0)
    again = drawn if paired else _drawn(other.sizes, 1)
    error = (
        np.std(objective(one.utility[drawn]) - objective(other.utility[again]))
        if paired
        else np.hypot(np.std(objective(one.utility[drawn])), np.std(objective(other.utility[again])))
    )
    reach = float(stdtrit(free, 1 - chance / 2) * error)
    return ObjectiveDifference(value, value - reach, value + reach)


def _strata(sizes: IntArray) -> list[IntArray]:
    """Return the indices of the samples of each size; all indices together if a size has only one sample."""
    found = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    return found if min(map(len, found)) > 1 else [np.arange(len(sizes))]


def _free(sizes: IntArray) -> int:
    """Return the degrees of freedom: number of samples minus number of strata."""
    return len(sizes) - len(_strata(sizes))


def _drawn(sizes: IntArray, part: int) -> IntArray:
    """Return the indices of resampled samples, (draws, samples minus one per stratum).

    Samples are drawn with replacement within their stratum.
    """
    rng = stream(0, "menus.difference", part)
    return np.concatenate([rows[rng.integers(len(rows), size=(DRAWS, len(rows) - 1))] for rows in _strata(sizes)], 1)
