"""Discrete Laplace and Gaussian noise: exact inversion at scales up to `WIDE` steps, rejection in integers beyond."""

import math
from fractions import Fraction
from functools import cached_property, lru_cache

from halfmask_device.certain import decay_bounds
from halfmask_device.exact import discrete_gaussian, discrete_laplace
from halfmask_device.law import Inverted
from halfmask_device.prf import Bits

WIDE = 1 << 12
FAR = 40
"""Bits of the tail that the table leaves to slower ways: 2^(FAR - 64) of all draws."""


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


class DiscreteGaussian(Inverted):
    """P(k) = exp(-k^2 / (2 scale^2)) / Z, Z the sum over all k.

    Beyond `WIDE` steps chances are those of the continuous law at borders between steps, right to 1e-6.
    """

    def __init__(self, scale: Fraction) -> None:
        self.scale, self.square = scale, scale * scale
        self._sums = lru_cache(maxsize=4)(self._summed)

    def draw(self, source: Bits) -> int:
        return super().draw(source) if self.scale <= WIDE else discrete_gaussian(source, self.square)

    def prepare(self) -> None:
        if self.scale <= WIDE:
            super().prepare()

    def _summed(self, bits: int) -> list[tuple[int, int]]:
        """Bounds of 2^width (w_0 + 2 w_1 + ... + 2 w_(n-1)) for n = 1, 2, ..., then of Z; w_n = exp(-n^2/(2 scale^2)).

        w_(n+1) = w_n r_n, r_(n+1) = r_n q, each rounded down and up in integers of 2^-width, width = bits + 64; the sum
        ends where w is below one unit, and the rest is at most w_n / (1 - r_n).
        """
        width = bits + 64
        one = 1 << width
        ratios = [decay_bounds(part / self.square, width + 8) for part in (Fraction(1, 2), Fraction(1))]
        r, q = (math.floor(least * one) for least, _ in ratios)
        top_r, top_q = (math.ceil(most * one) for _, most in ratios)
        w = top_w = low = high = one
        found = [(low, high)]
        while w:
            w, top_w = w * r >> width, (top_w * top_r >> width) + 1
            r, top_r = r * q >> width, (top_r * top_q >> width) + 1
            low, high = low + 2 * w, high + 2 * top_w
            found.append((low, high))
        rest = 2 * (top_w * one // (one - top_r) + 1)
        found.append((low, high + rest))
        return found

    def below(self, n: int, bits: int) -> tuple[int, int]:
        *sums, (least, most) = self._sums(bits)
        low, high = sums[min(n, len(sums)) - 1]
        one = 1 << bits
        return low * one // most, min(-(-high * one // least), one) if n <= len(sums) else one

    def _tabulate(self) -> list[int]:
        *sums, (_, most) = self._sums(64)
        found: list[int] = []
        for low, _ in sums:
            share = (low << 64) // most
            if share >= (1 << 64) - (1 << FAR):
                break
            found.append(share)
        return found

    @cached_property
    def _tails(self) -> list[float]:
        """P(|k| >= n) for n = 0, 1, ...: added from the far end, where they are small."""
        s = float(self.scale)
        weights = [math.exp(-0.5 * (n / s) ** 2) for n in range(math.ceil(39 * s) + 2)]
        total, tails = 0.0, []
        for weight in reversed(weights[1:]):
            total += 2 * weight
            tails.append(total)
        z = total + 1.0
        return [1.0, *(each / z for each in reversed(tails))]

    def tail(self, n: int) -> float:
        if n <= 0:
            return 1.0
        if self.scale > WIDE:
            return math.erfc((n - 0.5) / float(self.scale) / math.sqrt(2))
        return self._tails[n] if n < len(self._tails) else 0.0

    def mass(self, k: int) -> float:
        if self.scale > WIDE:
            return math.exp(-0.5 * (k / float(self.scale)) ** 2) / (float(self.scale) * math.sqrt(2 * math.pi))
        return math.exp(-0.5 * (k / float(self.scale)) ** 2) * (1.0 - self._tails[1])

    def _moment(self, power: int) -> float:
        """scale^2 and 3 scale^4, to exp(-2 pi^2 scale^2) (Poisson's summation); summed where that is not nothing."""
        s = float(self.scale)
        if s > 8:
            return s * s if power == 2 else 3 * s**4
        return math.fsum(2 * n**power * self.mass(n) for n in range(1, len(self._tails)))


def laplace_divergence(x: float, epsilon: float, order: float) -> float:
    """Of the discrete Laplace with p(k) ~ exp(-x |k|), moved by epsilon/x steps.

    The sum is e^((a-1) eps) (1 + e^(-(2a-1) eps) + (1 - q) (r - r^D) / (1 - r)) / (1 + q): the k before both centres,
    beyond both, and between them, with r = exp(-(2a - 1) x) and q = exp(-x).
    """
    q, r, high = math.exp(-x), -(2 * order - 1) * x, (order - 1) * epsilon
    between = (math.exp(r) - math.exp((2 * order - 1) * -epsilon)) / -math.expm1(r)
    inside = (1 + math.exp(-order * epsilon - high) + (1 - q) * between) / (1 + q)
    return (high + math.log(inside)) / (order - 1)
