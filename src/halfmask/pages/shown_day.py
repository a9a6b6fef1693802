"""A day of a household, and what others see of it under a setting. The day is an example, nobody's own."""

import math
from typing import Any

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.masked_range import noise_quantile
from halfmask.streams import stream
from halfmask_device.setting import READING, SPLIT

DAY = (
    *(0.45, 0.4, 0.38, 0.37, 0.38, 0.5, 0.95, 1.3, 1.1, 0.9, 0.85, 0.95),
    *(1.2, 1.0, 0.85, 0.85, 1.05, 1.7, 2.5, 2.7, 2.2, 1.6, 1.0, 0.6),
)
"""A day by the hour, over its median: an example made for these pages."""
AWAY = slice(16, 19)
FEWEST, MOST = 24, 288
SEED = 20
EIGHT_OF_TEN = 0.8


def example_day(reading: float, count: int) -> FloatArray:
    """Return a day of about ``count`` readings whose median is ``reading``."""
    count = min(max(count, FEWEST), MOST)
    hours = np.linspace(0, len(DAY), count, endpoint=False)
    values = np.interp(hours, np.arange(len(DAY)), DAY, period=len(DAY))
    return values * (reading / float(np.median(values)))


def example_month(total: float) -> FloatArray:
    """Return the totals of 30 days, with weekends and a few days away, whose mean is ``total``."""
    week = np.array([0.95, 0.9, 0.92, 0.96, 1.05, 1.3, 1.25])
    values = week[np.arange(30) % 7] * (1 + 0.12 * np.sin(np.arange(30) * 2.4))
    values[AWAY] = 0.3
    return np.asarray(values * (total / float(values.mean())))


def seen_of(setting: PrivacySetting, day: FloatArray) -> dict[str, Any]:
    """Return what others see of a day.

    ``line``  the day, or the masked day, if each reading is shared
    ``band``  the range that the report of the day's total has 8 times out of 10
    ``split`` nothing of one producer is seen
    """
    if setting.release == SPLIT:
        return {"split": True}
    if setting.release == READING:
        return {"line": day if setting.silent else setting.mask(day, stream(SEED, "pages.day"))}
    total = math.fsum(day)
    room = 0.0 if setting.silent else noise_quantile(setting, EIGHT_OF_TEN)
    return {"band": [total - room, total + room]}
