"""A guarantee in figures that people can use: epsilon with its readings, change and delta, and the best odds.

Consider an attacker who knows everything except which of two values the readings have, and to whom both are equally
likely. The attacker guesses right with probability at most (1 + delta(0))/2: the best odds. They follow from the
trade-off between the two kinds of error (f-DP), which `trade_off` bounds from the known deltas.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.plain import Count, Share, Size
from halfmask.protection.guarantees.guarantee import Guarantee
from halfmask.protection.guarantees.lattice_noise import rounded_up
from halfmask_device.decimals import number_text, upwards

SMALL_DELTA = 1e-6
LARGE_EPSILON = 5.0
"""From here on the odds that an attacker gives one of two values may change by a factor of e^5 = 148."""
TOLD = (1, 2, 4, 8, 16, 48)
"""Numbers of equal readings that a card shows the odds for."""


@dataclass(frozen=True)
class Promise:
    """The promise of several reports together, if each reading may change by up to ``change``.

    ``readings``  number of readings
    ``change``    largest change of each reading, in ``unit``
    ``epsilon``   the epsilon that holds at ``delta``; None if it is not finite
    ``odds``      probability that the best attacker guesses right; 1/2 if reports reveal nothing
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
        """Return epsilon with everything it depends on."""
        kept = "no finite epsilon" if self.epsilon is None else f"epsilon {upwards(self.epsilon, 2)}"
        return f"{kept} for {self.size} in {self.window}, delta {number_text(self.delta)}"

    def words(self) -> str:
        """Return a sentence with the best odds and the epsilon behind them."""
        known = "this reading" if self.readings == 1 else f"these {self.readings:,} readings"
        return f"an attacker who knows all but {known} guesses right {times(self.odds)} ({self.named()})"

    def derived(self) -> dict[str, str]:
        """Return the words that its file holds for other readers."""
        return {"window": self.window, "words": self.words()}


def times(odds: float) -> str:
    """Return odds as a phrase such as "at most 57 times of 100", rounded up; "every time" only for a
    probability of 1.
    """
    if odds >= 1:
        return "every time"
    of = 100
    while (right := math.ceil(of * odds - 1e-9)) == of and of < 10**6:
        of *= 10
    return "all but every time" if right == of else f"at most {right:,} times of {of:,}"


def promise(found: Guarantee, readings: int = 1, delta: float = SMALL_DELTA) -> Promise:
    """Return the promise of a guarantee for this number of readings.

    For one reading and noise with a pure epsilon, it is that epsilon at delta 0. Otherwise it is an epsilon at
    ``delta``.
    """
    pure = readings == 1 and found.epsilon is not None
    epsilon = found.epsilon if pure else found.epsilon_at(delta, readings)
    return Promise(readings, found.sensitivity, epsilon, 0.0 if pure else delta, odds(found, readings), found.unit)


def odds(found: Guarantee, readings: int = 1) -> float:
    """Return the probability that the best attacker guesses right, (1 + delta(0))/2."""
    if found.losses is None:
        return 1.0
    at_zero = found.delta[0.0] if readings == 1 else found.losses.composed(readings).delta(0.0)
    return (1 + at_zero) / 2


def per_unit(setting: PrivacySetting, step: float | None = None) -> float | None:
    """Return epsilon per unit of the readings (metric privacy), such as 1/b for Laplace noise.

    It is None unless the noise has a pure epsilon that is proportional to the change. On a lattice a change of one unit
    is rounded up to whole steps, as every change is.
    """
    law, parameters = setting.noise.law, setting.noise.parameters
    if setting.noise.kind != "additive" or law.epsilon_width(parameters) is not None:
        return None
    return law.pure_epsilon(parameters, 1.0 if step is None else rounded_up(1.0, step))


def trade_off(epsilons: Sequence[float], deltas: Sequence[float], alpha: FloatArray) -> FloatArray:
    """Return the least share of missed changes, for an attacker with a share ``alpha`` of false alarms.

    It is the maximum over the known epsilons of 1 - delta - e^epsilon alpha and e^-epsilon (1 - delta - alpha), and at
    least 0 (Dong, Roth and Su). It is a lower bound, which more epsilons can only raise.
    """
    factor, left = np.exp(np.array(epsilons))[:, None], 1 - np.array(deltas)[:, None]
    steep, flat = left - factor * alpha, (left - alpha) / factor
    return np.asarray(np.maximum(np.maximum(steep.max(axis=0), flat.max(axis=0)), 0.0))


def guarantee_lines(found: Guarantee, readings: Sequence[int]) -> list[str]:
    """Return a sentence with the best odds for each number of readings; none if nothing is promised."""
    return [] if found.losses is None else [promise(found, count).words() for count in readings]


def guarantee_rows(found: Guarantee) -> list[list[str]]:
    """Return delta(epsilon) of one report and of many as a table, headings first."""
    heads = ["inf" if value == math.inf else f"{value:g}" for value in found.delta]
    every = [("1 report", found.delta), *((f"{count:,} reports", deltas) for count, deltas in found.composed.items())]
    return [["delta at epsilon", *heads]] + [
        [name, *(upwards(value) for value in deltas.values())] for name, deltas in every
    ]
