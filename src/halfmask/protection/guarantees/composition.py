"""Composition: the privacy loss of one report on a grid, and the sum over many reports by Fourier transform.

Losses of independent reports add up, so their distribution is a convolution. Each cell's losses are moved to the
neighbouring multiples of a step, in the shares that preserve q. That raises delta at every epsilon and for every number
of reports, so the result is an upper bound.

The transform's rounding error, which grows with the number of reports, is added on top. If delta is not much larger
than it, losses are weighted by e^(tilt loss) before the transform and back after it. So the masses that matter become
the large ones.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.privacy_loss import LossCells

STEPS_PER_DEVIATION = 100
"""Steps of the grid per standard deviation of the loss: moving losses adds less than 1e-4 of their variance."""
MOST_LOSSES = 2**16
ROUNDING, A_REPORT = 1e-12, 4e-15
"""Bounds on the error of a transform's masses, in all and per report: five times the errors seen."""
PLAIN = 1e4
"""Deltas below this multiple of the rounding error are computed with a tilt."""
BEYOND = math.log(1e-20)
"""Log probability of the tilted sums outside of the transform's window, on either side."""
LARGEST_POWER = 700.0
"""Largest power of e that is computed."""
FAR = 40.0
"""Losses this far above epsilon count whole: e^-40 = 4e-18 of them is not subtracted, which is never too little."""
LARGEST_LOSS = 1e6
TILTS = np.geomspace(0.5, 20, 12)


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """The privacy loss of one report: infinite with probability ``infinite``, otherwise (first + k) step with
    ``masses[k]``.

    ``largest`` bounds |loss| if a pure epsilon is known; otherwise it is infinite.
    """

    step: float
    first: int
    masses: FloatArray
    infinite: float
    largest: float = math.inf

    def composed(self, reports: int) -> "Composition":
        """Return the total loss of this number of independent reports, if the reading behind each may have changed."""
        return self._made.setdefault(reports, Composition(self, reports))

    @cached_property
    def _made(self) -> "dict[int, Composition]":
        return {}

    @cached_property
    def finite(self) -> tuple[FloatArray, FloatArray]:
        """The multiples of the step that have mass, and their log probability given that the loss is finite."""
        held = np.flatnonzero(self.masses > 0)
        return np.asarray(held + float(self.first)), np.log(self.masses[held] / float(self.masses.sum()))


@dataclass(frozen=True, eq=False)
class Composition:
    """The privacy loss of ``reports`` reports, each with the loss ``one``.

    Infinite losses are treated separately. All n losses are finite with probability (1 - infinite)^n. The distribution
    of the sum is computed under the condition that all losses are finite. This works for any probability of an infinite
    loss.
    """

    one: LossDistribution
    reports: int

    @cached_property
    def infinite(self) -> float:
        """The probability that the loss of at least one report is infinite."""
        if self.one.infinite >= 1 or self.one.masses.sum() <= 0:
            return 1.0
        return -math.expm1(self.reports * math.log1p(-self.one.infinite))

    @property
    def largest(self) -> float:
        """A bound on the loss of all reports together."""
        return self.reports * self.one.largest

    @cached_property
    def _plain(self) -> "_Sums":
        return _sums(self.one, self.reports, 0.0)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta(epsilon), for finite epsilon."""
        if epsilon >= self.largest:
            return 0.0
        if self.infinite >= 1:
            return 1.0
        found = self._plain.delta(epsilon)
        if found < PLAIN * self._plain.rounding:
            found = min(found, _sums(self.one, self.reports, _tilt(self.one, self.reports, at=epsilon)).delta(epsilon))
        return min(max(self.infinite + (1 - self.infinite) * found, 0.0), 1.0)

    def epsilon_at(self, delta: float) -> float:
        """Return the least epsilon >= 0 that the bound allows at ``delta``; infinite if there is none."""
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

    ``rounding`` bounds the total error of the masses.
    """

    losses: FloatArray
    masses: FloatArray
    tilt: float
    total: float
    rounding: float

    def delta(self, epsilon: float) -> float:
        """Return sum P(loss) (1 - e^(epsilon - loss)) over losses above epsilon, plus the bound on rounding errors."""
        at = int(np.searchsorted(self.losses, epsilon, side="right"))
        found = float(self._weighed[at:].sum())
        for block in (math.floor(epsilon / FAR), math.floor(epsilon / FAR) + 1):
            first, last = np.searchsorted(self.losses, [block * FAR, (block + 1) * FAR])
            found -= math.exp(epsilon - block * FAR) * float(self._faded[max(first, at) : last].sum())
        return min(found + self.rounding * math.exp(min(self.total - self.tilt * epsilon, LARGEST_POWER)), 1.0)

    @cached_property
    def _weighed(self) -> FloatArray:
        """The masses with the tilt undone."""
        if not self.tilt:
            return self.masses
        return self.masses * np.exp(np.minimum(self.total - self.tilt * self.losses, LARGEST_POWER))

    @cached_property
    def _faded(self) -> FloatArray:
        """The masses times e^(block - loss), with ``block`` the multiple of `FAR` below each loss.

        A factor e^(epsilon - block) completes it. So the exponentials of all losses are computed once, not for every
        epsilon.
        """
        return self._weighed * np.exp(-np.mod(self.losses, FAR))

    def epsilon_at(self, delta: float) -> float:
        """Return the least epsilon >= 0 with a bound of at most ``delta``, by bisection."""
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
    """Return the n-fold sum of finite losses under a tilt, on a window with all but e^`BEYOND` on either side.

    The transform is circular: sums outside of the window are folded back into it, so no mass is lost.
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
    """Return log sum p e^(tilt at)."""
    exponent = log_p + tilt * at
    most = float(exponent.max())
    return most + math.log(float(np.sum(np.exp(exponent - most))))


def _tilted(one: LossDistribution, tilt: float) -> tuple[FloatArray, float]:
    """Return probabilities proportional to p e^(tilt loss), and the logarithm of the constant that normalises them."""
    at, log_p = one.finite
    scale = _cumulant(log_p, at, tilt * one.step)
    result: FloatArray = np.exp(log_p + tilt * one.step * at - scale)
    return result, scale


def _tilt(one: LossDistribution, reports: int, at: float | None = None, chance: float = 0.0) -> float:
    """Return the tilt whose mean sum is ``at``, or is exceeded with probability about e^``chance``."""

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


def loss_distribution(changes: Sequence[LossCells], largest: float = math.inf) -> LossDistribution:
    """Return the worst loss of one report over several changes of the reading.

    If one change is worst at every epsilon, the result is its loss. Otherwise delta(epsilon) is the largest of all at
    each multiple of the step, and linear in e^epsilon between. That is an upper bound for all changes, and again the
    delta of some pair of laws.
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


