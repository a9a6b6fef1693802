"""What a guarantee protects, said rightly: the unit (one reading, a window, a day), its epsilon, change and delta.

An attacker who knows everything but which of two values the readings of a unit have, and gives both the same chance,
guesses right with probability (1 + delta(0))/2 at the most: the best odds. They follow from the trade-off curve of the
two kinds of error (f-DP), which `trade_off` gives as far as known deltas prove it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.plain import Count, Share, Size
from halfmask.protection.guarantees.guarantee import Guarantee
from halfmask.protection.guarantees.lattice import rounded_up
from halfmask_device.decimals import number_text, upwards

SMALL_DELTA = 1e-6
LARGE_EPSILON = 5.0
"""From here on the odds that an attacker gives one of two values may change by a factor of e^5 = 148."""
TOLD = (1, 2, 4, 8, 16, 48)
"""Numbers of equal readings that a card shows the odds for."""


@dataclass(frozen=True)
class Promise:
    """What reports of ``readings`` readings, each changed by up to ``change``, promise together.

    ``epsilon`` is None where no finite one is kept at ``delta``; ``odds`` is the chance of the best attacker's being
    right, 1/2 where reports tell nothing. ``unit`` is the change's.
    """

    readings: Count
    change: Size
    epsilon: Size | None
    delta: Share
    odds: Share
    unit: str = ""

    @property
    def window(self) -> str:
        """The readings in words."""
        return "one reading" if self.readings == 1 else f"each of {self.readings:,} readings"

    @property
    def size(self) -> str:
        """The change in words."""
        return f"a change of {number_text(self.change)} {self.unit}".strip()

    def named(self) -> str:
        """Epsilon with all that it depends on."""
        kept = "no finite epsilon" if self.epsilon is None else f"epsilon {upwards(self.epsilon, 2)}"
        return f"{kept} for {self.size} in {self.window}, delta {self.delta:g}"

    def words(self) -> str:
        """The best odds, and the epsilon behind them."""
        known = "this reading" if self.readings == 1 else f"these {self.readings:,} readings"
        return f"an attacker who knows all but {known} guesses right {times(self.odds)} ({self.named()})"

    def derived(self) -> dict[str, str]:
        """The words of its file."""
        return {"window": self.window, "words": self.words()}


def times(odds: float) -> str:
    """Odds as people count, rounded up; never all where they are not quite."""
    if odds >= 1:
        return "every time"
    of = 100
    while (right := math.ceil(of * odds - 1e-9)) == of and of < 10**6:
        of *= 10
    return "all but every time" if right == of else f"at most {right:,} times of {of:,}"


def promise(found: Guarantee, readings: int = 1, delta: float = SMALL_DELTA) -> Promise:
    """The promise of a guarantee for that many readings.

    One reading under noise with a pure epsilon: that, at delta 0. Everything else at ``delta``.
    """
    pure = readings == 1 and found.epsilon is not None
    epsilon = found.epsilon if pure else found.epsilon_at(delta, readings)
    return Promise(readings, found.sensitivity, epsilon, 0.0 if pure else delta, odds(found, readings), found.unit)


def odds(found: Guarantee, readings: int = 1) -> float:
    """(1 + delta(0))/2."""
    if found.losses is None:
        return 1.0
    at_zero = found.delta[0.0] if readings == 1 else found.losses.composed(readings).delta(0.0)
    return (1 + at_zero) / 2


def odds_by_readings(found: Guarantee, readings: Iterable[int] = TOLD) -> dict[int, float]:
    """Best odds where a value lasts k readings: one secret that is told k times."""
    return {count: odds(found, count) for count in readings}


def per_unit(setting: PrivacySetting, step: float | None = None) -> float | None:
    """Epsilon per unit of the readings, where it grows evenly with the change (metric privacy): 1/b for Laplace.

    On a lattice a change of one unit is rounded up to whole steps, as every change is. None where the noise has no pure
    epsilon, or one that rises in stairs.
    """
    law, parameters = setting.noise.law, setting.noise.parameters
    if setting.noise.kind != "additive" or law.epsilon_width(parameters) is not None:
        return None
    return law.pure_epsilon(parameters, 1.0 if step is None else rounded_up(1.0, step))


def trade_off(epsilons: Sequence[float], deltas: Sequence[float], alpha: FloatArray) -> FloatArray:
    """The least share of the second kind of error (missing the change) beside ``alpha`` of the first (a false alarm).

    f(alpha) = max over the known epsilons of 1 - delta - e^epsilon alpha and e^-epsilon (1 - delta - alpha), and 0
    (Dong, Roth and Su): no attacker errs less, and with more epsilons the bound only rises.
    """
    factor, left = np.exp(np.array(epsilons))[:, None], 1 - np.array(deltas)[:, None]
    steep, flat = left - factor * alpha, (left - alpha) / factor
    return np.asarray(np.maximum(np.maximum(steep.max(axis=0), flat.max(axis=0)), 0.0))


def all_promises(found: Guarantee, windows: Mapping[str, int], delta: float = SMALL_DELTA) -> dict[str, Promise]:
    """A promise for each named window."""
    return {name: promise(found, readings, delta) for name, readings in windows.items()}
