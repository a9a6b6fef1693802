"""Uniform noise rounded to the lattice, drawn exactly."""

from fractions import Fraction

from halfmask_device.law import DeviceMechanism, Rounded
from halfmask_device.random_bits import Bits


class RoundedUniform(Rounded):
    """round(X) with X uniform on [-a, a], a = p/q: X is drawn as a cell of width 1/(2q).

    The rounding borders of the lattice are multiples of that width.
    """

    def __init__(self, a: Fraction) -> None:
        self.a = a
        self.p, self.q = a.as_integer_ratio()

    def draw(self, source: Bits) -> int:
        return (source.below(4 * self.p) - 2 * self.p + self.q) // (2 * self.q)

    def beyond(self, y: float) -> float:
        return float(max(1 - Fraction(y) / self.a, Fraction(0)))

    def _reach(self) -> float:
        return float(self.a)


MECHANISM = DeviceMechanism("uniform", ("a",), build=lambda p, step: RoundedUniform(p[0] / step), reach=lambda p: p[0])
