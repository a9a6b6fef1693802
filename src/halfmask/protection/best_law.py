"""The noise law with the most privacy among all of one variance: a concave problem, solved with a certificate.

A law is the masses p of |psi| on pieces between logarithmic points, uniform on each. With w = 1/z the score is

    q(p) = a1 w1 m'p + a2 sqrt(w2 s'p - (w1 m'p)^2) + a3 [log2 n - sum_j P_j phi(n P_j / h_j)],    P = A p

with m, s the mean and mean square of |psi| on each piece, w1, w2 the means of w and w^2, and A the cross-correlation
of the noise's law with that of z (`evaluation.log_grid`). The first term is linear in p. The second is concave: its
hypograph is t^2 + (w1 m'p)^2 <= w2 s'p. The third is the expected entropy of a Poisson number of readings (less than
1/n bits from that of n of them), and lambda phi(lambda) = E K log2 K is convex in lambda. So q is concave, and for
every p its tangent bounds what any other law of the variance can reach: that bound is the certificate.

It breaks for noise that is not independent of the value, and bounds laws that are smooth on the scale of a piece.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from halfmask.arrays import FloatArray

FIRST_BARRIER, LAST_BARRIER, SHRINK = 1e-3, 1e-12, 0.3
MOST_STEPS = 200
TOLERANCE = 3e-8
"""Of the score. At 3e-6 pieces that the best law leaves empty still held some 1e-5, by which its bound was seen."""


class Product(Protocol):
    """A matrix that may be known by its products alone, where it is large."""

    def __matmul__(self, right: FloatArray, /) -> FloatArray: ...

    def __rmatmul__(self, left: FloatArray, /) -> FloatArray: ...

    def matrix(self) -> FloatArray: ...


@dataclass(frozen=True, eq=False)
class PrivacyScore:
    """q as a function of the masses p of K pieces, in the words of the module's formula.

    ``cells`` (M, K) is A, ``holds`` (M,) the entropy bins in each cell; ``mean`` and ``square`` (K,) are m and s;
    ``weights`` are a1, a2, a3, each already divided by its normaliser.
    """

    cells: FloatArray | Product
    holds: FloatArray
    readings: float
    mean: FloatArray
    square: FloatArray
    inverse: tuple[float, float]
    weights: tuple[float, float, float]

    def parts(self, p: FloatArray) -> tuple[float, float, float]:
        """Mean, standard deviation and entropy of the local error."""
        from halfmask.evaluation.analytic.expected_entropy import (  # here, because numba takes long to import
            PHI,
            lookup,
        )

        w1, w2 = self.inverse
        mean = w1 * float(self.mean @ p)
        share = self.cells @ p
        entropy = np.log2(self.readings) - share @ lookup(PHI, self.readings * share / self.holds)
        return mean, float(np.sqrt(max(w2 * float(self.square @ p) - mean**2, 1e-300))), max(float(entropy), 0.0)

    def value(self, p: FloatArray) -> float:
        """q(p)."""
        return float(np.dot(self.weights, self.parts(p)))

    def slope(self, p: FloatArray) -> FloatArray:
        """The gradient of q."""
        return self._slope(p)[0]

    def slope_and_bend(self, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The gradient of q, and minus its Hessian (positive semidefinite)."""
        from halfmask.evaluation.analytic.expected_entropy import BEND, lookup

        (_, a2, a3), w1 = self.weights, self.inverse[0]
        slope, of_std, std, share, lam = self._slope(p)
        cells = self.cells if isinstance(self.cells, np.ndarray) else self.cells.matrix()
        bend = a3 * (cells.T * (lookup(BEND, lam) / share)) @ cells
        bend += (a2 / std) * (np.outer(of_std, of_std) + w1**2 * np.outer(self.mean, self.mean))
        return slope, bend

    def _slope(self, p: FloatArray) -> tuple[FloatArray, FloatArray, float, FloatArray, FloatArray]:
        from halfmask.evaluation.analytic.expected_entropy import SCORE, lookup

        (a1, a2, a3), (w1, w2) = self.weights, self.inverse
        mean, std, _ = self.parts(p)
        share = np.maximum(self.cells @ p, 1e-300)
        lam = self.readings * share / self.holds
        of_std = (w2 * self.square - 2 * w1 * mean * self.mean) / (2 * std)
        slope = a1 * w1 * self.mean + a2 * of_std - a3 * (lookup(SCORE, lam) @ self.cells)
        return slope, of_std, std, share, lam

    def bound(self, p: FloatArray, variance: float) -> float:
        """What no law of the variance on these pieces exceeds: q is concave, so it lies below its tangent at ``p``."""
        slope = self.slope(p)
        return self.value(p) + max(_most(slope, self.square / variance) - float(slope @ p), 0.0)


