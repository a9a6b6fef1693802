"""The law of a setting's noise on the campaign's lattice, k steps, as the device draws it; symmetric around 0."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from halfmask.errors import SettingError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask_device.laws import FURTHEST, law
from halfmask_device.setting import DeviceSetting

Floats = NDArray[np.float64]
IMPLAUSIBLE = 1e-12
"""A report that the noise reaches with a smaller chance, from the nearer end of the range, is refused."""
CELLS = 2**15
"""Cells on either side of 0 in which moments are computed; where a law has fewer steps they are exact."""


class LatticeNoise:
    """P(K >= k) for k >= 1, the moments of K, and the furthest k that is still plausible."""

    def __init__(self, setting: str, step: Fraction) -> None:
        device = DeviceSetting.parse(setting)
        law(device, step)  # refuses what a device could not draw
        self.tail = _tail(device, step)
        self.furthest = self._furthest()
        self.variance, self.fourth = self._moments()

    def _furthest(self) -> int:
        """The largest k with P(K >= k) >= 1e-12; 0 where there is no noise."""
        low, high = 0, 1
        while high <= FURTHEST and self._plausible(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._plausible(middle) else (low, middle)
        return low

    def _plausible(self, k: int) -> bool:
        return float(self.tail(np.array([float(k)]))[0]) >= IMPLAUSIBLE

    def _moments(self) -> tuple[float, float]:
        """E K^2 and E K^4 = 2 sum_k k^m P(K = k), over cells of an odd number of steps, each at its middle."""
        if not self.furthest:
            return 0.0, 0.0
        width = cell_width(self.furthest / CELLS)
        half = self.masses(width, math.ceil(2 * self.furthest / width) + 1)[1:]
        # in a cell of w steps the mean of (c + j)^2 is c^2 + (w^2 - 1)/12
        centres = np.arange(1, half.size + 1) * float(width)
        spread = (width * width - 1) / 12
        within = 1 - 2 * float(half.sum())
        second = 2 * float(half @ (centres**2 + spread)) + within * spread
        return second, 2 * float(half @ (centres**4 + 6 * centres**2 * spread))

    def masses(self, width: int, count: int) -> Floats:
        """P(K in cell j) for j = 0..count - 1; cell j holds the ``width`` (odd) integers around j width."""
        corners = np.arange(count + 1) * float(width) - (width - 1) / 2
        beyond = np.where(corners > 0, self.tail(np.maximum(corners, 1.0)), 0.0)
        mass = beyond[:-1] - beyond[1:]
        mass[0] = 1 - 2 * beyond[1]
        result: Floats = np.maximum(mass, 0.0)
        return result


def cell_width(wanted: float) -> int:
    """The least odd number of steps that is not below ``wanted``."""
    return max(1, 2 * math.ceil((wanted - 1) / 2) + 1)


@lru_cache(maxsize=1024)
def lattice_noise(setting: str, step: Fraction) -> LatticeNoise:
    """The law of a setting on a lattice; campaigns share it."""
    return LatticeNoise(setting, step)


def _tail(device: DeviceSetting, step: Fraction) -> Callable[[Floats], Floats]:
    """P(K >= k), k >= 1, of the law that the device draws."""
    setting, unit = PrivacySetting.parse(device.text), float(step)
    return lambda k: np.maximum(setting.law.lattice_tail(setting.parameters, unit, k), 0.0)


def check_reach(noise: LatticeNoise, ends: tuple[int, int]) -> None:
    """Refuse a lattice on which a plausible report would not fit 63 bits: stores hold reports as 64-bit integers."""
    if max(abs(ends[0]), abs(ends[1])) + noise.furthest >= FURTHEST:
        raise SettingError("a report could lie beyond 64-bit integers: take a coarser step")
