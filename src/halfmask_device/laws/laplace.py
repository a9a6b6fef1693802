"""Discrete Laplace noise: exact inversion at scales up to `WIDE` steps, rejection in integers beyond."""

import math
from fractions import Fraction
from functools import cached_property

from halfmask_device.certain import decay_bounds
from halfmask_device.exact import discrete_laplace
from halfmask_device.law import FAR, TAIL, WIDE, DeviceMechanism, Inverted, Parameters
from halfmask_device.prf import Bits


class DiscreteLaplace(Inverted):
    """P(k) = tanh(x/2) exp(-|k| x), x = 1/scale.

    For readings d steps apart chances differ by exp(d x) at most, and by just that far out: epsilon is sensitivity/b
    exactly. Rounding the continuous law would give the same epsilon and nearly the same law: it weighs 0 by
    1 - exp(-x/2) in place of tanh(x/2), a total variation below x^2/8.
    """

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale

    def draw(self, source: Bits) -> int:
        return super().draw(source) if self.scale <= WIDE else discrete_laplace(source, self.scale)

    def prepare(self) -> None:
        if self.scale <= WIDE:
            super().prepare()

    def below(self, n: int, bits: int) -> tuple[int, int]:
        """1 - 2 q^n / (1 + q), q = exp(-1/scale)."""
        low, high = decay_bounds(n / self.scale, bits + 8)
        least, most = decay_bounds(1 / self.scale, bits + 8)
        one = 1 << bits
        return max(one - math.ceil(2 * high / (1 + least) * one), 0), one - math.floor(2 * low / (1 + most) * one)

    def _tabulate(self) -> list[int]:
        """Powers of q in integers of 2^-192, rounded up: the error of n of them stays below n units."""
        width = 192
        least, most = decay_bounds(1 / self.scale, width + 8)
        q, term = math.ceil(most * (1 << width)), math.ceil(2 * most / (1 + least) * (1 << width))
        found: list[int] = []
        while term >> (width - 64 + FAR):
            found.append(((1 << width) - term) >> (width - 64))
            term = (term * q >> width) + 1
        return found

    @cached_property
    def _x(self) -> float:
        return float(1 / self.scale)

    def tail(self, n: int) -> float:
        return 2 * math.exp(-n * self._x) / (1 + math.exp(-self._x)) if n > 0 else 1.0

    @property
    def unmasked(self) -> float:
        return math.tanh(self._x / 2)

    def mass(self, k: int) -> float:
        return math.tanh(self._x / 2) * math.exp(-abs(k) * self._x)

    def _moment(self, power: int) -> float:
        """E k^2 = 1/(2 s^2) and E k^4 = (10 + 2 cosh x)/(8 s^4), s = sinh(x/2)."""
        s = math.sinh(self._x / 2)
        return 1 / (2 * s * s) if power == 2 else (10 + 2 * math.cosh(self._x)) / (8 * s**4)


def laplace_divergence(x: float, epsilon: float, order: float) -> float:
    """Of the discrete Laplace with p(k) ~ exp(-x |k|), moved by epsilon/x steps.

    The sum is e^((a-1) eps) (1 + e^(-(2a-1) eps) + (1 - q) (r - r^D) / (1 - r)) / (1 + q): the k before both centres,
    beyond both, and between them, with r = exp(-(2a - 1) x) and q = exp(-x).
    """
    q, r, high = math.exp(-x), -(2 * order - 1) * x, (order - 1) * epsilon
    between = (math.exp(r) - math.exp((2 * order - 1) * -epsilon)) / -math.expm1(r)
    inside = (1 + math.exp(-order * epsilon - high) + (1 - q) * between) / (1 + q)
    return (high + math.log(inside)) / (order - 1)


def divergence(p: Parameters, change: Fraction, step: Fraction, order: float) -> float:
    """`laplace_divergence` of parameters in the readings' unit."""
    return laplace_divergence(float(step / p[0]), float(change / p[0]), order)


MECHANISM = DeviceMechanism(
    "laplace",
    ("b",),
    build=lambda p, step: DiscreteLaplace(p[0] / step),
    reach=lambda p: TAIL * p[0],
    per_unit=lambda p: 1 / p[0],
    divergence=divergence,
)
