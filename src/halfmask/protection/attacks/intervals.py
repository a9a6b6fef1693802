"""95 % intervals of what attacks achieve, over the users that were attacked.

Users are independent; several tries on one user are not, so that each user counts once, with the mean of its tries.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray

Z = 1.959963984540054
"""The 97.5th percentile of the standard normal law."""


@dataclass(frozen=True)
class IntervalEstimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


def share(of_users: FloatArray) -> IntervalEstimate:
    """Return the mean of users' shares, each 0 to 1, with Wilson's interval.

    Its number of tries is the n for which p (1 - p)/n is the squared standard error of the mean. If each user has one
    try, that is the number of users.
    """
    p, users = float(np.mean(of_users)), len(of_users)
    variance = float(np.var(of_users))
    n = users * max(p * (1 - p) / variance, 1.0) if variance > 0 else float(users)
    middle, half = p + Z**2 / (2 * n), Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    low, high = (middle - half) / (1 + Z**2 / n), (middle + half) / (1 + Z**2 / n)
    return IntervalEstimate(p, min(max(float(low), 0.0), p), max(min(float(high), 1.0), p))


def median(of_users: FloatArray) -> IntervalEstimate:
    """Return the median of users with the interval between two order statistics.

    P(X_(k+1) <= median <= X_(n-k)) = 1 - 2 P(Bin(n, 1/2) <= k), with the largest k for which this is 95 % or more.
    With fewer than 6 users it is the whole range, which holds the median less often.
    """
    from scipy.special import bdtr  # here, because SciPy takes long to import

    ordered, n = np.sort(of_users), len(of_users)
    k = int(np.sum(bdtr(np.arange(n), n, 0.5) <= 0.025)) - 1
    at = max(k, 0)
    return IntervalEstimate(float(np.median(ordered)), float(ordered[at]), float(ordered[n - 1 - at]))


def no_difference(masked: FloatArray, unmasked: FloatArray) -> bool:
    """Return whether the 95 % interval of the mean paired difference of users' shares includes 0.

    Four half pairs (+1, -1, 0, 0) are added (Agresti and Min), so that the interval holds for few users and for shares
    near 0 and 1 too.
    """
    gap = np.concatenate([masked - unmasked, [1.0, -1.0, 0.0, 0.0]])
    weight = np.concatenate([np.ones(len(masked)), np.full(4, 0.5)])
    total = weight.sum()
    mean = float(weight @ gap) / total
    error = np.sqrt(max(float(weight @ gap**2) / total - mean**2, 0.0) / total)
    return bool(abs(mean) <= Z * error)
