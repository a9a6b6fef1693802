"""The law of a setting's noise on the campaign's lattice, as the device draws it, with what the estimates need."""

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from halfmask.errors import SettingError
from halfmask_device.setting import FURTHEST, DeviceSetting, law

if TYPE_CHECKING:  # a service starts without numpy, and loads it when a period closes
    from halfmask.arrays import FloatArray

IMPLAUSIBLE = 1e-12
"""A report is refused if noise reaches it, from the nearer end of the range, with a chance smaller than this."""
NEGLIGIBLE = 1e-16


class LatticeNoise:
    """A symmetric law of K steps: its variance, its fourth moment, and the furthest K that is still plausible."""

    def __init__(self, setting: str, step: Fraction) -> None:
        self.law = law(DeviceSetting.parse(setting), step)
        self.furthest = self.law.furthest(IMPLAUSIBLE)
        self.variance, self.fourth = self.law.variance, self.law.fourth

    @lru_cache(maxsize=64)  # noqa: B019 - laws are few and live as long as the process
    def masses(self, width: int) -> "FloatArray":
        """Return P(K in cell j) for j = 0, 1, ...; cell j holds the ``width`` (odd) integers around j width.

        The last cell is reached when the remaining probability is below any rounding.
        """
        import numpy as np

        first = (width + 1) // 2
        count = max(1, math.ceil(self.law.furthest(NEGLIGIBLE) / width) + 1)
        beyond = np.array([self.law.above(first + j * width) for j in range(count)] + [0.0])
        result: FloatArray = np.concatenate([[1 - 2 * beyond[0]], beyond[:-1] - beyond[1:]])
        return np.maximum(result, 0.0)


def cell_width(wanted: float) -> int:
    """Return the smallest odd number of steps that is at least ``wanted``."""
    return max(1, 2 * math.ceil((wanted - 1) / 2) + 1)


@lru_cache(maxsize=1024)
def lattice_noise(setting: str, step: Fraction) -> LatticeNoise:
    """Return the law of a setting on a lattice. It is cached, so campaigns share it."""
    return LatticeNoise(setting, step)


def check_reach(noise: LatticeNoise, ends: tuple[int, int]) -> None:
    """Raise SettingError if a plausible report would not fit 63 bits: stores hold reports as 64-bit integers."""
    if max(abs(ends[0]), abs(ends[1])) + noise.furthest >= FURTHEST:
        raise SettingError("a report could lie beyond 64-bit integers: take a coarser step", kind="reach")
