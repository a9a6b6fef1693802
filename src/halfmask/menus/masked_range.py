"""The range that a masked reading usually lies in: quantiles of the noise, with or without a device's lattice."""

import math
from fractions import Fraction

import numpy as np

from halfmask.mechanisms.setting import PrivacySetting
from halfmask_device.decimals import number_text

TIMES_OUT_OF_TEN = 8
FINE = 1000
"""Number of steps in a quantile of the noise from which on the lattice no longer matters."""


def few_steps(value: float, step: float | None) -> bool:
    """Return whether a value is below 1,000 steps of the lattice.

    Such a value is written with all its digits, so that it lies on the lattice; any other with three digits.
    """
    return step is not None and abs(value) < 1000 * step


def one_in_print(low: float, high: float, step: float | None) -> bool:
    """Return whether both ends would look equal in three digits, so that a range is not worth printing.

    The difference is compared with one unit of the third digit, because rounding each end may move them apart by that
    much.
    """
    if low == high:
        return True
    largest = max(abs(low), abs(high))
    return not few_steps(largest, step) and high - low < 10.0 ** (math.floor(math.log10(largest)) - 2)


def noise_quantile(setting: PrivacySetting, probability: float) -> float:
    """Return the smallest y with P(|psi| <= y) >= probability.

    As noise is symmetric, it is the quantile of psi at (1 + probability)/2. If the law has no quantile function, y is
    found by bisection of its distribution function.
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
    """Return the 10th and 90th percentiles of the masked reading; None without a noise law.

    The noise is symmetric, so P(|psi| <= y) = 0.8 gives both. With a ``step``, the range is that of a device's report
    on this lattice, or on the setting's own lattice if it has one.
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
    """Return the range of a device's report: the reading rounded to the lattice, minus and plus a number of steps.

    It is the smallest number with which the range contains the report 8 times out of 10. ``y`` is the quantile of the
    continuous law; on a fine lattice, y is only rounded to steps.
    """
    unit = Fraction(number_text(step))
    place, around = math.floor(Fraction(reading) / unit + Fraction(1, 2)), round(y / step)
    if y < FINE * step:
        k = np.arange(2 * around + 8)
        chance = np.cumsum(np.where(k == 0, 1, 2) * setting.law.pmf(setting.parameters, step, k))
        around = int(np.argmax(chance >= TIMES_OUT_OF_TEN / 10 - 1e-12))
    return float((place - around) * unit), float((place + around) * unit)
