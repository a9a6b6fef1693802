"""Many reports together: the privacy loss of one on a grid, and the sum of many by Fourier transform.

Losses of independent reports add up, so their distribution is a convolution. Each cell's losses are moved to multiples
of a step, the ones below and above, in the shares that keep q: that raises delta at every epsilon and every number of
reports, so what comes out is an upper bound. The transform's rounding, which grows with the number of reports (that of
its n-th power), is added on top; where delta is small beside it, losses are weighed by e^(tilt loss) before the
transform and back after it, so that the masses that matter are the large ones.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.protection.guarantees.hockey_stick import Cells

STEPS_PER_DEVIATION = 100  # so that moving losses adds less than 1e-4 of their variance
MOST_LOSSES = 2**16
ROUNDING, A_REPORT = 1e-12, 4e-15
"""What the masses of a transform may err by in all, and for each report: five times what they were seen to."""
PLAIN = 1e4
"""Deltas below so many times the rounding are computed with a tilt of their own."""
BEYOND = math.log(1e-20)
"""Chance, as a logarithm, of the tilted sums that fall outside of the transform's window on either side."""
LARGEST_POWER = 700.0  # of e
FAR = 40.0
"""Losses so far above epsilon count whole: e^-40 = 4e-18 of them is not taken off, which is never too little."""
LARGEST_LOSS = 1e6
TILTS = np.geomspace(0.5, 20, 12)


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """The loss of one report: infinite with probability ``infinite``, otherwise (first + k) step with ``masses[k]``.

    ``largest`` bounds each report's |loss| where a pure epsilon is known, and is infinite elsewhere.
    """

    step: float
    first: int
    masses: FloatArray
    infinite: float
    largest: float = math.inf

    def composed(self, reports: int) -> "Composition":
        """The loss of that many independent reports, each of a reading that may have changed."""
        return self._made.setdefault(reports, Composition(self, reports))

    @cached_property
    def _made(self) -> "dict[int, Composition]":
        return {}

    @cached_property
    def finite(self) -> tuple[FloatArray, FloatArray]:
        """Multiples of the step that have mass, and log of their probability given that the loss is finite."""
        held = np.flatnonzero(self.masses > 0)
        return np.asarray(held + float(self.first)), np.log(self.masses[held] / float(self.masses.sum()))