@dataclass(frozen=True, eq=False)
class BestLaw:
    """The masses found, their privacy, and what no law of the variance on these pieces exceeds."""

    masses: FloatArray
    privacy: float
    upper_bound: float

    @property
    def gap(self) -> float:
        """Never below 0."""
        return self.upper_bound - self.privacy


def best_law(score: PrivacyScore, variance: float, tolerance: float = TOLERANCE) -> BestLaw:
    """Maximise q over the laws with E psi^2 = variance, until the certificate is within ``tolerance``, a share of q.

    A primal-dual interior-point method: Newton's steps towards masses p and prices r >= 0 of p >= 0 with p r = mu, for
    ever smaller mu. Wherever they lead, the certificate holds.
    """
    square = score.square / variance
    p = _spread_out(square)
    unit = score.value(p) or 1.0
    price, best = FIRST_BARRIER * unit / p, BestLaw(p, score.value(p), np.inf)
    rim = np.stack([np.ones_like(p), square])
    for _ in range(MOST_STEPS):
        slope, bend = score.slope_and_bend(p)
        here = score.value(p)
        gap = max(_most(slope, square) - float(slope @ p), 0.0)
        most, masses = (here, p) if here >= best.privacy else (best.privacy, best.masses)
        best = BestLaw(masses, most, max(min(best.upper_bound, here + gap), most))  # tables are right to some 1e-7
        mu = SHRINK * gap / len(p)
        if best.gap <= tolerance * unit or mu < LAST_BARRIER * unit:
            break
        step, _ = newton(p, slope, bend, rim, mu, p * price)
        dearer = mu / p - price - price * step / p
        p = p + inside(p, step) * step
        p, price = p / p.sum(), price + inside(price, dearer) * dearer
    return best


def newton(
    p: FloatArray, slope: FloatArray, bend: FloatArray, rim: FloatArray, mu: float, pull: FloatArray | float
) -> tuple[FloatArray, float]:
    """The step dp towards the top of a concave function + mu sum log p, with rim dp = 0, and its decrement.

    ``slope`` is the function's gradient and ``bend`` minus its Hessian; ``pull`` is what the barrier bends by, in units
    of p: mu itself, or p times the prices of p >= 0. The decrement is twice the gain that the quadratic model promises.
    In units x = dp / p the system is well scaled however small a mass gets.
    """
    count, sides = len(p), len(rim)
    system = np.zeros((count + sides, count + sides))
    system[:count, :count] = p[:, None] * bend * p
    system[np.arange(count), np.arange(count)] += pull
    system[count:, :count] = rim * p
    system[:count, count:] = (rim * p).T
    right = np.concatenate([p * slope + mu, np.zeros(sides)])
    x = np.linalg.solve(system, right)[:count]
    return p * x, float(x @ system[:count, :count] @ x)


def inside(p: FloatArray, step: FloatArray) -> float:
    """How much of the step leaves every number positive, at most all of it."""
    shrinking = float((step / p).min())
    return min(1.0, 0.95 / -shrinking) if shrinking < 0 else 1.0


def _spread_out(square: FloatArray) -> FloatArray:
    """Masses in proportion to exp(-tilt s), all positive, with the tilt that gives the variance."""
    from scipy.optimize import brentq  # here, because SciPy takes long to import

    def masses(tilt: float) -> FloatArray:
        weight = np.exp(np.clip(-tilt * (square - 1), -600, 600))
        return np.asarray(weight / weight.sum())

    return masses(float(brentq(lambda tilt: float(masses(tilt) @ square) - 1, -500 / square.max(), 500)))


def _most(slope: FloatArray, square: FloatArray) -> float:
    """max slope'q over laws q of the variance: a linear programme in two equalities, so two pieces share the mass."""
    low, high = np.flatnonzero(square <= 1), np.flatnonzero(square > 1)
    share = (1 - square[low][:, None]) / (square[high] - square[low][:, None])
    return float(((1 - share) * slope[low][:, None] + share * slope[high]).max())
