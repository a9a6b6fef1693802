"""The number of draws from which a sum of noise is treated as normal; smaller sums are exact or drawn.

The kurtosis of a sum of n draws differs from the normal law's by (kurtosis - 3) / n, and its mean size by a 24th of
that. Noise that is almost always near 0 has a kurtosis of hundreds: noise on a lattice coarser than itself, or a
staircase of large epsilon. In a sum over many readings, only one or two of its draws then matter.
"""

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.mechanism import Mechanism

LEAST = 64
PER_KURTOSIS = 16
MOST_DRAWN = 4096
"""Largest number of readings of a period that are drawn one by one; larger sums are treated as normal."""


def enough(moments: FloatArray) -> FloatArray:
    """Return how many draws have a normal sum, for each setting with these moments (settings, 4)."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        kurtosis = moments[:, 3] / moments[:, 1] ** 2
    return np.maximum(LEAST, PER_KURTOSIS * np.nan_to_num(kurtosis, nan=0.0, posinf=np.inf))


def sums_of_few(
    law: Mechanism, parameters: FloatArray, n: FloatArray, least: float, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Return the indices of numbers n below ``least``, and for each a sum of n draws of one setting.

    If the mechanism has no exact sums, numbers from `MOST_DRAWN` on are left out.
    """
    few = np.flatnonzero((n > 0) & (n < least))
    exact = law.sample_sum(parameters, n[few].astype(np.int64), rng) if len(few) else np.zeros(0)
    if exact is not None:
        return few, exact
    few = np.flatnonzero((n > 0) & (n < min(least, MOST_DRAWN)))
    counts = n[few].astype(np.int64)
    noises = law.sample(parameters, int(counts.sum()), rng)
    return few, np.add.reduceat(noises, np.cumsum(counts) - counts) if len(few) else np.zeros(0)