@dataclass(frozen=True, eq=False)
class Composition:
    """The loss of ``reports`` reports, each as ``one`` says.

    Infinite losses are kept apart: all n are finite with probability (1 - infinite)^n, exactly, and adding up only the
    finite ones, given that they are finite, works however likely an infinite one is.
    """

    one: LossDistribution
    reports: int

    @cached_property
    def infinite(self) -> float:
        """The chance that some report's loss is infinite."""
        if self.one.infinite >= 1 or self.one.masses.sum() <= 0:
            return 1.0
        return -math.expm1(self.reports * math.log1p(-self.one.infinite))

    @property
    def largest(self) -> float:
        """A bound on the loss of all reports."""
        return self.reports * self.one.largest

    @cached_property
    def _plain(self) -> "_Sums":
        return _sums(self.one, self.reports, 0.0)

    def delta(self, epsilon: float) -> float:
        """An upper bound on delta(epsilon), for finite epsilon."""
        if epsilon >= self.largest:
            return 0.0
        if self.infinite >= 1:
            return 1.0
        found = self._plain.delta(epsilon)
        if found < PLAIN * self._plain.rounding:
            found = min(found, _sums(self.one, self.reports, _tilt(self.one, self.reports, at=epsilon)).delta(epsilon))
        return min(max(self.infinite + (1 - self.infinite) * found, 0.0), 1.0)

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon >= 0 that the bound allows at ``delta``; infinite where none does."""
        if delta <= self.infinite:
            return self.largest
        wanted = (delta - self.infinite) / (1 - self.infinite)
        sums = self._plain
        if wanted < PLAIN * sums.rounding:
            sums = _sums(self.one, self.reports, _tilt(self.one, self.reports, chance=math.log(wanted)))
        return min(sums.epsilon_at(wanted), self.largest)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of finite losses: ``losses`` with ``masses`` under the tilt, to be multiplied by e^(total - tilt loss).

    ``rounding`` is what the masses may err by in all.
    """

    losses: FloatArray
    masses: FloatArray
    tilt: float
    total: float
    rounding: float

    def delta(self, epsilon: float) -> float:
        """sum of P(loss) (1 - e^(epsilon - loss)) over losses above epsilon, and all that rounding may hide."""
        at = int(np.searchsorted(self.losses, epsilon, side="right"))
        found = float(self._weighed[at:].sum())
        for block in (math.floor(epsilon / FAR), math.floor(epsilon / FAR) + 1):
            first, last = np.searchsorted(self.losses, [block * FAR, (block + 1) * FAR])
            found -= math.exp(epsilon - block * FAR) * float(self._faded[max(first, at) : last].sum())
        return min(found + self.rounding * math.exp(min(self.total - self.tilt * epsilon, LARGEST_POWER)), 1.0)

    @cached_property
    def _weighed(self) -> FloatArray:
        """The masses without the tilt."""
        if not self.tilt:
            return self.masses
        return self.masses * np.exp(np.minimum(self.total - self.tilt * self.losses, LARGEST_POWER))

    @cached_property
    def _faded(self) -> FloatArray:
        """Masses times e^(block - loss), with the multiple of `FAR` below each loss: e^(epsilon - block) does the rest.

        So the exponentials of all losses are taken once, and not for every epsilon.
        """
        return self._weighed * np.exp(-np.mod(self.losses, FAR))

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon >= 0 with a bound of at most ``delta``: the place by halving, then half-way to rounding."""
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, float(max(self.losses[-1], 0.0))
        if self.delta(high) > delta:
            return math.inf
        while high - low > 1e-7 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high


def _sums(one: LossDistribution, reports: int, tilt: float) -> _Sums:
    """The n-fold sum of finite losses under a tilt, on a window that holds all but e^`BEYOND` on either side.

    The transform is circular: what falls outside of the window is folded back into it, so no mass is lost.
    """
    at, log_p = one.finite
    tilted, scale = _tilted(one, tilt)
    mean = float(tilted @ at)
    deviation = math.sqrt(max(float(tilted @ (at - mean) ** 2), 0.0))
    low, high = reports * at[0], reports * at[-1]
    for share in TILTS / max(deviation * math.sqrt(reports), 1e-9):
        for sign in (-1.0, 1.0):
            grown = reports * (_cumulant(log_p, at, tilt * one.step + sign * share) - scale)
            if sign > 0:
                high = min(high, (grown - BEYOND) / share)
            else:
                low = max(low, -(grown - BEYOND) / share)
    first, last = math.floor(low), math.ceil(high)
    size = 1 << max(last - first + 1, 2).bit_length()
    folded = np.bincount((at % size).astype(np.int64), weights=tilted, minlength=size)
    sums = np.fft.irfft(np.fft.rfft(folded) ** reports, size)
    place = np.arange(first, last + 1)
    rounding = max(ROUNDING, A_REPORT * reports)
    return _Sums(place * one.step, np.maximum(sums[place % size], 0.0), tilt, reports * scale, rounding)


def _cumulant(log_p: FloatArray, at: FloatArray, tilt: float) -> float:
    """log sum p e^(tilt at)."""
    exponent = log_p + tilt * at
    most = float(exponent.max())
    return most + math.log(float(np.sum(np.exp(exponent - most))))


def _tilted(one: LossDistribution, tilt: float) -> tuple[FloatArray, float]:
    """Probabilities in proportion to p e^(tilt loss), and the logarithm of what they are divided by."""
    at, log_p = one.finite
    scale = _cumulant(log_p, at, tilt * one.step)
    result: FloatArray = np.exp(log_p + tilt * one.step * at - scale)
    return result, scale


def _tilt(one: LossDistribution, reports: int, at: float | None = None, chance: float = 0.0) -> float:
    """The tilt whose mean sum is ``at``, or beyond whose mean sums come with a chance of about e^``chance``."""

    def short(tilt: float) -> bool:
        tilted, scale = _tilted(one, tilt)
        mean = reports * float(tilted @ one.finite[0]) * one.step
        return mean < at if at is not None else reports * scale - tilt * mean > chance

    low, high = 0.0, 1.0
    while short(high) and high < 2.0**40:
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if short(middle) else (low, middle)
    return low


def loss_distribution(changes: Sequence[Cells], largest: float = math.inf) -> LossDistribution:
    """The worst loss of one report over several changes of the reading, each given by its cells.

    One change that is worst at every epsilon stands for all. Otherwise delta(epsilon) is the largest of theirs at each
    multiple of the step, joined by lines in e^epsilon, which is above all of them and is again of some pair of laws.
    """
    changes = [_within_reason(each) for each in changes]
    step = _step(changes, largest)
    bounds = np.concatenate([np.concatenate([each.low, each.high]) for each in changes])
    finite = bounds[np.isfinite(bounds)]
    first = math.floor(finite.min(initial=0.0) / step)
    size = math.ceil(finite.max(initial=0.0) / step) - first + 1
    if len(changes) == 1:
        return LossDistribution(step, first, *_on_grid(changes[0], step, first, size), largest)
    worst = np.zeros(size)
    for one in changes:
        worst = np.maximum(worst, _deltas(*_on_grid(one, step, first, size), step))
    for one in reversed(changes):  # not kept from above: they may be thousands
        masses, infinite = _on_grid(one, step, first, size)
        if (worst - _deltas(masses, infinite, step)).max() <= ROUNDING:
            return LossDistribution(step, first, masses, infinite, largest)
    return LossDistribution(step, first, *_joined(worst, step), largest)


def _within_reason(one: Cells) -> Cells:
    """Losses beyond `LARGEST_LOSS` count as infinite, which is never too little, and those below as minus that."""

    def held(loss: FloatArray) -> FloatArray:
        return np.where(loss > LARGEST_LOSS, np.inf, np.where(loss > -np.inf, np.maximum(loss, -LARGEST_LOSS), loss))

    return Cells(one.p, held(one.mean), held(one.low), held(one.high), one.certain)


def _step(changes: Sequence[Cells], largest: float) -> float:
    """A hundredth of the loss's standard deviation, or more where that asks for too many; ``largest`` is a multiple."""
    wanted, reach = 0.0, 0.0
    for one in changes:
        bounds = np.concatenate([one.low, one.high])
        reach = max(reach, float(np.abs(bounds[np.isfinite(bounds)]).max(initial=0.0)))
        finite = np.isfinite(one.mean)
        p, mean = one.p[finite], one.mean[finite]
        if p.sum() > 0:
            variance = np.average((mean - np.average(mean, weights=p)) ** 2, weights=p)
            wanted = max(wanted, math.sqrt(variance) / STEPS_PER_DEVIATION)
    step = max(wanted, 2 * (reach / MOST_LOSSES)) or 1.0
    return largest / math.ceil(largest / step) if 0 < largest < LARGEST_LOSS else step


