"""Many reports together: the privacy loss of one on a grid, and the sum of many through dp-accounting.

Losses of independent reports add up, so their distribution is a convolution. Each cell's losses are moved to multiples
of a step, the ones below and above, in the shares that keep q: that raises delta at every epsilon and every number of
reports, so what comes out is an upper bound, but for the rounding of the Fourier transform (about 1e-12).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfmask.mechanisms.base import Floats
from halfmask.protection.guarantees.hockey_stick import Cells

STEPS_PER_DEVIATION = 100  # so that moving losses adds less than 1e-4 of their variance
MOST_LOSSES = 2**16
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """The loss of one report: infinite with probability ``infinite``, otherwise (first + k) step with ``masses[k]``.

    ``largest`` bounds each report's |loss| where a pure epsilon is known, and is infinite elsewhere.
    """

    step: float
    first: int
    masses: Floats
    infinite: float
    largest: float = math.inf

    def composed(self, reports: int) -> "Composition":
        """The loss of that many independent reports, each of a reading that may have changed.

        Infinite losses are kept apart: all n are finite with probability (1 - infinite)^n, exactly, and convolving
        only the finite ones, given that they are finite, works however likely an infinite one is.
        """
        from dp_accounting.pld.pld_pmf import DensePLDPmf  # here, because it takes two seconds to import

        finite = self.masses.sum()
        infinite = 1.0 if self.infinite >= 1 else -math.expm1(reports * math.log1p(-self.infinite))
        if finite <= 0 or infinite >= 1:
            return Composition(1.0, None, reports * self.largest)
        one = DensePLDPmf(self.step, self.first, self.masses / finite, 0.0, pessimistic_estimate=True)
        return Composition(infinite, one.self_compose(reports, tail_mass_truncation=1e-15), reports * self.largest)


@dataclass(frozen=True, eq=False)
class Composition:
    """The loss of several reports together: infinite with probability ``infinite``, otherwise as ``finite`` says."""

    infinite: float
    finite: Any  # a privacy loss distribution of dp-accounting; None where the loss is surely infinite
    largest: float

    def delta(self, epsilon: float) -> float:
        """An upper bound on delta(epsilon), for finite epsilon."""
        if epsilon >= self.largest:
            return 0.0
        given_finite = 1.0 if self.finite is None else float(self.finite.get_delta_for_epsilon(epsilon))
        return min(max(self.infinite + (1 - self.infinite) * given_finite, 0.0), 1.0)

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon that the bound allows at ``delta``; infinite where none does."""
        epsilon = math.inf
        if self.finite is not None and delta > self.infinite:
            epsilon = float(self.finite.get_epsilon_for_delta((delta - self.infinite) / (1 - self.infinite)))
        return min(epsilon, self.largest)


def loss_distribution(changes: Sequence[Cells], largest: float = math.inf) -> LossDistribution:
    """The worst loss of one report over several changes of the reading, each given by its cells.

    One change that is worst at every epsilon stands for all. Otherwise delta(epsilon) is the largest of theirs at each
    multiple of the step, joined by lines in e^epsilon, which is above all of them and is again of some pair of laws.
    """
    step = _step(changes, largest)
    bounds = np.concatenate([np.concatenate([each.low, each.high]) for each in changes])
    finite = bounds[np.isfinite(bounds)]
    first = math.floor(finite.min(initial=0.0) / step)
    size = math.ceil(finite.max(initial=0.0) / step) - first + 1
    worst = np.zeros(size)
    for one in changes:
        worst = np.maximum(worst, _deltas(*_on_grid(one, step, first, size), step))
    for one in changes:  # not kept from above: they may be thousands
        masses, infinite = _on_grid(one, step, first, size)
        if (worst - _deltas(masses, infinite, step)).max() <= ROUNDING:
            return LossDistribution(step, first, masses, infinite, largest)
    return LossDistribution(step, first, *_joined(worst, step), largest)


def _step(changes: Sequence[Cells], largest: float) -> float:
    """A hundredth of the loss's standard deviation, or more where that asks for too many; ``largest`` is a multiple."""
    wanted, reach = 0.0, 0.0
    for one in changes:
        bounds = np.concatenate([one.low, one.high])
        reach = max(reach, float(np.abs(bounds[np.isfinite(bounds)]).max(initial=0.0)))
        finite = np.isfinite(one.mean)
        p, mean = one.p[finite], one.mean[finite]
        if p.sum() > 0:
            unit = float(np.abs(mean).max()) or 1.0  # the square of a huge loss is beyond all floats
            variance = np.average((mean / unit - np.average(mean / unit, weights=p)) ** 2, weights=p)
            wanted = max(wanted, unit * math.sqrt(variance) / STEPS_PER_DEVIATION)
    step = max(wanted, 2 * reach / MOST_LOSSES) or 1.0
    return largest / math.ceil(largest / step) if 0 < largest < math.inf else step


def _on_grid(one: Cells, step: float, first: int, size: int) -> tuple[Floats, float]:
    """Masses of the multiples of ``step``, and of infinity: each cell's mass goes to the ones around its losses."""
    low, high = np.floor(one.low / step), np.ceil(one.high / step)
    share = one.share_high(low * step, high * step)
    masses = np.zeros(size)
    for place, mass in ((low, one.p * (1 - share)), (high, one.p * share)):
        finite = np.isfinite(place)
        masses += np.bincount(place[finite].astype(np.int64) - first, weights=mass[finite], minlength=size)
    return masses, float(min(np.sum((one.p * share)[high == np.inf]), 1.0))


def _deltas(masses: Floats, infinite: float, step: float) -> Floats:
    """delta at each multiple of the step: D_k = I + sum_{j>k} m_j (1 - e^((k - j) step)), from the last downwards.

    With S_k = sum_{j>k} m_j e^((k-j) step), S_(k-1) = e^-step (S_k + m_k): a filter, whose terms are all positive.
    """
    from scipy.signal import lfilter  # here, because SciPy takes long to import

    decay = math.exp(-step)
    above = np.append(np.cumsum(masses[:0:-1])[::-1], 0.0)
    weighed = np.append(lfilter([decay], [1.0, -decay], masses[:0:-1])[::-1], 0.0)
    result: Floats = infinite + above - weighed
    return result


def _joined(deltas: Floats, step: float) -> tuple[Floats, float]:
    """The masses whose delta is the given one at each multiple of the step and linear in e^epsilon between.

    m_k = (D_(k+1) - D_k - e^step (D_k - D_(k-1))) / (e^step - 1); all losses below the first multiple are raised to it.
    """
    deltas = np.minimum.accumulate(np.clip(deltas, 0.0, 1.0))
    slopes = np.diff(deltas)
    masses = np.empty(len(deltas))
    masses[1:-1] = (slopes[1:] - slopes[:-1] * math.exp(step)) / math.expm1(step)
    masses[-1] = slopes[-1] / math.expm1(-step)
    masses[0] = 1 - deltas[0] + slopes[0] / math.expm1(step)
    return np.maximum(masses, 0.0), float(deltas[-1])
