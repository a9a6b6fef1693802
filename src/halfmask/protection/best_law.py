"""The noise law with the most privacy among all laws of one variance: a concave problem, solved with a certificate.

A law is the masses p of |psi| on pieces between logarithmic points, uniform on each piece. With w = 1/z the score is

    q(p) = a1 w1 m'p + a2 sqrt(w2 s'p - (w1 m'p)^2) + a3 [log2 n - sum_j P_j phi(n P_j / h_j)],    P = A p

with m, s the mean and mean square of |psi| on each piece, w1, w2 the means of w and w^2, and A the cross-correlation
of the noise's law with that of z (`evaluation.log_grid`). The first term is linear in p. The second is concave: its
hypograph is t^2 + (w1 m'p)^2 <= w2 s'p. The third is the expected entropy of a Poisson number of readings (less than
1/n bits from that of n readings), and lambda phi(lambda) = E K log2 K is convex in lambda. So q is concave, and for
every p its tangent is an upper bound for every other law of the variance: that bound is the certificate.

It assumes that the noise is independent of the value, and that laws are smooth on the scale of a piece.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from halfmask.arrays import FloatArray

FIRST_BARRIER, LAST_BARRIER, SHRINK = 1e-3, 1e-12, 0.3
MOST_STEPS = 200
TOLERANCE = 3e-8
"""Relative tolerance of the score. At 3e-6, pieces that are empty in the best law still had a mass of 1e-5."""


class Product(Protocol):
    """A matrix that may be known only by its products, if it is large."""

    def __matmul__(self, right: FloatArray, /) -> FloatArray: ...

    def __rmatmul__(self, left: FloatArray, /) -> FloatArray: ...

    def matrix(self) -> FloatArray: ...


@dataclass(frozen=True, eq=False)
class PrivacyScore:
    """q as a function of the masses p of K pieces; the module's docstring has the formula.

    ``cells``    (M, K) the matrix A
    ``holds``    (M,) the entropy bins in each cell
    ``mean``, ``square``  (K,) m and s
    ``inverse``  w1 and w2
    ``weights``  a1, a2, a3, each already divided by its normaliser
    """

    cells: FloatArray | Product
    holds: FloatArray
    readings: float
    mean: FloatArray
    square: FloatArray
    inverse: tuple[float, float]
    weights: tuple[float, float, float]

    def parts(self, p: FloatArray) -> tuple[float, float, float]:
        """Return mean, standard deviation and entropy of the local error."""
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
        """Return q(p)."""
        return float(np.dot(self.weights, self.parts(p)))

    def slope_and_bend(self, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient of q, and minus its Hessian (positive semidefinite)."""
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
        """Return an upper bound for all laws of the variance on these pieces: the tangent of the concave q at ``p``."""
        slope = self._slope(p)[0]
        return self.value(p) + max(_most(slope, self.square / variance) - float(slope @ p), 0.0)


@dataclass(frozen=True, eq=False)
class BestLaw:
    """The masses found, their privacy, and an upper bound for all laws of the variance on these pieces."""

    masses: FloatArray
    privacy: float
    upper_bound: float

    @property
    def gap(self) -> float:
        """The upper bound minus the privacy, 0 or above."""
        return self.upper_bound - self.privacy


def best_law(score: PrivacyScore, variance: float, tolerance: float = TOLERANCE) -> BestLaw:
    """Maximise q over the laws with E psi^2 = variance, until the certificate is within ``tolerance``, relative to q.

    It is a primal-dual interior-point method: Newton steps towards masses p and prices r >= 0 of p >= 0 with p r = mu,
    for decreasing mu. The certificate holds at every step.
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
    """Return the step dp towards the maximum of a concave function + mu sum log p, with rim dp = 0, and its decrement.

    ``slope``  gradient of the function
    ``bend``   minus its Hessian
    ``pull``   curvature of the barrier in units of p: mu itself, or p times the prices of p >= 0

    The decrement is twice the gain that the quadratic model predicts. In units x = dp / p the system is well scaled for
    any size of mass.
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
    """Return the largest share of the step, at most 1, that leaves every number positive."""
    shrinking = float((step / p).min())
    return min(1.0, 0.95 / -shrinking) if shrinking < 0 else 1.0


def _spread_out(square: FloatArray) -> FloatArray:
    """Return masses proportional to exp(-tilt s), all positive, with the tilt that gives the variance."""
    from scipy.optimize import brentq  # here, because SciPy takes long to import

    def masses(tilt: float) -> FloatArray:
        weight = np.exp(np.clip(-tilt * (square - 1), -600, 600))
        return np.asarray(weight / weight.sum())

    return masses(float(brentq(lambda tilt: float(masses(tilt) @ square) - 1, -500 / square.max(), 500)))


def _most(slope: FloatArray, square: FloatArray) -> float:
    """Return max slope'q over laws q of the variance.

    It is a linear programme with two equality constraints, so two pieces share the mass.
    """
    low, high = np.flatnonzero(square <= 1), np.flatnonzero(square > 1)
    share = (1 - square[low][:, None]) / (square[high] - square[low][:, None])
    return float(((1 - share) * slope[low][:, None] + share * slope[high]).max())
