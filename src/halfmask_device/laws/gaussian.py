"""Discrete Gaussian noise: exact inversion at scales up to `WIDE` steps, integer rejection sampling above."""

import math
from fractions import Fraction
from functools import cached_property, lru_cache

from halfmask_device.exact_comparison import decay_bounds
from halfmask_device.exact_samplers import discrete_gaussian
from halfmask_device.law import FAR, TAIL, WIDE, DeviceMechanism, Inverted
from halfmask_device.random_bits import Bits


class DiscreteGaussian(Inverted):
    """P(k) = exp(-k^2 / (2 scale^2)) / Z, with Z the sum over all k.

    At scales above `WIDE` steps, probabilities and tails are those of the continuous distribution, and tails start half
    a step before n. They are accurate to 1e-6.
    """

    def __init__(self, scale: Fraction) -> None:
        self.scale, self.square = scale, scale * scale
        self._sums = lru_cache(maxsize=4)(self._summed)

    def draw(self, source: Bits) -> int:
        return super().draw(source) if self.scale <= WIDE else discrete_gaussian(source, self.square)

    def _summed(self, bits: int) -> list[tuple[int, int]]:
        """Return bounds of 2^width (w_0 + 2 w_1 + ... + 2 w_(n-1)) for n = 1, 2, ..., and last of 2^width Z.

        w_n = exp(-n^2/(2 scale^2)) and width = bits + 64. The recursion is w_(n+1) = w_n r_n, r_(n+1) = r_n q, in
        integers of 2^-width, once rounded down and once up. The sum ends when w is below one unit; the rest is at most
        2 w_n / (1 - r_n).
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
        """Return P(|k| >= n) for n = 0, 1, ..., summed from the smallest term up."""
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
        """Return E k^power: up to scale 8 a sum, above it scale^2 or 3 scale^4, accurate to exp(-2 pi^2 scale^2)."""
        s = float(self.scale)
        if s > 8:
            return s * s if power == 2 else 3 * s**4
        return math.fsum(2 * n**power * self.mass(n) for n in range(1, len(self._tails)))


MECHANISM = DeviceMechanism(
    "gaussian",
    ("sigma",),
    build=lambda p, step: DiscreteGaussian(p[0] / step),
    reach=lambda p: TAIL * p[0] / 4,  # exp(-8^2/2) is exp(-32)
    divergence=lambda p, change, _, order: order * float(change / p[0]) ** 2 / 2,  # exact for whole steps
)
