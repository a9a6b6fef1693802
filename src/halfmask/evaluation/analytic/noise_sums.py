"""From how many draws on a sum of noise is normal; sums of fewer are exact, or drawn.

The kurtosis of a sum of n draws differs from the normal law's by (kurtosis - 3) / n, its mean size by a 24th of that.
Noise that is nearly always next to 0 (a lattice coarser than the noise, a staircase of large epsilon) has a kurtosis of
hundreds, so that many readings share in a sum of which only one or two are felt.
"""

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.mechanism import Mechanism

LEAST = 64
PER_KURTOSIS = 16
MOST_DRAWN = 4096
"""Readings of a period that are drawn one by one at the most: beyond them a sum is normal, whatever its kurtosis."""


def enough(moments: FloatArray) -> FloatArray:
    """How many draws have a normal sum, for each setting with these moments (settings, 4)."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        kurtosis = moments[:, 3] / moments[:, 1] ** 2
    return np.maximum(LEAST, PER_KURTOSIS * np.nan_to_num(kurtosis, nan=0.0, posinf=np.inf))


def sums_of_few(
    law: Mechanism, parameters: FloatArray, n: FloatArray, least: float, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Which of the numbers n are below ``least``, and for each the sum of n draws of one setting.

    Unless an exact sum is known, those above `MOST_DRAWN` are left out.
    """
    few = np.flatnonzero((n > 0) & (n < least))
    exact = law.sample_sum(parameters, n[few].astype(np.int64), rng) if len(few) else np.zeros(0)
    if exact is not None:
        return few, exact
    few = np.flatnonzero((n > 0) & (n < min(least, MOST_DRAWN)))
    counts = n[few].astype(np.int64)
    noises = law.sample(parameters, int(counts.sum()), rng)
    return few, np.add.reduceat(noises, np.cumsum(counts) - counts) if len(few) else np.zeros(0)
