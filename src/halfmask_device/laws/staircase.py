"""Staircase noise rounded to the lattice, drawn exactly."""

import math
from fractions import Fraction
from functools import lru_cache

from halfmask_device.errors import SettingError
from halfmask_device.exact_comparison import chance, decay_bounds
from halfmask_device.exact_samplers import geometric
from halfmask_device.law import TAIL, DeviceMechanism, Parameters, Rounded
from halfmask_device.random_bits import Bits


class RoundedStaircase(Rounded):
    """round(X) with |X| = delta (G + V) and P(G >= k) = exp(-k epsilon).

    V is uniform on [0, gamma) with probability p, else uniform on [gamma, 1), where

        p = gamma / (gamma + exp(-epsilon) (1 - gamma))

    p is irrational, so it is only compared with bounds. V is drawn as an integer number of cells. gamma and the
    rounding borders of the lattice are multiples of a cell.
    """

    def __init__(self, epsilon: Fraction, delta: Fraction, gamma: Fraction) -> None:
        self.epsilon, self.delta, self.gamma = epsilon, delta, gamma
        p, q = delta.as_integer_ratio()
        self.cells = 2 * p * gamma.denominator  # cells in [0, 1), the range of V
        self.step = 2 * q * gamma.denominator  # the lattice's step, in cells
        self.first = int(gamma * self.cells)
        self._first_bounds = lru_cache(maxsize=8)(self._bounds)

    def _bounds(self, bits: int) -> tuple[int, int]:
        low, high = decay_bounds(self.epsilon, bits + 8)
        rest = 1 - self.gamma
        return (
            math.floor(self.gamma / (self.gamma + high * rest) * 2**bits),
            math.ceil(self.gamma / (self.gamma + low * rest) * 2**bits),
        )

    def draw(self, source: Bits) -> int:
        if self.gamma and chance(source, self._first_bounds):
            v = source.below(self.first)
        else:
            v = self.first + source.below(self.cells - self.first)
        size = (geometric(source, *self.epsilon.as_integer_ratio()) * self.cells + v + self.step // 2) // self.step
        return -size if source.bits(1) else size

    def beyond(self, y: float) -> float:
        """Return e^j (e + (1 - e) P(V >= v)) for y = delta (j + v), with e = exp(-epsilon)."""
        epsilon, gamma = float(self.epsilon), float(self.gamma)
        j, v = divmod(y / float(self.delta), 1.0)
        e = math.exp(-epsilon)
        whole = gamma + e * (1 - gamma)
        within = 1 - v / whole if v < gamma else e * (1 - v) / whole if gamma else 1 - v
        return math.exp(-j * epsilon) * (e + (1 - e) * within)

    def _reach(self) -> float:
        return float(self.delta * (1 + 80 / self.epsilon))


def _restrict(parameters: tuple[float, ...]) -> None:
    epsilon, _, gamma = parameters
    if epsilon == 0:
        raise SettingError(
            "staircase: epsilon is 0, which asks for endless noise; it must be above 0", kind="range", field="epsilon"
        )
    if gamma > 1:
        raise SettingError(
            f"staircase: gamma is {gamma:g}; it is a share, between 0 and 1", kind="range", field="gamma"
        )


def _stairs(parameters: Parameters, change: Fraction) -> float:
    """Return epsilon times ceil(change/delta). Rounding is post-processing, so it does not change epsilon."""
    epsilon, delta, _ = parameters
    return float(epsilon * math.ceil(change / delta)) if delta else math.inf


MECHANISM = DeviceMechanism(
    "staircase",
    ("epsilon", "delta", "gamma"),
    build=lambda p, step: RoundedStaircase(p[0], p[1] / step, p[2]),
    reach=lambda p: p[1] * (1 + TAIL / p[0]),
    restrict=_restrict,
    stairs=_stairs,
)
