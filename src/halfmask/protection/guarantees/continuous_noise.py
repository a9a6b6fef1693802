"""The privacy loss of one report with continuous noise, as a bound in cells (`LossCells`).

P is the law of s + psi, Q that of s + d + psi. The line is cut into cells, with masses from the law's own distribution
function. The resulting bound on delta is exact if a cell has one loss; otherwise its error is of the order of the
squared width of the cells. It is within 2 parts in 10,000 of the closed forms if delta is above 1e-6, and never below
them by more than 1e-12. For sine it is 1e-8, because its distribution function is too steep at its ends for floats.

No device draws continuous noise. `lattice_noise` is about the noise that devices draw.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from halfmask.arrays import FloatArray
from halfmask.mechanisms.estimated import StatedNoise, reach
from halfmask.mechanisms.privacy_loss import LossCells, told_apart
from halfmask.mechanisms.setting import PrivacySetting

NEGLIGIBLE = 2.0**-47
"""Mass of both tails that is not resolved: all of it counts as the largest loss."""
MOST_CHANGES = 4000
"""Most sizes of the change that are tried. A table of 40 points has 3,280 differences."""


def loss_cells(setting: PrivacySetting, change: float, largest: float = math.inf) -> LossCells:
    """Return the privacy loss of one report of an additive setting, for two readings ``change`` > 0 apart.

    ``largest`` is a known bound on |loss|, such as the pure epsilon.

    It is assumed that psi is symmetric, that atoms lie at 0 only, and that between the law's corners log p/q does not
    turn twice within three cells. Otherwise the loss may be underestimated.
    """
    known = setting.law.loss_cells(setting.parameters, change)
    if known is not None:
        return known
    corners, constant, bound = _corners(setting)
    if change >= 2 * bound:
        return told_apart()
    both = np.unique(np.concatenate([corners, corners + change]))
    edges = both if constant else _graded(both[both <= corners[-1]])  # beyond, P's mass is negligible
    p, q = masses(setting, edges), masses(setting, edges - change)
    middle = np.concatenate([[-np.inf], (edges[1:] + edges[:-1]) / 2, [np.inf]])
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(p) - np.log(q)
    if constant:
        exact = _constant_loss(setting, corners, bound, middle, change)
        known_exactly = ~np.isnan(exact)
        loss = np.where(known_exactly, exact, loss)
        low, high = (np.where(known_exactly, exact, end) for end in (-np.inf, np.inf))
        impossible = (exact == np.inf) & (bound < np.inf)
    else:
        low, high = _around(loss, np.isin(edges, both))
        impossible = np.abs(middle - change) > bound
    atom = 0.0 if constant or setting.law.proven else _chance_of_zero(setting)  # at 0 in P, at d in Q
    ruled_out = min(float(p[impossible].sum()) + atom, 1.0)
    return LossCells.of(p, loss, np.clip(low, -largest, largest), np.clip(high, -largest, largest), ruled_out)


def critical_changes(setting: PrivacySetting, largest: float) -> list[float] | None:
    """Return the changes up to ``largest`` at which delta may be worst.

    It is None unless the density is constant between corners. For such a density delta(epsilon) is linear in the change
    between two successive differences of corners, at every epsilon.
    """
    corners, constant, _ = _corners(setting)
    if not constant:
        return None
    apart = np.unique(corners - corners[:, None])
    return [*apart[(apart > 0) & (apart < largest)].tolist(), largest]


def reach_of(setting: PrivacySetting) -> float:
    """Return sup |psi| of an additive setting; if unbounded, the size exceeded with probability `NEGLIGIBLE`."""
    bound = setting.support
    return bound if bound < np.inf else float(reach(setting.law, np.array([setting.parameters]), 1 - NEGLIGIBLE)[0])


def is_still(setting: PrivacySetting) -> bool:
    """Return whether an additive setting adds no noise: P(psi = 0) = 1."""
    return setting.support == 0 or (isinstance(setting.law, StatedNoise) and _chance_of_zero(setting) >= 1)


def masses(setting: PrivacySetting, edges: FloatArray) -> FloatArray:
    """Return P(a < psi <= b) of the cells between rising edges and of the two outer ones, each from the nearer tail."""
    tail = np.concatenate([[0.0], setting.law.tail(setting.parameters, np.abs(edges)), [0.0]])
    side = np.concatenate([[-1.0], np.where(edges < 0, -1.0, 1.0), [1.0]])
    masses = np.where(side[1:] == side[:-1], np.abs(np.diff(tail)), 1 - tail[1:] - tail[:-1])
    return np.maximum(masses, 0.0)


def _chance_of_zero(setting: PrivacySetting) -> float:
    return float(setting.cdf(np.zeros(1))[0])


def _corners(setting: PrivacySetting) -> tuple[FloatArray, bool, float]:
    """Return the points at which the density may jump, kink or be infinite; whether it is constant between; sup |psi|.

    If the law is unbounded, the tails are cut off at the outermost corners. If a plug-in does not state its support,
    its noise is assumed to end at the point at which its distribution function reaches 1.
    """
    law, bound, end = setting.law, setting.support, reach_of(setting)
    if type(law).support is StatedNoise.support:
        bound = end
    sizes, constant = law.corners(setting.parameters, end)
    return np.unique(np.concatenate([-sizes, sizes])), constant, bound


def _constant_loss(
    setting: PrivacySetting, corners: FloatArray, bound: float, x: FloatArray, change: float
) -> FloatArray:
    """Return log f(x) - log f(x - d) from the heights of the density; NaN beyond the corners of an unbounded law.

    Masses of cells are not accurate enough: if corners of both laws are equal up to rounding, an impossible report
    would seem to have a probability of 1e-17.
    """
    beyond = [-np.inf if bound < np.inf else np.nan]
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.log(masses(setting, corners)[1:-1] / np.diff(corners))
        heights = np.concatenate([beyond, inner, beyond])
        return np.asarray(heights[np.searchsorted(corners, x)] - heights[np.searchsorted(corners, x - change)])


def _graded(corners: FloatArray) -> FloatArray:
    """Return edges that are fine enough for smooth densities, finest near every corner."""
    gaps = np.diff(corners)[:, None]
    return np.unique(np.append((corners[:-1, None] + gaps * _fractions()).ravel(), corners))


@cache
def _fractions() -> FloatArray:
    """Return points between 0 and 1: equal steps, and from each end steps that grow by 1 % from 2^-46 on."""
    growing = np.exp(np.arange(math.log(2.0**-46), math.log(0.5), 0.01))
    return np.unique(np.concatenate([growing, 1 - growing, np.arange(1, 2048) / 2048]))


def _around(loss: FloatArray, at_corner: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the loss in each cell, from the mean losses of the cell and its neighbours; infinite next to a
    corner.

    If the loss rises over three cells, its value at an edge lies between the means of the two cells that meet there.
    """
    left, right = np.append(np.nan, loss[:-1]), np.append(loss[1:], np.nan)
    open_ended = np.append(True, at_corner) | np.append(at_corner, True)
    low = np.where(open_ended, -np.inf, np.fmin(np.fmin(left, right), loss))
    return low, np.where(open_ended, np.inf, np.fmax(np.fmax(left, right), loss))
