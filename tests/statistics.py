"""One false-alarm rate for all statistical tests, and tests that keep to it exactly.

``FALSE_ALARM`` is the chance that a whole suite of right code fails, were its seeds drawn anew. A suite of ``tests``
tests gives each its equal share (Bonferroni). The bounds below hold for every sample size and every distribution,
atoms included, so a passing share is a promise and not an approximation (but where a docstring says otherwise).
Every user of these helpers also shows that a deliberately wrong answer is rejected.
"""

import math
from collections.abc import Callable

import numpy as np

from halfmask.arrays import FloatArray

FALSE_ALARM = 1e-6


def share(tests: int) -> float:
    """The false-alarm rate of one test among ``tests``."""
    return FALSE_ALARM / tests


def ks_distance(sample: FloatArray, cdf: Callable[[FloatArray], FloatArray]) -> float:
    """sup |F_n - F| over a sample of values >= 0; F's left limits are taken 1e-9 below a value, so atoms may be."""
    values, counts = np.unique(sample, return_counts=True)
    upper = np.cumsum(counts) / sample.size
    lower = upper - counts / sample.size
    left = np.where(values > 0, values * (1 - 1e-9), -1.0)
    return float(max(np.max(upper - cdf(values)), np.max(cdf(left) - lower)))


def ks_one_sample(sample: FloatArray, cdf: Callable[[FloatArray], FloatArray], tests: int) -> bool:
    """Whether the sample can be of that law: P(sup |F_n - F| > e) <= 2 exp(-2 n e^2) (Dvoretzky-Kiefer-Wolfowitz)."""
    return ks_distance(sample, cdf) <= math.sqrt(math.log(2 / share(tests)) / (2 * sample.size))


def ks_two_sample(one: FloatArray, other: FloatArray, tests: int) -> bool:
    """Whether both samples can be of one law; Bonferroni of two one-sample bounds around the common F."""
    both = np.concatenate([one, other])
    ranks = [np.searchsorted(np.sort(each), both, side="right") / each.size for each in (one, other)]
    bound = sum(math.sqrt(math.log(4 / share(tests)) / (2 * each.size)) for each in (one, other))
    return float(np.max(np.abs(ranks[0] - ranks[1]))) <= bound


def fair_coin(heads: int, tosses: int, tests: int) -> bool:
    """Whether so many heads can come from a fair coin (Hoeffding)."""
    return abs(heads - tosses / 2) <= math.sqrt(tosses * math.log(2 / share(tests)) / 2)


def mean_within(sample: FloatArray, mean: float, tests: int) -> bool:
    """Whether the sample's mean can be ``mean``, by its own standard error; needs n large enough to be normal."""
    bound = math.sqrt(2 * math.log(2 / share(tests)))  # above the normal quantile of that level
    return abs(float(np.mean(sample)) - mean) <= bound * float(np.std(sample, ddof=1)) / math.sqrt(sample.size)
