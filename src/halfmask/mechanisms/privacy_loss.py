"""The privacy loss of one report, stored as cells of the report's range with bounds on the loss in each.

P and Q are the distributions of a report of two different readings, with densities p and q. The loss of a report x is
log p(x)/q(x). A mechanism is (epsilon, delta)-differentially private for these readings if delta is at least the
hockey-stick divergence

    delta(epsilon) = integral of (p - e^epsilon q)+
"""

import math
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray

FURTHEST = 1e150
"""Largest distance of two readings, in scales of the noise, that is computed. Beyond it delta no longer changes, and
powers would overflow.
"""


@dataclass(frozen=True)
class LossCells:
    """Cells of a report's range under two distributions P and Q.

    ``p``              probability of each cell under P, above 0
    ``mean``           log p_i/q_i of each cell, clipped to between ``low`` and ``high``
    ``low``, ``high``  bounds on the loss within the cell; they may be infinite
    ``certain``        probability under P of reports that are impossible under Q

    For given p_i and q_i, the divergence is largest, at every epsilon, if all losses in a cell are at its bounds. The
    sum over cells is then an upper bound on delta.
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
        """Return the cells with positive probability; their mean losses are clipped to their bounds."""
        held = p > 0
        low, high = low[held], high[held]
        return cls(p[held], np.clip(mean[held], low, high), low, high, certain)

    def share_high(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the share x of each cell's probability at ``high``, with the rest at ``low``, that leaves p and q
        unchanged.

        From x e^-high + (1 - x) e^-low = e^-mean: x = (1 - e^(low - mean)) / (1 - e^(low - high)).
        """
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            share = np.expm1(low - self.mean) / np.expm1(low - high)
        return np.clip(np.where((high > low) & (low > -np.inf), share, 1.0), 0.0, 1.0)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta: sum p_i (x (1 - e^(epsilon - high))+ + (1 - x) (1 - e^(epsilon - low))+).

        x is `share_high`, and (z)+ is max(z, 0). At infinite epsilon, return ``certain``.
        """
        if epsilon == math.inf:
            return self.certain
        if self.low is self.high:  # every cell has one loss
            return min(float(self.p @ _above(self.high, epsilon)), 1.0)
        share = self.share_high(self.low, self.high)
        bent = share * _above(self.high, epsilon) + (1 - share) * _above(self.low, epsilon)
        return min(float(np.sum(self.p * bent)), 1.0)


def told_apart() -> LossCells:
    """Return the loss of two readings without a common possible report: delta is 1."""
    one, endless = np.ones(1), np.full(1, np.inf)
    return LossCells(one, endless, endless, endless, 1.0)


def _above(loss: FloatArray, epsilon: float) -> FloatArray:
    """Return (1 - e^(epsilon - loss))+."""
    with np.errstate(over="ignore"):
        return np.asarray(-np.expm1(np.minimum(epsilon - loss, 0.0)))
