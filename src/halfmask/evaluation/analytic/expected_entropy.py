"""The expected entropy of a histogram of n errors, from the true probabilities of the cells.

With n errors in cells of probability p_j the counts are binomial, and the expected plug-in entropy is

    H_n(p) = log2 n - sum_j p_j E log2(K_j + 1),    K_j ~ Binomial(n - 1, p_j)
           = log2 n - sum_j p_j [phi(lambda_j) - chi(lambda_j) / n] + O(1/n^2),    lambda_j = n p_j

with phi(lambda) = E log2(K + 1) for K ~ Poisson(lambda), and chi = lambda phi' + lambda^2 phi'' / 2 for the step from
Poisson to binomial. A histogram of finitely many errors has less entropy than the law itself; the formula includes this
bias.

Its variance is the variance of the scores L(lambda_j) = d/dlambda (lambda phi) over the errors, plus an excess Var[K
log2 K] / lambda - L^2 for cells with few errors.

Functions of lambda are tabulated on knots 2^e (1 + m/64), so that an index can be read from the bits of a double.
"""

import numba
import numpy as np

from halfmask.arrays import FloatArray

KNOT_BITS = 6
LOWEST, HIGHEST = -40, 40  # octaves of lambda
_SHIFT = 52 - KNOT_BITS
_FIRST = (1023 + LOWEST) << KNOT_BITS
_FRACTION = 1.0 / (1 << _SHIFT)
LN2 = float(np.log(2))
_EXACT_BELOW = 2.0**10


def _knots() -> FloatArray:
    octave = np.repeat(np.exp2(np.arange(LOWEST, HIGHEST)), 1 << KNOT_BITS)
    return octave * np.tile(1 + np.arange(1 << KNOT_BITS) / (1 << KNOT_BITS), HIGHEST - LOWEST)


def _poisson_means(lam: FloatArray) -> FloatArray:
    """Return phi, phi', phi'' and Var[K log2 K] / lambda at each lambda: (4, lambdas).

    phi' = E log2((K+2)/(K+1)) and phi'' = E log2((K+3)(K+1)/(K+2)^2), because d/dlambda E f(K) = E f(K+1) - E f(K).
    """
    k = np.arange(int(lam.max() + 12 * np.sqrt(lam.max()) + 30) + 1, dtype=float)
    factorial = np.concatenate([[0.0], np.cumsum(np.log(k[1:]))])
    weight = np.exp(k * np.log(lam)[:, None] - lam[:, None] - factorial)
    weight /= weight.sum(axis=1, keepdims=True)
    f = k * np.log2(np.maximum(k, 1))
    means = weight @ np.stack([np.log2(k + 1), np.log1p(1 / (k + 1)) / LN2, np.log1p(-1 / (k + 2) ** 2) / LN2, f]).T
    spread = (weight * (f - means[:, 3:]) ** 2).sum(axis=1)
    return np.stack([*means[:, :3].T, spread / lam])


def _tables() -> dict[str, FloatArray]:
    lam = _knots()
    small = lam < _EXACT_BELOW
    octaves = lam[small].reshape(-1, 1 << KNOT_BITS)
    exact = np.concatenate([_poisson_means(octave) for octave in octaves], axis=1)
    inverse = 1 / lam[~small]
    # E ln(K+1) = ln lambda + 1/(2 lambda) + 1/(24 lambda^2) + ..., by expansion around K = lambda
    phi = np.concatenate([exact[0], np.log2(lam[~small]) + (inverse / 2 + inverse**2 / 24) / LN2])
    first = np.concatenate([exact[1], (inverse - inverse**2 / 2) / LN2])
    second = np.concatenate([exact[2], -(inverse**2 - inverse**3) / LN2])
    score = phi + lam * first
    return {
        "phi": phi,
        "chi": lam * first + lam**2 * second / 2,
        "score": score,
        "bend": 2 * lam * first + lam**2 * second,
        "excess": np.concatenate([exact[3] - score[small] ** 2, inverse / (2 * LN2**2)]),
    }


_KNOTS = np.concatenate([[0.0], _knots()])
TABLES = _tables()
PHI, CHI, SCORE, BEND, EXCESS = (TABLES[name] for name in ("phi", "chi", "score", "bend", "excess"))


@numba.njit(nogil=True, inline="always")
def address(bits):  # type: ignore[no-untyped-def]
    """Return the index of the last knot not above a positive double, and how far the double is towards the next knot.

    The latter is a fraction of the gap between the knots. The result is (-1, 0) below all knots. ``bits`` are those of
    the double.
    """
    index = (bits >> _SHIFT) - _FIRST
    if index < 0:
        return np.int64(-1), 0.0
    return index, (bits & ((1 << _SHIFT) - 1)) * _FRACTION


def lookup(table: FloatArray, lam: FloatArray) -> FloatArray:
    """Return a tabulated function at any lambda >= 0, by the linear interpolation that the compiled code uses."""
    return np.asarray(np.interp(lam, _KNOTS, np.concatenate([[0.0], table])))


def expected_entropy(probabilities: FloatArray, n: float, holds: FloatArray | float = 1.0) -> float:
    """Return H_n(p), in plain code as a reference for the compiled functions.

    ``holds`` is the number of equally likely bins in each cell.
    """
    p = np.asarray(probabilities, float)
    lam = n * p / holds
    return max(float(np.log2(n) - p @ (lookup(PHI, lam) - lookup(CHI, lam) / n)), 0.0)


@numba.njit(nogil=True, cache=True)
def expected_entropies(probabilities, n, holds):  # type: ignore[no-untyped-def]
    """Return H_n(p) for several n at once, in compiled code."""
    out = np.empty(n.size)
    lam = np.empty(1)
    bits = lam.view(np.int64)
    for a in range(n.size):
        total = 0.0
        for j in range(probabilities.size):
            lam[0] = n[a] * probabilities[j] / holds[j]
            k, f = address(bits[0])
            if k >= 0:
                phi = PHI[k] + f * (PHI[k + 1] - PHI[k])
                chi = CHI[k] + f * (CHI[k + 1] - CHI[k])
                total += probabilities[j] * (phi - chi / n[a])
        out[a] = max(np.log2(n[a]) - total, 0.0)
    return out


@numba.njit(nogil=True, cache=True)
def entropies_of_counts(counts, bins_held, n):  # type: ignore[no-untyped-def]
    """Return for each row r the expected plug-in entropy of n[r] errors, with ``counts[r, j]`` of them expected in cell
    j.

    A cell contains ``bins_held[j]`` histogram bins of equal probability; see `expected_entropy` for the formula.
    """
    lam, out = np.empty(counts.shape[1]), np.empty(len(counts))
    bits = lam.view(np.int64)
    for r in range(counts.shape[0]):
        if counts[r, 0] >= n[r] * (1 - 1e-12):  # all in one bin: no entropy, and no rounding of the tables either
            out[r] = 0.0
            continue
        total = 0.0
        for j in range(counts.shape[1]):
            lam[j] = max(counts[r, j], 0.0) / bins_held[j]
        for j in range(counts.shape[1]):
            k, f = address(bits[j])
            if k >= 0:
                phi = PHI[k] + f * (PHI[k + 1] - PHI[k])
                chi = CHI[k] + f * (CHI[k + 1] - CHI[k])
                total += counts[r, j] / n[r] * (phi - chi / n[r])
        out[r] = max(np.log2(n[r]) - total, 0.0)
    return out
