"""Logistic noise rounded to the lattice, drawn exactly."""

import math
from fractions import Fraction

from halfmask_device.certain import decay_bounds
from halfmask_device.exact import bernoulli_exp, discrete_laplace
from halfmask_device.law import Inverted
from halfmask_device.more import DeviceMechanism
from halfmask_device.prf import Bits
from halfmask_device.rounded import Rounded

WIDE = 1 << 12
FAR = 40
"""Bits of the tail that the table leaves to slower ways: 2^(FAR - 64) of all draws."""


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


MECHANISM = DeviceMechanism(
    "logistic", ("s",), lambda p, step: RoundedLogistic(p[0] / step), lambda p: Fraction(33) * p[0]
)