def _within_reason(one: LossCells) -> LossCells:
    """Return the cells with losses above `LARGEST_LOSS` replaced by infinity, and those below
    -`LARGEST_LOSS` raised to it.
    """

    def held(loss: FloatArray) -> FloatArray:
        return np.where(loss > LARGEST_LOSS, np.inf, np.where(loss > -np.inf, np.maximum(loss, -LARGEST_LOSS), loss))

    return LossCells(one.p, held(one.mean), held(one.low), held(one.high), one.certain)


def _step(changes: Sequence[LossCells], largest: float) -> float:
    """Return the step of the grid of losses: a hundredth of the loss's standard deviation, or more to limit the grid's
    size.

    It is a divisor of ``largest``, if that is finite.
    """
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


def _on_grid(one: LossCells, step: float, first: int, size: int) -> tuple[FloatArray, float]:
    """Return the masses of the multiples of ``step`` and of infinity; cells go to the multiples around their losses."""
    low, high = np.floor(one.low / step), np.ceil(one.high / step)
    share = one.share_high(low * step, high * step)
    masses = np.zeros(size)
    for place, mass in ((low, one.p * (1 - share)), (high, one.p * share)):
        finite = np.isfinite(place)
        masses += np.bincount(place[finite].astype(np.int64) - first, weights=mass[finite], minlength=size)
    return masses, float(min(np.sum((one.p * share)[high == np.inf]), 1.0))


def _deltas(masses: FloatArray, infinite: float, step: float) -> FloatArray:
    """Return delta at each multiple of the step, D_k = I + sum_{j>k} m_j (1 - e^((k - j) step)), last to first.

    The weighted sums are added up as logarithms, because e^(j step) may exceed all floats.
    """
    at = np.arange(len(masses)) * step
    with np.errstate(divide="ignore"):
        weighed = np.logaddexp.accumulate((np.log(masses) - at)[:0:-1])[::-1] + at[:-1]
    above = np.cumsum(masses[:0:-1])[::-1]
    return np.append(infinite + above - np.exp(weighed), infinite)


def _joined(deltas: FloatArray, step: float) -> tuple[FloatArray, float]:
    """Return the masses whose delta equals ``deltas`` at each multiple of the step and is linear in e^epsilon between.

    m_k = (D_(k+1) - D_k - e^step (D_k - D_(k-1))) / (e^step - 1); all losses below the first multiple are raised to it.
    """
    deltas = np.minimum.accumulate(np.clip(deltas, 0.0, 1.0))
    slopes = np.diff(deltas)
    masses = np.empty(len(deltas))
    masses[1:-1] = (slopes[1:] - slopes[:-1] * math.exp(step)) / math.expm1(step)
    masses[-1] = slopes[-1] / math.expm1(-step)
    masses[0] = 1 - deltas[0] + slopes[0] / math.expm1(step)
    return np.maximum(masses, 0.0), float(deltas[-1])
