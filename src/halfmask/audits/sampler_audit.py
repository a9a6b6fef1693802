"""Does the sampler that ships keep its promise? Lower bounds on epsilon and delta from its own outputs.

For any set of outputs A, epsilon >= log((P(A) - delta) / Q(A)) and delta(epsilon) >= P(A) - e^epsilon Q(A). One half of
the draws chooses A among the outputs up to a threshold, on the side away from the neighbour; the other half bounds P(A)
from below and Q(A) from above (Clopper-Pearson, so for every n, exactly). A right sampler then passes with probability
at least ``confidence``, whatever its law.

A fault may show in no such set. So the same draws are also held against the exact probabilities of the law on its
lattice (`fit`): the share of every set of a fixed list (0 itself, ranges of about equal mass, tails, remainders of k)
must not be further from its probability than chance allows. What shows in none of them is not seen.
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
"""value on the lattice, number of draws -> that many reports of it, each with new noise"""

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
    """What outputs prove: ``quantity`` is at least ``bound``, at this confidence. ``claimed`` is the promise.

    The set of outputs reaches from ``threshold`` away from the neighbour; both shares are as observed in it.
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
        """Whether the promise is broken; of a right sampler that is so with probability 2 (1 - confidence) at most."""
        return self.bound > self.claimed or self.misfit is not None

    def derived(self) -> dict[str, bool]:
        """The verdict, for its file."""
        return {"caught": self.caught}


@dataclass(frozen=True)
class Misfit:
    """A set of noises that came too often or too rarely: in a ``share`` of draws, instead of the ``expected``."""

    event: str
    expected: Share
    share: Share
    draws: Count

    def words(self) -> str:
        """In a sentence."""
        return f"{self.event} came in {self.share:.4g} of {self.draws:,} draws where the law has {self.expected:.4g}"

    def derived(self) -> dict[str, str]:
        """The words of its file."""
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
    """A lower bound on the epsilon between two values, log((p_lo - delta)/q_hi), with the claimed epsilon.

    ``n`` is the number of draws of each value. ``claimed_epsilon`` is for the change from one value to the other: k
    sensitivities apart it is k times that of one. A claim of 1.6 needs the fewest draws: then a scale that is 20 %
    too small, whose epsilon is 2, is missed at most once in a million times with n = 40,000 (p = 1/2, q = e^-2/2).
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
    """A lower bound on delta at a finite ``epsilon``, p_lo - e^epsilon q_hi, with the claimed delta."""
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
    """A lower bound on delta(infinity) of noise that never exceeds ``reach``: outputs too far from the neighbour.

    Noise beyond its own reach breaks the promise at once: then outputs of the neighbour lie in the set, the set is
    not proof of anything, and the claim that they are impossible is caught by a bound of 1.
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
    """Audit a device's noise, whole numbers of lattice steps of width ``step``, against what its setting promises.

    Pure epsilon: a change whose epsilon is about 1.6. Bounded noise: at a change of half its reach, whether it goes
    beyond its reach, and delta at epsilon 2, which noise that is too narrow or missing exceeds; of the two the worse
    is returned. Otherwise delta at epsilon 1/2, at a change of one standard deviation. Noise of the law rounded to the
    lattice keeps every promise of the law, since rounding is something anybody could do to the report.

    The same draws must also fit the law's probabilities. Passing does not prove it right: a fault that comes less than
    once in some hundred draws does not show.
    """
    inner = setting.noise
    seen: dict[int, IntArray] = {}

    def draw(value: int, size: int) -> IntArray:
        """The same draws of a value for every question asked about it."""
        if value not in seen:
            seen[value] = np.asarray(noise(size), np.int64)
        return value + seen[value]

    found = _audit_promise(inner, draw, step, n, confidence)
    return replace(found, misfit=misfit_of(np.concatenate([*seen.values()]), lattice_masses(inner, step), confidence))


def _audit_promise(inner: PrivacySetting, draw: Draw, step: float, n: int, confidence: float) -> EmpiricalAudit:
    """Audit the promise of noise drawn on a lattice, at the change at which a fault shows best."""
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
    """So many steps as a decimal: 3 x 0.1 is 0.3, not a bit more."""
    return float(steps * Fraction(number_text(step)))


def neighbouring_cells(setting: PrivacySetting, step: float, change: int) -> LossCells:
    """Return the losses between two values exactly ``change`` steps apart, by the law on the lattice."""
    if is_still(setting) or setting.law.estimated:
        raise OptionError(f"{setting} adds no noise of a known law: there is no promise to audit", kind="law")
    found = lattice_loss_cells(setting, step, change)
    return loss_cells(setting, change * step) if found is None else found


def misfit_of(draws: IntArray, masses: FloatArray, confidence: float = CONFIDENCE) -> Misfit | None:
    """The set of the list that draws of k miss by most, if chance does not explain it; otherwise None.

    ``masses`` are P(k) for k = -K..K. Each set's count is binomial, and is held to the exact interval
    (Clopper-Pearson) of an equal share of the risk: a right sampler fails with probability 1 - confidence at most.
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
    """Choose the threshold on one half of the draws, bound the shares on the other, each at half the risk."""
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
    """How many outputs are at a threshold or above."""
    return len(outputs) - np.searchsorted(np.sort(outputs), thresholds, side="left")


def _lower(counts: NDArray[np.int64], n: int, risk: float) -> FloatArray:
    """Clopper-Pearson: the share below which this many or more would be rarer than ``risk``."""
    from scipy.special import betaincinv  # here, because SciPy takes long to import

    return np.where(counts > 0, betaincinv(np.maximum(counts, 1), n - counts + 1, risk), 0.0)


def _upper(counts: NDArray[np.int64], n: int, risk: float) -> FloatArray:
    """Clopper-Pearson: the share above which this many or fewer would be rarer than ``risk``."""
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
