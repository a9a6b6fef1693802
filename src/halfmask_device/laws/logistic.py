"""Logistic noise rounded to the lattice, drawn exactly."""

import math
from fractions import Fraction

from halfmask_device.certain import decay_bounds
from halfmask_device.exact import bernoulli_exp, discrete_laplace
from halfmask_device.law import FAR, WIDE, DeviceMechanism, Inverted, Rounded
from halfmask_device.prf import Bits


class RoundedLogistic(Rounded, Inverted):
    """round(X), P(|X| < y) = tanh(y/(2 scale)): by inversion up to a scale of `WIDE` steps, by rejection beyond.

    P(k) is proportional to exp(-|k|/scale) / ((1 + exp(-x)) (1 + exp(-y))), x and y = (|k| - 1/2)/scale and
    (|k| + 1/2)/scale: a discrete Laplace k that two coins let pass.
    """

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale

    def draw(self, source: Bits) -> int:
        if self.scale <= WIDE:
            return super().draw(source)
        while True:
            k = discrete_laplace(source, self.scale)
            ends = [(2 * abs(k) + side) / (2 * self.scale) for side in (-1, 1)]
            if all([_sigmoid(source, end) for end in ends]):  # noqa: C419 - both coins are thrown, whatever falls
                return k

    def prepare(self) -> None:
        if self.scale <= WIDE:
            super().prepare()

    def below(self, n: int, bits: int) -> tuple[int, int]:
        """(1 - q)/(1 + q), q = exp(-(n - 1/2)/scale)."""
        least, most = decay_bounds((2 * n - 1) / (2 * self.scale), bits + 8)
        one = 1 << bits
        return max(math.floor((1 - most) / (1 + most) * one), 0), math.ceil((1 - least) / (1 + least) * one)

    def _tabulate(self) -> list[int]:
        """Powers of exp(-1/scale) in integers of 2^-192, rounded up: the error of n of them stays below n units."""
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
    """True with probability 1/(1 + exp(-x)): a coin says yes at once, or no with chance exp(-x), or again."""
    while True:
        if source.bits(1):
            return x >= 0
        if bernoulli_exp(source, *abs(x).as_integer_ratio()):
            return x < 0


STEEPEST, WIDEST, FINE = 64.0, 50.0, 8


def _divergence(p: tuple[Fraction, ...], change: Fraction, _: Fraction, order: float) -> float:
    """log(integral of f(x)^a f(x - d)^(1-a)) / (a - 1) of the continuous law, which bounds that of the rounded one.

    By the trapezoid rule: the integrand is analytic within i pi of the line, so an eighth of a scale errs by less than
    1e-15 of it up to an order of `STEEPEST`. Beyond that, and for changes of more than `WIDEST` scales, infinite: what
    follows from the pure epsilon is near by then.
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
