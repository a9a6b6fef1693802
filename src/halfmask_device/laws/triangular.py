"""Triangular noise rounded to the lattice, drawn exactly."""

from fractions import Fraction
from math import ceil, floor

from halfmask_device.law import DeviceMechanism, Inverted, Rounded


class RoundedTriangular(Rounded, Inverted):
    """round(X) with P(|X| < y) = 1 - (1 - y/a)^2, drawn by inversion, with a table if a is at most `WIDE` steps."""

    def __init__(self, a: Fraction) -> None:
        self.scale = self.a = a

    def below(self, n: int, bits: int) -> tuple[int, int]:
        chance = self._below(n) * (1 << bits)
        return floor(chance), ceil(chance)

    def _below(self, n: int) -> Fraction:
        left = max(1 - (2 * n - 1) / (2 * self.a), Fraction(0))
        return 1 - left * left

    def _tabulate(self) -> list[int]:
        return [floor(self._below(n) * (1 << 64)) for n in range(1, floor(self.a + Fraction(1, 2)) + 1)]

    def beyond(self, y: float) -> float:
        return float(max(1 - Fraction(y) / self.a, Fraction(0)) ** 2)

    def _reach(self) -> float:
        return float(self.a)


MECHANISM = DeviceMechanism(
    "triangular",
    ("a",),
    build=lambda p, step: RoundedTriangular(p[0] / step),
    reach=lambda p: p[0],
)
