"""Moments of a geometric number of steps, for the geometric and the staircase mechanism."""

import numpy as np

from halfmask.arrays import FloatArray

STIRLING = ((1,), (1, 1), (1, 3, 1), (1, 7, 6, 1))  # Stirling numbers of the second kind: powers in falling factorials
FACTORIAL = (1, 2, 6, 24)


def geometric_moments(mean: FloatArray, step: FloatArray) -> FloatArray:
    """Return the moments E(step G)^k for k = 1..4, shape (S, 4), of a geometric number G with E[step G] = ``mean``.

    E G(G-1)...(G-j+1) = j! (E G)^j, so E(step G)^k = sum_j S(k, j) j! mean^j step^(k-j) with Stirling numbers S(k, j).
    Products are computed factor by factor, so that they overflow to inf and never to NaN.
    """
    result = np.zeros((len(mean), 4))
    with np.errstate(over="ignore"):
        for k in range(1, 5):
            for j in range(1, k + 1):
                term = np.full(len(mean), float(STIRLING[k - 1][j - 1] * FACTORIAL[j - 1]))
                for factor in (mean,) * j + (step,) * (k - j):
                    term = term * factor
                result[:, k - 1] += term
    return result