def _on_grid(one: Cells, step: float, first: int, size: int) -> tuple[FloatArray, float]:
    """Masses of the multiples of ``step``, and of infinity: each cell's mass goes to the ones around its losses."""
    low, high = np.floor(one.low / step), np.ceil(one.high / step)
    share = one.share_high(low * step, high * step)
    masses = np.zeros(size)
    for place, mass in ((low, one.p * (1 - share)), (high, one.p * share)):
        finite = np.isfinite(place)
        masses += np.bincount(place[finite].astype(np.int64) - first, weights=mass[finite], minlength=size)
    return masses, float(min(np.sum((one.p * share)[high == np.inf]), 1.0))


def _deltas(masses: FloatArray, infinite: float, step: float) -> FloatArray:
    """delta at each multiple of the step: D_k = I + sum_{j>k} m_j (1 - e^((k - j) step)), from the last downwards.

    The weighed sums are added up as logarithms, since e^(j step) itself may be beyond all floats.
    """
    at = np.arange(len(masses)) * step
    with np.errstate(divide="ignore"):
        weighed = np.logaddexp.accumulate((np.log(masses) - at)[:0:-1])[::-1] + at[:-1]
    above = np.cumsum(masses[:0:-1])[::-1]
    return np.append(infinite + above - np.exp(weighed), infinite)


def _joined(deltas: FloatArray, step: float) -> tuple[FloatArray, float]:
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
