"""What a reading shows as once it is masked: quantiles of the noise, on a device's lattice or without one."""

import math
from fractions import Fraction

import numpy as np

from halfmask.mechanisms.setting import PrivacySetting
from halfmask_device.decimals import number_text

TIMES_OUT_OF_TEN = 8
FINE = 1000
"""Steps from which on a lattice is too fine to make a difference in a quantile of the noise."""


def few_steps(value: float, step: float | None) -> bool:
    """Whether a value has fewer than 1,000 steps: all of its digits are then written, so that it lies on the lattice.

    Any other is written in three digits.
    """
    return step is not None and abs(value) < 1000 * step


def one_in_print(low: float, high: float, step: float | None) -> bool:
    """Whether both ends are the same to three digits. Rounded each for itself they may look a whole digit apart."""
    if low == high:
        return True
    largest = max(abs(low), abs(high))
    return not few_steps(largest, step) and high - low < 10.0 ** (math.floor(math.log10(largest)) - 2)


def noise_quantile(setting: PrivacySetting, probability: float) -> float:
    """The smallest y with P(|psi| <= y) >= probability: psi at (1 + probability)/2, as noise is symmetric.

    A law that does not say its quantiles has its distribution function bisected.
    """
    parameters = np.array(setting.parameters)[None]
    known = setting.law.quantile(parameters[0], np.array([(1 + probability) / 2]))
    if known is not None:
        return float(known[0])

    def reaches(y: float) -> bool:
        return bool(setting.law.cdf(parameters, np.array([y]))[0, 0] >= probability)

    if reaches(0.0):
        return 0.0
    high = 1e-300
    while not reaches(high) and high < 1e300:
        high *= 1024
    low = high / 1024
    while (high - low) > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def shown(setting: PrivacySetting, reading: float, step: float | None = None) -> tuple[float, float] | None:
    """10th to 90th percentile of the masked reading; the noise is symmetric, so P(|psi| <= y) = 0.8 gives both.

    With a ``step`` it is the report of a device on this lattice, or on the setting's own.
    """
    if setting.kind == "direct" or setting.inner is not None:
        return None
    y = noise_quantile(setting, TIMES_OUT_OF_TEN / 10)
    if step is not None and setting.kind == "additive":
        return _shown_on(setting.law.lattice(setting.parameters) or step, setting, reading, y)
    if setting.kind == "relative":
        y *= abs(reading)
    return reading - y, reading + y


def _shown_on(step: float, setting: PrivacySetting, reading: float, y: float) -> tuple[float, float]:
    """The reading's place on the lattice, and as many steps to either side as have the wanted chance together.

    ``y`` is where the continuous law has it: on a fine lattice that, rounded.
    """
    unit = Fraction(number_text(step))
    place, around = math.floor(Fraction(reading) / unit + Fraction(1, 2)), round(y / step)
    if y < FINE * step:
        k = np.arange(2 * around + 8)
        chance = np.cumsum(np.where(k == 0, 1, 2) * setting.law.pmf(setting.parameters, step, k))
        around = int(np.argmax(chance >= TIMES_OUT_OF_TEN / 10 - 1e-12))
    return float((place - around) * unit), float((place + around) * unit)
