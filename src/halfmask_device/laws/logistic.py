"""Logistic noise rounded to the lattice, drawn exactly."""

import math
from fractions import Fraction

from halfmask_device.exact_comparison import decay_bounds
from halfmask_device.exact_samplers import bernoulli_exp, discrete_laplace
from halfmask_device.law import FAR, WIDE, DeviceMechanism, Inverted, Rounded
from halfmask_device.random_bits import Bits


class RoundedLogistic(Rounded, Inverted):
    """round(X) with P(|X| < y) = tanh(y/(2 scale)): drawn by inversion up to a scale of `WIDE` steps, by rejection
    above.

    P(k) is proportional to exp(-|k|/scale) / ((1 + exp(-x)) (1 + exp(-y))), with x = (|k| - 1/2)/scale and
    y = (|k| + 1/2)/scale. So rejection draws a discrete Laplace k, and accepts it if two coins with the probabilities
    1/(1 + exp(-x)) and 1/(1 + exp(-y)) both succeed.
    """

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale

    def draw(self, source: Bits) -> int:
        if self.scale <= WIDE:
            return super().draw(source)
        while True:
            k = discrete_laplace(source, self.scale)
            ends = [(2 * abs(k) + side) / (2 * self.scale) for side in (-1, 1)]
            if all([_sigmoid(source, end) for end in ends]):  # noqa: C419 - both coins are always drawn
                return k

    def below(self, n: int, bits: int) -> tuple[int, int]:
        """Return bounds of 2^bits (1 - q)/(1 + q), with q = exp(-(n - 1/2)/scale)."""
        least, most = decay_bounds((2 * n - 1) / (2 * self.scale), bits + 8)
        one = 1 << bits
        return max(math.floor((1 - most) / (1 + most) * one), 0), math.ceil((1 - least) / (1 + least) * one)

    def _tabulate(self) -> list[int]:
        """Return the table from powers of exp(-1/scale), in integers of 2^-192.

        Each product is rounded up, so the n-th power is too large by less than n units.
        """
        width = 192
        one = 1 << width
        ratio, q = (math.ceil(decay_bounds(part / self.scale, width + 8)[1] * one) for part in (1, Fraction(1, 2)))
        found: list[int] = []
        while 2 * q >> (width - 64 + FAR):
            found.append(max(((one - q) << 64) // (one + q), 0))
            q = (q * ratio >> width) + 1
        return found

    def beyond(self, y: float) -> float:
        q = math.exp(-y / float(self.scale))
        return 2 * q / (1 + q)

    def _reach(self) -> float:
        return 80 * float(self.scale)


def _sigmoid(source: Bits, x: Fraction) -> bool:
    """Return True with probability 1/(1 + exp(-x)).

    For x >= 0, a fair coin decides for True. Otherwise False is returned with probability exp(-x), or the draw is
    repeated. For x < 0, True and False are exchanged.
    """
    while True:
        if source.bits(1):
            return x >= 0
        if bernoulli_exp(source, *abs(x).as_integer_ratio()):
            return x < 0


STEEPEST, WIDEST, FINE = 64.0, 50.0, 8


def _divergence(p: tuple[Fraction, ...], change: Fraction, _: Fraction, order: float) -> float:
    """Return log(integral of f(x)^a f(x - d)^(1-a)) / (a - 1) for the continuous density f, a bound for the rounded
    noise.

    It uses the trapezoid rule with a spacing of an eighth of a scale. The integrand is analytic within i pi of the real
    line, so the relative error is below 1e-15 up to order `STEEPEST`. For higher orders, and for changes of more than
    `WIDEST` scales, it returns infinity: the bound from pure epsilon is nearly as good there.
    """
    d = float(change / p[0])
    if order > STEEPEST or d > WIDEST:
        return math.inf
    places = [x / FINE for x in range(-45 * FINE, math.ceil((d + 45) * FINE))]
    powers = [order * _log_density(x) + (1 - order) * _log_density(x - d) for x in places]
    most = max(powers)
    total = math.fsum(math.exp(each - most) for each in powers) / FINE
    return max(most + math.log(total) + 1e-12, 0.0) / (order - 1)


def _log_density(x: float) -> float:
    return -abs(x) - 2 * math.log1p(math.exp(-abs(x)))


MECHANISM = DeviceMechanism(
    "logistic",
    ("s",),
    build=lambda p, step: RoundedLogistic(p[0] / step),
    reach=lambda p: Fraction(33) * p[0],
    per_unit=lambda p: 1 / p[0],  # the density's logarithm has a slope of tanh(x/(2s))/s
    divergence=_divergence,
)
