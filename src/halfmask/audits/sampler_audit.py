"""Test whether the device's sampler keeps its promise: lower bounds on epsilon and delta from its own outputs.

For any set of outputs A, epsilon >= log((P(A) - delta) / Q(A)) and delta(epsilon) >= P(A) - e^epsilon Q(A). One half of
the draws chooses A among the sets of outputs beyond a threshold, on the side away from the neighbouring value. The
other half bounds P(A) from below and Q(A) from above (Clopper-Pearson, exact for every n). A correct sampler therefore
passes with probability at least ``confidence``, for any law.

Some faults are not visible in such sets. The same draws are therefore also compared with the exact probabilities of the
law on its lattice (`misfit_of`). The sets of a fixed list are 0 itself, ranges of about equal mass, tails, and
remainders of k. Each set's share of draws must not differ from its probability by more than chance allows. A fault
visible in none of them is missed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.mechanisms.privacy_loss import LossCells
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.plain import Count, Share
from halfmask.protection.guarantees.continuous_noise import is_still, loss_cells
from halfmask.protection.guarantees.lattice_noise import lattice_loss_cells, lattice_masses
from halfmask_device.decimals import number_text

Draw = Callable[[int, int], IntArray]
"""Function of a value on the lattice and a number of draws: returns as many reports of the value, each
with new noise.
"""

CONFIDENCE = 1 - 1e-6
DRAWS = 200_000
THRESHOLDS = 1000
SURE = 2.0  # an epsilon at which bounded noise has little more than its certain share left
RANGES = 48  # of about equal mass that draws are counted in
DIVISORS = (2, 3, 4, 5, 8, 10)  # whose remainders of k are counted
OUTSIDE = 1e-13  # probability of noise beyond the listed
ROUNDING = 1e-9  # of the listed probabilities
TELLING = 1.6  # the epsilon of a change at which a wrong scale shows with the fewest draws


@dataclass(frozen=True)
class EmpiricalAudit:
    """Proof from a sampler's outputs: ``quantity`` is at least ``bound``, at this confidence. ``claimed`` is the
    promise.

    ``threshold``                               the set of outputs begins here, and extends away from the neighbour
    ``share_of_value``, ``share_of_neighbour``  observed shares of outputs in the set
    ``misfit``                                  set of noises that contradicts the law; None if there is none
    """

    quantity: Literal["epsilon", "delta"]
    bound: float
    claimed: float
    confidence: Share
    draws: Count
    value: int
    neighbour: int
    threshold: int
    share_of_value: Share
    share_of_neighbour: Share
    misfit: "Misfit | None" = None

    @property
    def caught(self) -> bool:
        """Whether the promise is broken. A correct sampler is caught with probability at most 2 (1 - confidence)."""
        return self.bound > self.claimed or self.misfit is not None

    def derived(self) -> dict[str, bool]:
        """Return the verdict, which its file contains besides its fields."""
        return {"caught": self.caught}


@dataclass(frozen=True)
class Misfit:
    """A set of noises that came too often or too rarely: in a ``share`` of draws instead of the ``expected`` one."""

    event: str
    expected: Share
    share: Share
    draws: Count

    def words(self) -> str:
        """Return the misfit as a sentence."""
        return f"{self.event} came in {self.share:.4g} of {self.draws:,} draws where the law has {self.expected:.4g}"

    def derived(self) -> dict[str, str]:
        """Return the text that its file contains besides its fields."""
        return {"words": self.words()}


def audit_sampler(
    draw: Draw,
    value: int,
    neighbour: int,
    claimed_epsilon: float,
    n: int = DRAWS,
    confidence: float = CONFIDENCE,
    delta: float = 0.0,
) -> EmpiricalAudit:
    """Return a lower bound on the epsilon between two values, log((p_lo - delta)/q_hi), with the claimed epsilon.

    ``n`` is the number of draws of each value. ``claimed_epsilon`` is for the change from one value to the other: for k
    times the sensitivity, it is k times the epsilon of one. A claim of 1.6 needs the fewest draws: with n = 40,000, a
    scale 20 % too small (epsilon 2, p = 1/2, q = e^-2/2) is missed at most once in a million times.
    """

    def bound(low: FloatArray, high: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            result: FloatArray = np.log(np.maximum(low - delta, 0.0)) - np.log(high)
        return result

    return _audit("epsilon", bound, draw, value, neighbour, claimed_epsilon, n, confidence)


def audit_delta(
    draw: Draw,
    value: int,
    neighbour: int,
    epsilon: float,
    claimed_delta: float,
    n: int = DRAWS,
    confidence: float = CONFIDENCE,
) -> EmpiricalAudit:
    """Return a lower bound on delta at a finite ``epsilon``, p_lo - e^epsilon q_hi, with the claimed delta."""
    factor = math.exp(epsilon)
    return _audit("delta", lambda low, high: low - factor * high, draw, value, neighbour, claimed_delta, n, confidence)


def audit_certain(
    draw: Draw,
    value: int,
    neighbour: int,
    reach: int,
    claimed_delta: float,
    n: int = DRAWS,
    confidence: float = CONFIDENCE,
) -> EmpiricalAudit:
    """Return a lower bound on delta(infinity) of noise that never exceeds ``reach``.

    Counted are outputs farther than this from the neighbour, which prove that the value was not the neighbour. If noise
    exceeds its reach, outputs of the neighbour are counted too; then the promise is broken, and the bound is 1.
    """
    _check(value, neighbour, n, confidence)
    towards = 1 if value > neighbour else -1
    far = [int(np.count_nonzero(towards * (_draws(draw, each, n) - neighbour) > reach)) for each in (value, neighbour)]
    bound = 1.0 if far[1] else float(_lower(np.array([far[0]]), n, 1 - confidence)[0])
    threshold = neighbour + towards * (reach + 1)
    shares = (far[0] / n, far[1] / n)
    return EmpiricalAudit("delta", bound, claimed_delta, confidence, n, value, neighbour, threshold, *shares)


def audit_setting_sampler(
    setting: PrivacySetting,
    noise: Callable[[int], IntArray | Sequence[int]],
    step: float,
    n: int = DRAWS,
    confidence: float = CONFIDENCE,
) -> EmpiricalAudit:
    """Test a device's noise, in whole steps of the lattice, against the promise of its setting.

    For a pure epsilon, the change is one whose epsilon is about 1.6. For bounded noise, the change is half its reach.
    It is tested whether noise exceeds the reach, and whether delta at epsilon 2 is larger than promised, as for noise
    that is too narrow; the worse result is returned. Otherwise delta at epsilon 1/2 is tested, for a change of one
    standard deviation. Noise rounded to the lattice keeps every promise of the continuous law, because anybody could
    round the report.

    The same draws must also fit the law's probabilities. Passing is not a proof: a fault that occurs less than once in
    some hundred draws is missed.
    """
    inner = setting.noise
    seen: dict[int, IntArray] = {}

    def draw(value: int, size: int) -> IntArray:
        """Return the same draws of a value each time it is asked for."""
        if value not in seen:
            seen[value] = np.asarray(noise(size), np.int64)
        return value + seen[value]

    found = _audit_promise(inner, draw, step, n, confidence)
    return replace(found, misfit=misfit_of(np.concatenate([*seen.values()]), lattice_masses(inner, step), confidence))


def _audit_promise(inner: PrivacySetting, draw: Draw, step: float, n: int, confidence: float) -> EmpiricalAudit:
    """Test the promise of noise drawn on a lattice, at the change for which a fault is most visible."""
    own_step = inner.law.epsilon_width(inner.parameters) or step
    every = max(round(own_step / step), 1)
    least = inner.pure_epsilon(_steps_wide(every, step))
    if least is not None:
        change = every * max(round(TELLING / least), 1)
        claimed = inner.pure_epsilon(_steps_wide(change, step))
        return audit_sampler(draw, 0, change, math.inf if claimed is None else claimed, n, confidence)
    bound = inner.support
    bounded = bound < math.inf
    reach = math.floor(bound / step + 0.5) if bounded else 0
    size = reach // 2 if bounded else round(inner.deviation / step)
    change = max(size, 1)
    promised = neighbouring_cells(inner, step, change)
    if not bounded:
        return audit_delta(draw, 0, change, 0.5, promised.delta(0.5), n, confidence)
    each = (1 + confidence) / 2
    narrow = audit_delta(draw, 0, change, SURE, promised.delta(SURE), n, each)
    wide = audit_certain(draw, 0, change, reach, promised.certain, n, each)
    return replace(max(wide, narrow, key=lambda one: one.bound - one.claimed), confidence=confidence)


def _steps_wide(steps: int, step: float) -> float:
    """Return the width of a number of steps, exact as a decimal: 3 x 0.1 is 0.3."""
    return float(steps * Fraction(number_text(step)))


def neighbouring_cells(setting: PrivacySetting, step: float, change: int) -> LossCells:
    """Return the privacy losses between two values exactly ``change`` steps apart, for the law on the lattice."""
    if is_still(setting) or setting.law.estimated:
        raise OptionError(f"{setting} adds no noise of a known law: there is no promise to audit", kind="law")
    found = lattice_loss_cells(setting, step, change)
    return loss_cells(setting, change * step) if found is None else found


def misfit_of(draws: IntArray, masses: FloatArray, confidence: float = CONFIDENCE) -> Misfit | None:
    """Compare draws of k with the law's probabilities on a fixed list of sets, and return the set that differs most.

    None if chance explains all differences. ``masses`` are P(k) for k = -K..K. Each set's count is binomial, and is
    compared with its exact interval (Clopper-Pearson) at an equal share of the risk. A correct sampler fails with
    probability at most 1 - confidence.
    """
    middle, n = len(masses) // 2, len(draws)
    k = np.arange(-middle, middle + 1)
    counts = np.bincount(np.clip(draws, -middle, middle) + middle, minlength=len(masses))
    cuts = np.searchsorted(np.cumsum(masses), np.linspace(0, 1, RANGES + 1)[1:-1])
    bins = np.unique(np.concatenate([[0], cuts, cuts + 1, [middle, middle + 1]]).clip(0, len(masses) - 1))
    names = [f"noise of {k[low]} to {k[high - 1]} steps" for low, high in pairwise([*bins, len(masses)])]
    expected, observed = ([*np.add.reduceat(each, bins)] for each in (masses, counts))
    for divisor in DIVISORS:
        rest = k % divisor
        names += [f"noise of {divisor}n + {each} steps" for each in range(divisor)]
        expected += [*np.bincount(rest, masses, minlength=divisor)]
        observed += [*np.bincount(rest, counts, minlength=divisor)]
    names.append(f"noise beyond {middle} steps")
    expected.append(OUTSIDE)
    observed.append(int(np.count_nonzero(np.abs(draws) > middle)))
    share, of = np.array(observed, np.int64), np.clip(np.array(expected), 0.0, 1.0)
    risk = (1 - confidence) / (2 * len(names))
    low, high = _lower(share, n, risk), _upper(share, n, risk)
    missed = np.maximum(low - of - ROUNDING, of - high - ROUNDING)
    worst = int(np.argmax(missed))
    return Misfit(names[worst], float(of[worst]), float(share[worst]) / n, n) if missed[worst] > 0 else None


def _audit(
    quantity: Literal["epsilon", "delta"],
    bound: Callable[[FloatArray, FloatArray], FloatArray],
    draw: Draw,
    value: int,
    neighbour: int,
    claimed: float,
    n: int,
    confidence: float,
) -> EmpiricalAudit:
    """Choose the threshold on one half of the draws, and bound the shares on the other half, each at half the risk."""
    _check(value, neighbour, n, confidence)
    towards = 1 if value > neighbour else -1
    outputs = [towards * _draws(draw, each, n) for each in (value, neighbour)]
    half, risk = n // 2, (1 - confidence) / 2

    def bounds(thresholds: IntArray, part: slice) -> tuple[FloatArray, IntArray, IntArray]:
        p, q = (_count_from(each[part], thresholds) for each in outputs)
        size = len(outputs[0][part])
        return bound(_lower(p, size, risk), _upper(q, size, risk)), p, q

    ranks = np.unique(np.linspace(0, half - 1, THRESHOLDS).astype(np.int64))
    candidates = np.unique(np.sort(outputs[0][:half])[ranks])
    best = candidates[[int(np.argmax(bounds(candidates, slice(0, half))[0]))]]
    found, p, q = bounds(best, slice(half, None))
    shares = (float(p[0]) / (n - half), float(q[0]) / (n - half))
    lower = max(float(found[0]), 0.0)
    return EmpiricalAudit(quantity, lower, claimed, confidence, n, value, neighbour, towards * int(best[0]), *shares)


def _draws(draw: Draw, value: int, n: int) -> IntArray:
    outputs = np.asarray(draw(value, n))
    if outputs.shape != (n,) or outputs.dtype.kind not in "iu":
        raise OptionError(
            f"the sampler gave {outputs.dtype} of shape {outputs.shape} where {n} draws of {value} were asked for:"
            f" it must give {n} integers",
            kind="sampler",
        )
    return outputs.astype(np.int64)


def _count_from(outputs: IntArray, thresholds: IntArray) -> IntArray:
    """Return how many outputs are at or above each threshold."""
    return len(outputs) - np.searchsorted(np.sort(outputs), thresholds, side="left")


def _lower(counts: NDArray[np.int64], n: int, risk: float) -> FloatArray:
    """Return the Clopper-Pearson lower limit for a share: at any smaller share, this count or more of n has a
    probability below ``risk``.
    """
    from scipy.special import betaincinv  # here, because SciPy takes long to import

    return np.where(counts > 0, betaincinv(np.maximum(counts, 1), n - counts + 1, risk), 0.0)


def _upper(counts: NDArray[np.int64], n: int, risk: float) -> FloatArray:
    """Return the Clopper-Pearson upper limit for a share: at any larger share, this count or fewer of n has a
    probability below ``risk``.
    """
    from scipy.special import betaincinv  # here, because SciPy takes long to import

    return np.where(counts < n, betaincinv(counts + 1, np.maximum(n - counts, 1), 1 - risk), 1.0)


def _check(value: int, neighbour: int, n: int, confidence: float) -> None:
    if value == neighbour:
        raise OptionError(f"value and neighbour are both {value}: two different values are needed", kind="neighbour")
    if n < 2:
        raise OptionError(f"{n} draws are too few: one half chooses the event, the other measures it", kind="draws")
    if not 0 < confidence < 1:
        raise OptionError(
            f"confidence is {confidence:g}; it is a probability between 0 and 1, like 0.999999", kind="confidence"
        )
