"""How well one report tells two readings apart: cells of the report's range, with bounds on the privacy loss in each.

P is the law of s + psi, Q that of s + d + psi. The loss of a report x is log p(x)/q(x), and the hockey-stick divergence

    delta(epsilon) = integral of (p - e^epsilon q)+

is the least delta for which one report keeps the two readings apart by (epsilon, delta). The line is cut into cells of
masses p_i and q_i, taken from the law's own distribution function. In a cell whose losses lie in [low, high] the
largest divergence that masses p_i and q_i allow, at every epsilon at once, has all losses at low or at high. The sum of
these is an upper bound, exact where a cell has one loss and off by the square of the cells' width elsewhere:
within 2 parts in 10,000 of the closed forms wherever delta is above 1e-6, and never below them by more than 1e-12, or
1e-8 for sine, whose distribution function is so steep at its ends that floats tell no more of it.
This is about continuous laws; `lattice` has those that a device draws.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from halfmask.arrays import FloatArray
from halfmask.mechanisms.base import Mechanism
from halfmask.mechanisms.estimated import StatedNoise
from halfmask.mechanisms.ours.gaussian import Gaussian
from halfmask.mechanisms.ours.laplace import Laplace
from halfmask.mechanisms.setting import PrivacySetting

NEGLIGIBLE = 2.0**-47  # mass of both tails that is not looked into: all of it counts as the largest loss
MOST_CHANGES = 4000  # a table of 40 points has 3,280 differences
SMOOTH_CELLS = 2**13
FURTHEST = 1e150  # scales or deviations that readings lie apart; further would be beyond all floats, and tells no more
WIDEST = 12.0  # deviations, beyond which a Gaussian has 4e-33
LONGEST = 80.0  # scales, beyond which a Laplace law has 2e-35


@dataclass(frozen=True)
class Cells:
    """Masses of cells under P and Q (``p`` > 0), bounds on the loss in each, and the mass of P that Q cannot give.

    ``mean`` is log p_i/q_i, held between ``low`` and ``high``; infinite bounds are allowed on either side.
    """

    p: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    certain: float

    def share_high(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """The share of p that lies at ``high`` when the rest lies at ``low`` and q is as it is.

        From x e^-high + (1 - x) e^-low = e^-mean: x = (1 - e^(low - mean)) / (1 - e^(low - high)).
        """
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            share = np.expm1(low - self.mean) / np.expm1(low - high)
        return np.clip(np.where((high > low) & (low > -np.inf), share, 1.0), 0.0, 1.0)

    def delta(self, epsilon: float) -> float:
        """sum of p_i (x (1 - e^(epsilon - high))+ + (1 - x) (1 - e^(epsilon - low))+); the certain mass at infinity."""
        if epsilon == math.inf:
            return self.certain
        if self.low is self.high:  # every cell has one loss
            return min(float(self.p @ _above(self.high, epsilon)), 1.0)
        share = self.share_high(self.low, self.high)
        bent = share * _above(self.high, epsilon) + (1 - share) * _above(self.low, epsilon)
        return min(float(np.sum(self.p * bent)), 1.0)


def told_apart() -> Cells:
    """Of two readings that no report can come from both of: one cell of all mass, so that certain is certain."""
    one, endless = np.ones(1), np.full(1, np.inf)
    return Cells(one, endless, endless, endless, 1.0)


def _above(loss: FloatArray, epsilon: float) -> FloatArray:
    """(1 - e^(epsilon - loss))+."""
    with np.errstate(over="ignore"):
        result: FloatArray = -np.expm1(np.minimum(epsilon - loss, 0.0))
    return result


def cells(setting: PrivacySetting, change: float, largest: float = math.inf) -> Cells:
    """Cells of an additive setting's report for two readings ``change`` > 0 apart.

    ``largest`` is a bound on |loss| that is known otherwise (the pure epsilon), infinite where there is none.
    Assumed: psi is symmetric; between the law's corners log p/q does not turn twice within three cells; atoms lie at 0
    alone. Else a law may be underrated.
    """
    if type(setting.law) in _LOSS_KNOWN:
        return _LOSS_KNOWN[type(setting.law)](min(change / setting.parameters[0], FURTHEST))
    corners, stepped, bound = _corners(setting)
    if change >= 2 * bound:
        return told_apart()
    both = np.unique(np.concatenate([corners, corners + change]))
    edges = both if stepped else _graded(both[both <= corners[-1]])  # beyond, P has no mass worth a cell
    p, q = masses(setting, edges), masses(setting, edges - change)
    middle = np.concatenate([[-np.inf], (edges[1:] + edges[:-1]) / 2, [np.inf]])
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(p) - np.log(q)
    if stepped:
        exact = _stepped_loss(setting, corners, bound, middle, change)
        known = ~np.isnan(exact)
        loss = np.where(known, exact, loss)
        low, high = np.where(known, exact, -np.inf), np.where(known, exact, np.inf)
        impossible = (exact == np.inf) & (bound < np.inf)
    else:
        low, high = _around(loss, np.isin(edges, both))
        impossible = np.abs(middle - change) > bound
    atom = 0.0 if stepped or setting.law.proven else _share(setting, 0.0)  # an atom at 0 is one at d in the other law
    held = p > 0
    low, high = np.clip(low[held], -largest, largest), np.clip(high[held], -largest, largest)
    certain = min(float(p[impossible].sum()) + atom, 1.0)
    return Cells(p[held], np.clip(loss[held], low, high), low, high, certain)


def critical_changes(setting: PrivacySetting, largest: float) -> list[float] | None:
    """Changes up to ``largest`` at which delta may be worst, in order, for a density that is constant between corners.

    Such a density's delta(epsilon) is linear in the change from one difference of two corners to the next, at every
    epsilon. None where the density is not of that kind.
    """
    corners, stepped, _ = _corners(setting)
    if not stepped:
        return None
    apart = np.unique(corners - corners[:, None])
    return [*apart[(apart > 0) & (apart < largest)].tolist(), largest]


def _laplace(apart: float) -> Cells:
    """Losses are |x - d| - |x| in scales: d for all x <= 0, -d for all x >= d, linear between; ``apart`` is d.

    P(x <= 0) = 1/2, P(x > y) = e^-y/2. In a cell between the losses' mean is the middle of both ends.
    """
    edges = np.linspace(0, min(apart, LONGEST), SMOOTH_CELLS)
    p = np.concatenate([[1.0], np.exp(-edges[:-1]) * -np.expm1(-np.diff(edges)), np.exp(-edges[-1:])]) / 2
    high = apart - 2 * np.append(0.0, edges)
    low = np.concatenate([high[:1], high[2:], [-apart]])
    mean = low / 2 + high / 2
    mean[-1] = high[-1]
    held = p > 0
    return Cells(p[held], mean[held], low[held], high[held], 0.0)


def _gaussian(apart: float) -> Cells:
    """Losses are d (d/2 - x) in deviations; ``apart`` is d."""
    edges = np.linspace(-WIDEST, WIDEST, SMOOTH_CELLS)
    p, q = normal_masses(edges), normal_masses(edges - apart)
    high, low = (apart * (apart / 2 - x) for x in (edges[:-1], edges[1:]))
    with np.errstate(divide="ignore"):
        mean = np.clip(np.log(p) - np.log(q), low, high)
    held = p > 0
    return Cells(p[held], mean[held], low[held], high[held], 0.0)


_LOSS_KNOWN: dict[type[Mechanism], Callable[[float], Cells]] = {Laplace: _laplace, Gaussian: _gaussian}


def normal_masses(edges: FloatArray) -> FloatArray:
    """Masses of the standard normal law between rising edges, each from the nearer tail."""
    tail = np.array([math.erfc(abs(x) / math.sqrt(2)) / 2 for x in edges.tolist()])
    crossing = (edges[:-1] < 0) & (edges[1:] >= 0)
    return np.where(crossing, 1 - tail[:-1] - tail[1:], np.abs(np.diff(tail)))


def reach_of(setting: PrivacySetting) -> float:
    """sup |psi| of an additive setting, or where it has none the size passed with a probability of `NEGLIGIBLE`."""
    bound = float(setting.law.support(np.array([setting.parameters]))[0])
    return bound if bound < np.inf else _end(setting)


def is_still(setting: PrivacySetting) -> bool:
    """Whether an additive setting adds nothing: P(psi = 0) = 1."""
    ends_at_zero = float(setting.law.support(np.array([setting.parameters]))[0]) == 0
    return ends_at_zero or (isinstance(setting.law, StatedNoise) and _share(setting, 0.0) >= 1)


def _share(setting: PrivacySetting, y: float) -> float:
    """P(|psi| <= y)."""
    return float(setting.law.cdf(np.array([setting.parameters]), np.array([y]))[0, 0])


def masses(setting: PrivacySetting, edges: FloatArray) -> FloatArray:
    """P(a < psi <= b) of the cells between rising edges, and of the two beyond them, each from the nearer tail."""
    tail = np.concatenate([[0.0], _tail(setting, np.abs(edges)), [0.0]])
    side = np.concatenate([[-1.0], np.where(edges < 0, -1.0, 1.0), [1.0]])
    masses = np.where(side[1:] == side[:-1], np.abs(np.diff(tail)), 1 - tail[1:] - tail[:-1])
    return np.maximum(masses, 0.0)


def _tail(setting: PrivacySetting, y: FloatArray) -> FloatArray:
    """P(psi > y) for y >= 0."""
    return setting.law.tail(setting.parameters, y)


def _corners(setting: PrivacySetting) -> tuple[FloatArray, bool, float]:
    """Where the density may jump, kink or be infinite, in order; whether it is constant between; sup |psi|.

    Of an unbounded law the outermost corners are where the tails are cut off. A plug-in that does not say where its
    noise ends is taken to end where its distribution function reaches 1.
    """
    law, parameters = setting.law, setting.parameters
    bound = float(law.support(np.array([parameters]))[0])
    end = bound if bound < np.inf else _end(setting)
    if type(law).support is StatedNoise.support:
        bound = end
    sizes, stepped = law.corners(parameters, end)
    return _both_sides(sizes), stepped, bound


def _both_sides(sizes: FloatArray) -> FloatArray:
    return np.unique(np.concatenate([-sizes, sizes]))


def _end(setting: PrivacySetting) -> float:
    """The size that |psi| passes with a probability of `NEGLIGIBLE`, by halving exponents of two."""
    low, high = -1000.0, 1000.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _share(setting, 2.0**middle) >= 1 - NEGLIGIBLE else (middle, high)
    return float(2.0**high)


def _stepped_loss(
    setting: PrivacySetting, corners: FloatArray, bound: float, x: FloatArray, change: float
) -> FloatArray:
    """log f(x) - log f(x - d) from the heights of the density itself; NaN beyond the corners of an unbounded law.

    Masses of cells would not do: where corners of both laws meet but for rounding, a report that is impossible seems to
    have a chance of 1e-17.
    """
    beyond = [-np.inf if bound < np.inf else np.nan]
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.log(masses(setting, corners)[1:-1] / np.diff(corners))
        heights = np.concatenate([beyond, inner, beyond])
        loss: FloatArray = heights[np.searchsorted(corners, x)] - heights[np.searchsorted(corners, x - change)]
    return loss


def _graded(corners: FloatArray) -> FloatArray:
    """Edges fine enough for smooth densities, finest towards every corner."""
    gaps = np.diff(corners)[:, None]
    return np.unique(np.append((corners[:-1, None] + gaps * _fractions()).ravel(), corners))


@cache
def _fractions() -> FloatArray:
    """Places between 0 and 1: equal steps, and from each end steps that grow by 1 % from 2^-46 on."""
    growing = np.exp(np.arange(math.log(2.0**-46), math.log(0.5), 0.01))
    return np.unique(np.concatenate([growing, 1 - growing, np.arange(1, 2048) / 2048]))


def _around(loss: FloatArray, at_corner: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Bounds on the loss in each cell: the mean losses of the cell and its two neighbours; none beside a corner.

    Where the loss rises over three cells, its value at an edge lies between the means of the cells that meet there.
    """
    left, right = np.append(np.nan, loss[:-1]), np.append(loss[1:], np.nan)
    open_ended = np.append(True, at_corner) | np.append(at_corner, True)
    low = np.where(open_ended, -np.inf, np.fmin(np.fmin(left, right), loss))
    return low, np.where(open_ended, np.inf, np.fmax(np.fmax(left, right), loss))
