"""The difference between the objectives of two settings, with its interval.

Objectives are percentiles over samples, so the interval comes from resampling the samples. They are stratified by the
size of their subsets: of the n samples of each size, n - 1 are drawn with replacement (Rao and Wu's bootstrap, which is
unbiased for few samples), the same ones for both settings if both were measured on the same subsets.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.streams import stream

CHANCE = 0.05
"""How often an interval may miss the truth."""
DRAWS = 1000


@dataclass(frozen=True)
class ObjectiveDifference:
    """The objective of one setting less that of another; both ends are None if there are too few samples for them."""

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
    """perc(U, 50) + perc(U, 10) over the last axis."""
    return np.asarray(np.percentile(utility, (50, 10), axis=-1).sum(axis=0))


def difference(
    one: UtilitySamples, other: UtilitySamples, *, paired: bool, chance: float = CHANCE
) -> ObjectiveDifference:
    """The difference of two objectives and its interval, which misses the truth with this chance.

    ``paired`` says that the samples of both are of the same subsets, in the same order.
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
    """UtilitySamples of each size; all together if a size has one sample only."""
    found = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    return found if min(map(len, found)) > 1 else [np.arange(len(sizes))]


def _free(sizes: IntArray) -> int:
    """Degrees of freedom."""
    return len(sizes) - len(_strata(sizes))


def _drawn(sizes: IntArray, part: int) -> IntArray:
    """UtilitySamples drawn again: (draws, samples less one per stratum)."""
    rng = stream(0, "menus.difference", part)
    return np.concatenate([rows[rng.integers(len(rows), size=(DRAWS, len(rows) - 1))] for rows in _strata(sizes)], 1)
