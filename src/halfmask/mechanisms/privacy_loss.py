"""The privacy loss of one report: cells of the report's range, with bounds on the loss in each.

P is the law of a report of one reading, Q that of a report of another reading. The loss of a report x is log p(x)/q(x).
A mechanism is (epsilon, delta)-differentially private for these two readings if delta is at least the hockey-stick
divergence

    delta(epsilon) = integral of (p - e^epsilon q)+
"""

import math
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray

FURTHEST = 1e150
"""Largest distance of two readings, in scales of the noise, that is computed: delta no longer changes,
and more would overflow.
"""


@dataclass(frozen=True)
class LossCells:
    """Masses of cells under P, bounds on the loss in each, and the mass of P that is impossible under Q.

    ``p``              mass of each cell under P, above 0
    ``mean``           log p_i/q_i, limited to between ``low`` and ``high``
    ``low``, ``high``  bounds on the loss within the cell; they may be infinite
    ``certain``        mass of P that is impossible under Q

    Among all losses in [low, high] that masses p_i and q_i allow, the divergence is largest, at every epsilon at once,
    if all losses are at low or high. The sum of these is an upper bound on delta.
    """

    p: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    certain: float = 0.0

    @classmethod
    def of(
        cls, p: FloatArray, mean: FloatArray, low: FloatArray, high: FloatArray, certain: float = 0.0
    ) -> "LossCells":
        """Return the cells that have mass, with the mean limited to between its bounds."""
        held = p > 0
        low, high = low[held], high[held]
        return cls(p[held], np.clip(mean[held], low, high), low, high, certain)

    def share_high(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the share of p at ``high`` if the rest is at ``low``, for unchanged masses p and q.

        From x e^-high + (1 - x) e^-low = e^-mean: x = (1 - e^(low - mean)) / (1 - e^(low - high)).
        """
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            share = np.expm1(low - self.mean) / np.expm1(low - high)
        return np.clip(np.where((high > low) & (low > -np.inf), share, 1.0), 0.0, 1.0)

    def delta(self, epsilon: float) -> float:
        """Return sum p_i (x (1 - e^(epsilon - high))+ + (1 - x) (1 - e^(epsilon - low))+).

        At infinite epsilon, return the mass ``certain``.
        """
        if epsilon == math.inf:
            return self.certain
        if self.low is self.high:  # every cell has one loss
            return min(float(self.p @ _above(self.high, epsilon)), 1.0)
        share = self.share_high(self.low, self.high)
        bent = share * _above(self.high, epsilon) + (1 - share) * _above(self.low, epsilon)
        return min(float(np.sum(self.p * bent)), 1.0)


def told_apart() -> LossCells:
    """Return the loss of two readings without a common possible report: one cell with all mass, so that delta is 1."""
    one, endless = np.ones(1), np.full(1, np.inf)
    return LossCells(one, endless, endless, endless, 1.0)


def _above(loss: FloatArray, epsilon: float) -> FloatArray:
    """(1 - e^(epsilon - loss))+."""
    with np.errstate(over="ignore"):
        return np.asarray(-np.expm1(np.minimum(epsilon - loss, 0.0)))
