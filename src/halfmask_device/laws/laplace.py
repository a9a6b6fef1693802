"""Discrete Laplace noise: exact inversion at scales up to `WIDE` steps, integer rejection sampling above."""

import math
from fractions import Fraction
from functools import cached_property

from halfmask_device.exact_comparison import decay_bounds
from halfmask_device.exact_samplers import discrete_laplace
from halfmask_device.law import FAR, TAIL, WIDE, DeviceMechanism, Inverted, Parameters
from halfmask_device.random_bits import Bits


class DiscreteLaplace(Inverted):
    """P(k) = tanh(x/2) exp(-|k| x), with x = 1/scale.

    For readings d steps apart, probabilities differ by a factor of at most exp(d x), which is reached in the tails. So
    epsilon is exactly sensitivity/b. Rounded continuous Laplace noise would have the same epsilon and nearly the same
    distribution: P(0) = 1 - exp(-x/2) instead of tanh(x/2), a total variation below x^2/8.
    """

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale

    def draw(self, source: Bits) -> int:
        return super().draw(source) if self.scale <= WIDE else discrete_laplace(source, self.scale)

    def below(self, n: int, bits: int) -> tuple[int, int]:
        """Return bounds of 2^bits (1 - 2 q^n / (1 + q)), with q = exp(-1/scale)."""
        low, high = decay_bounds(n / self.scale, bits + 8)
        least, most = decay_bounds(1 / self.scale, bits + 8)
        one = 1 << bits
        return max(one - math.ceil(2 * high / (1 + least) * one), 0), one - math.floor(2 * low / (1 + most) * one)

    def _tabulate(self) -> list[int]:
        """Return the table from powers of q = exp(-1/scale), in integers of 2^-192.

        Each product is rounded up, so the n-th power is too large by less than n units.
        """
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
        """Return E k^2 = 1/(2 s^2) or E k^4 = (10 + 2 cosh x)/(8 s^4), with s = sinh(x/2)."""
        s = math.sinh(self._x / 2)
        return 1 / (2 * s * s) if power == 2 else (10 + 2 * math.cosh(self._x)) / (8 * s**4)


def laplace_divergence(x: float, epsilon: float, order: float) -> float:
    """Return the Renyi divergence of order a for the discrete Laplace law p(k) ~ exp(-x |k|) and D = epsilon/x steps.

    The sum of p(k)^a p(k - D)^(1-a) is e^((a-1) eps) (1 + e^(-(2a-1) eps) + (1 - q) (r - r^D) / (1 - r)) / (1 + q),
    with r = exp(-(2a - 1) x) and q = exp(-x). Its three terms are the k on one side of both centres, on the other side,
    and between them.
    """
    q, r, high = math.exp(-x), -(2 * order - 1) * x, (order - 1) * epsilon
    between = (math.exp(r) - math.exp((2 * order - 1) * -epsilon)) / -math.expm1(r)
    inside = (1 + math.exp(-order * epsilon - high) + (1 - q) * between) / (1 + q)
    return (high + math.log(inside)) / (order - 1)


def divergence(p: Parameters, change: Fraction, step: Fraction, order: float) -> float:
    """Return `laplace_divergence` for a scale, change and step in the readings' unit."""
    return laplace_divergence(float(step / p[0]), float(change / p[0]), order)


MECHANISM = DeviceMechanism(
    "laplace",
    ("b",),
    build=lambda p, step: DiscreteLaplace(p[0] / step),
    reach=lambda p: TAIL * p[0],
    per_unit=lambda p: 1 / p[0],
    divergence=divergence,
)
