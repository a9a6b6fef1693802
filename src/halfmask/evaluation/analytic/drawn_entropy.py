"""The entropy of local errors that are drawn, if the closed form on the logarithmic grid is not exact enough.

A subset's readings are put into the bins of its profile. Each gets a noise, and the errors go into a histogram.
That holds for any noise and readings. It is used for

    noise on a lattice     its errors K h / z fall on few fractions, which cells of a grid do not separate
    few readings           the entropy of a short histogram does not scatter normally

Of a subset with more errors than `most_drawn` only this number is drawn. A histogram of fewer errors shows less
entropy. How it grows with their number is known from the histogram itself, and extends it to all errors.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.analytic.denominators import Denominators
from halfmask.evaluation.analytic.error_summaries import product_entropies
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.mechanism import Mechanism
from halfmask.streams import stream

SHORT = 256
"""Readings of a subset whose entropy is always drawn."""
LEAST, MOST = 2**16, 2**18
"""The fewest and the most readings that are drawn of a subset with enough of them."""
WORK = 2**31
"""Draws of all settings and subsets together, above which fewer than `MOST` are drawn of each."""
AT_ONCE = 16
NOISES = 2**19
"""Noises that are drawn of a setting. Subsets take theirs from them, one after the other, and round again."""


def drawn_subsets(z: Denominators, law: Mechanism, setting: FloatArray) -> IntArray:
    """Which subsets' entropies are drawn: all under noise on a lattice, else those of few readings."""
    if law.lattice(tuple(setting.tolist())) is not None:
        return np.arange(len(z.n))
    return np.flatnonzero(z.n * (1 - z.zero) <= SHORT)


def most_drawn(settings: int, subsets: int) -> int:
    """The most readings that are drawn of a subset."""
    return int(np.clip(WORK // max(settings * subsets, 1), LEAST, MOST))


def drawn_entropies(
    z: Denominators, which: IntArray, subsets: Sequence[Subset], law: Mechanism, parameters: FloatArray, seed: int,
    most: int,
) -> FloatArray:  # fmt: skip
    """Entropy (settings, which) of these subsets, of whose errors at most ``most`` are drawn.

    All settings have the same chances.
    """
    count = np.minimum(np.rint(z.n[which]), most).astype(np.int64)
    start, noises = np.cumsum(count) - count, min(int(count.sum()), NOISES)
    out = np.empty((len(parameters), len(which)))

    def one(k: int) -> None:
        subset = subsets[which[k]]
        rng = stream(seed, "evaluation.drawn", subset.size, subset.repeat)
        inverse = drawn_inverses(z, int(which[k]), int(count[k]), rng)
        out[rows, k] = product_entropies(noise, int(start[k] % noises), inverse, z.n[which[k]])

    with ThreadPoolExecutor(2) as pool:
        for first in range(0, len(parameters), AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            chances = (stream(seed, "evaluation.drawn-noise") for _ in parameters[rows])
            drawn = (law.sample(setting, noises, rng) for setting, rng in zip(parameters[rows], chances, strict=True))
            noise = np.abs(list(drawn))
            list(pool.map(one, range(len(which))))
    return out


def drawn_inverses(z: Denominators, subset: int, count: int, rng: np.random.Generator) -> FloatArray:
    """1/z of ``count`` errors of a subset, in random order; 0 for those that are 0 whatever the noise.

    Readings are as many as they are in each bin of the profile, and drawn from the values that the bin may hold.
    """
    place, values, weight = z.values
    zeros = round(float(z.zero[subset]) * count)
    below = np.cumsum(z.share[subset, place] * weight)
    even = (np.arange(count - zeros) + rng.random(count - zeros)) / (count - zeros) * below[-1]
    inverse = np.append(1 / values[np.minimum(np.searchsorted(below, even), len(values) - 1)], np.zeros(zeros))
    rng.shuffle(inverse)
    return inverse
