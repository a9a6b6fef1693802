"""The entropy of drawn local errors, for cases in which the closed form on the logarithmic grid is not exact enough.

Readings are drawn from the bins of a subset's profile. Each gets a noise, and the errors are put into a histogram. This
is valid for any noise and readings. It is used for

    noise on a lattice     errors |noise| / z take few values, which the cells of a grid do not separate
    few readings           the entropy of a short histogram is not normally distributed

If a subset has more errors than `most_drawn`, only that number is drawn. A histogram of fewer errors has less entropy.
Its growth with the number of errors is estimated from the histogram itself, and extrapolated to all errors.
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
"""Subsets with at most this many readings always have their entropy drawn."""
LEAST, MOST = 2**16, 2**18
"""Least and largest limit on the readings drawn for one subset."""
WORK = 2**31
"""Number of draws for all settings and subsets together above which fewer than `MOST` are drawn for each."""
AT_ONCE = 16
NOISES = 2**19
"""Number of noises drawn for a setting. Subsets use them one after the other, starting again at the end."""


def drawn_subsets(z: Denominators, law: Mechanism, setting: FloatArray) -> IntArray:
    """Return the subsets whose entropies are drawn.

    These are all for noise on a lattice, and for readings that all have one size, whose errors have the edges of a
    bounded law; otherwise those with few readings.
    """
    one_size = z.values is None and len(z.size) == 1
    if one_size or law.lattice(tuple(setting.tolist())) is not None:
        return np.arange(len(z.n))
    return np.flatnonzero(z.n * (1 - z.zero) <= SHORT)


def most_drawn(settings: int, subsets: int) -> int:
    """Return the largest number of readings drawn for a subset."""
    return int(np.clip(WORK // max(settings * subsets, 1), LEAST, MOST))


def drawn_entropies(
    z: Denominators, which: IntArray, subsets: Sequence[Subset], law: Mechanism, parameters: FloatArray, seed: int,
    most: int,
) -> FloatArray:  # fmt: skip
    """Return the entropies (settings, which) of these subsets, with at most ``most`` errors drawn for each.

    All settings use the same random numbers.
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
    """Return 1/z of ``count`` errors of a subset in random order; 0 for errors that are 0 for any noise.

    The number of readings in each bin follows the profile; values are drawn from those possible in the bin.
    """
    values, share = z.law(z.share[subset], z.steps[subset])
    zeros = round(float(z.zero[subset]) * count)
    below = np.cumsum(share)
    even = (np.arange(count - zeros) + rng.random(count - zeros)) / (count - zeros) * below[-1]
    inverse = np.append(1 / values[np.minimum(np.searchsorted(below, even), len(values) - 1)], np.zeros(zeros))
    rng.shuffle(inverse)
    return inverse
