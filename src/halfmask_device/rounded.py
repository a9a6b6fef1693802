"""Continuous noise rounded to the lattice, k = round(psi/step) halves away from 0: each drawn from its exact law."""

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from math import ceil, floor, lcm

from halfmask_device.certain import CHUNK, GUARD, chance, decay_bounds, quarter_sine
from halfmask_device.exact import geometric
from halfmask_device.law import GAP, Inverted, Law
from halfmask_device.prf import Bits

PANELS = 1 << 16
CELLS = 1 << 12
"""Cells of the sine's table at most."""


class Rounded(Law):
    """|k| >= n where |psi/step| >= n - 1/2."""

    @abstractmethod
    def beyond(self, y: float) -> float:
        """P(|psi/step| >= y)."""

    @abstractmethod
    def _reach(self) -> float:
        """What |psi/step| exceeds never, or with a chance below 1e-30."""

    def tail(self, n: int) -> float:
        return self.beyond(n - 0.5) if n > 0 else 1.0

    def _moment(self, power: int) -> float:
        """sum (n^p - (n-1)^p) P(|k| >= n); beyond `PANELS` cells the integral of p y^(p-1) P(|psi| >= y), to 1e-6."""
        most = floor(self._reach() + 0.5)
        if most <= PANELS:
            return math.fsum((n**power - (n - 1) ** power) * self.tail(n) for n in range(1, most + 1))
        width = self._reach() / PANELS
        middles = ((j + 0.5) * width for j in range(PANELS))
        return math.fsum(power * y ** (power - 1) * self.beyond(y) * width for y in middles)


class RoundedUniform(Rounded):
    """round(X) for X uniform on [-a, a], a = p/q: cells of width 1/(2q), of which the lattice's borders are corners."""

    def __init__(self, a: Fraction) -> None:
        self.a = a
        self.p, self.q = a.as_integer_ratio()

    def draw(self, source: Bits) -> int:
        return (source.below(4 * self.p) - 2 * self.p + self.q) // (2 * self.q)

    def beyond(self, y: float) -> float:
        return float(max(1 - Fraction(y) / self.a, Fraction(0)))

    def _reach(self) -> float:
        return float(self.a)


class RoundedTable(Rounded):
    """round(X), |X| uniform within each piece of the table, pieces of their stated mass, the sign a coin.

    All ends of pieces and all borders of the lattice are whole numbers of cells, so a piece is a range of cells.
    """

    def __init__(self, y: tuple[Fraction, ...], c: tuple[Fraction, ...]) -> None:
        self.y, self.c = (Fraction(0), *y), (Fraction(0), *c)
        self.cells = 2 * lcm(*(each.denominator for each in y))  # of a step
        self.ends = [int(each * self.cells) for each in self.y]
        whole = lcm(*(each.denominator for each in c))
        self.masses = list(accumulate(int((high - low) * whole) for low, high in pairwise(self.c)))

    def draw(self, source: Bits) -> int:
        piece = bisect_right(self.masses, source.below(self.masses[-1]))
        low, high = self.ends[piece : piece + 2]
        size = (low + source.below(high - low) + self.cells // 2) // self.cells
        return -size if source.bits(1) else size

    def beyond(self, y: float) -> float:
        piece = bisect_right(self.y, y)
        if piece == len(self.y):
            return 0.0
        (low, high), (c, d) = self.y[piece - 1 : piece + 1], self.c[piece - 1 : piece + 1]
        return float(1 - c - (d - c) * (Fraction(y) - low) / (high - low))

    def _reach(self) -> float:
        return float(self.y[-1])


class RoundedStaircase(Rounded):
    """round(X), |X| = delta (G + V): P(G >= k) = exp(-k epsilon), V below gamma with chance p, uniform on either part.

    p = gamma / (gamma + exp(-epsilon) (1 - gamma)) is irrational: it is compared, not computed. V is drawn in cells,
    of which gamma and the lattice's borders are corners.
    """

    def __init__(self, epsilon: Fraction, delta: Fraction, gamma: Fraction) -> None:
        self.epsilon, self.delta, self.gamma = epsilon, delta, gamma
        p, q = delta.as_integer_ratio()
        self.cells = 2 * p * gamma.denominator  # of V
        self.step = 2 * q * gamma.denominator  # the lattice's, in cells
        self.first = int(gamma * self.cells)
        self._first_bounds = lru_cache(maxsize=8)(self._bounds)

    def _bounds(self, bits: int) -> tuple[int, int]:
        low, high = decay_bounds(self.epsilon, bits + 8)
        rest = 1 - self.gamma
        return (
            floor(self.gamma / (self.gamma + high * rest) * 2**bits),
            ceil(self.gamma / (self.gamma + low * rest) * 2**bits),
        )

    def draw(self, source: Bits) -> int:
        if self.gamma and chance(source, self._first_bounds):
            v = source.below(self.first)
        else:
            v = self.first + source.below(self.cells - self.first)
        size = (geometric(source, *self.epsilon.as_integer_ratio()) * self.cells + v + self.step // 2) // self.step
        return -size if source.bits(1) else size

    def beyond(self, y: float) -> float:
        """e^j (e + (1 - e) P(V >= v)) at y = delta (j + v), e = exp(-epsilon)."""
        epsilon, gamma = float(self.epsilon), float(self.gamma)
        j, v = divmod(y / float(self.delta), 1.0)
        e = math.exp(-epsilon)
        whole = gamma + e * (1 - gamma)
        within = 1 - v / whole if v < gamma else e * (1 - v) / whole if gamma else 1 - v
        return math.exp(-j * epsilon) * (e + (1 - e) * within)

    def _reach(self) -> float:
        return float(self.delta * (1 + 80 / self.epsilon))


class RoundedSine(Rounded, Inverted):
    """round(P(x)), x = sin(2 pi U), P(x) = sum_k c_k x^(2k+1) with c_k = theta_k^(2k+1)/step >= 0.

    P is odd and rises, so |x| = sin(pi U/2) with a coin for the sign, |k| >= n where U >= (2/pi) arcsin(P^-1(n - 1/2)).
    """

    def __init__(self, coefficients: list[Fraction]) -> None:
        self.denominator = lcm(*(each.denominator for each in coefficients))
        self.numerators = [int(each * self.denominator) for each in coefficients]
        self.most = float(sum(coefficients))
        self.floats = [float(each) for each in coefficients]

    def _steps(self, x: int, width: int) -> int:
        """floor(P(x/2^width) + 1/2), in integers: the numerator over denominator 2^((2K-1) width), K terms."""
        square, total = x * x, 0
        for shift, numerator in enumerate(reversed(self.numerators)):
            total = total * square + (numerator << (2 * width * shift))
        whole = self.denominator << ((2 * len(self.numerators) - 1) * width)
        return (2 * total * x + whole) // (2 * whole)

    def _sizes(self, u: int, bits: int) -> tuple[int, int]:
        """The least and the largest |k| that U in [u, u + 1) / 2^bits may give: the sine rises by less than 2 there."""
        width = bits + GUARD
        sine = quarter_sine(u, bits)
        return (
            self._steps(max(sine - width, 0), width),
            self._steps(min(sine + width + (2 << GUARD), 1 << width), width),
        )

    def _size(self, u: int, bits: int) -> int | None:
        low, high = self._sizes(u, bits)
        return low if low == high else None

    def below(self, n: int, bits: int) -> tuple[int, int]:
        """By bisection of `_sizes`, from a float's guess outwards."""
        one = 1 << bits
        if n > self.most + 1:
            return one, one
        guess = min(int((1.0 - self.tail(n)) * 2**53) << (bits - 53), one - 1)
        return self._edge(guess, bits, lambda u: self._sizes(u, bits)[1] >= n), self._edge(
            guess, bits, lambda u: self._sizes(u, bits)[0] >= n
        )

    @staticmethod
    def _edge(guess: int, bits: int, reached: Callable[[int], bool]) -> int:
        """The least u of 0 .. 2^bits at which ``reached`` holds, which does not fall with u."""
        stride, one = 1 << (bits - 52), 1 << bits
        low, high = guess - stride, guess + stride
        while low > 0 and reached(low):
            high, low, stride = low, low - 2 * stride, 2 * stride
        while high < one and not reached(high):
            low, high, stride = high, high + 2 * stride, 2 * stride
        low, high = max(low, -1), min(high, one)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high

    def prepare(self) -> None:
        if self.most < CELLS:
            super().prepare()

    def _tabulate(self) -> list[int]:
        """A float's guess where `_sizes` confirms it, bisection where it does not: near the end arcsin is steep."""
        found: list[int] = []
        for n in range(1, floor(self.most + 0.5) + 1):
            t = max(int((1.0 - self.tail(n)) * 2**53) * 2**11 - GAP // 2, 0)
            if t and (self._sizes(t, CHUNK)[1] >= n or self._sizes(t + GAP - 1, CHUNK)[0] < n):
                t = max(self.below(n, CHUNK)[0] - 1, 0)
                if self._sizes(min(t + GAP - 1, (1 << CHUNK) - 1), CHUNK)[0] < n:
                    return found
            found.append(t)
        found.append((1 << CHUNK) - 1)  # no size is beyond
        return found

    def beyond(self, y: float) -> float:
        """1 - (2/pi) arcsin x, x the root of P(x) = y by Newton within brackets."""
        if y >= self.most:
            return 0.0
        low, high, x = 0.0, 1.0, min(y / self.most, 1.0)
        for _ in range(100):
            value = math.fsum(c * x ** (2 * k + 1) for k, c in enumerate(self.floats)) - y
            low, high = (x, high) if value < 0 else (low, x)
            slope = math.fsum((2 * k + 1) * c * x ** (2 * k) for k, c in enumerate(self.floats))
            following = x - value / slope if slope else low
            following = following if low <= following <= high else (low + high) / 2
            if abs(following - x) <= 1e-17 + 4e-16 * x:
                break
            x = following
        return 2 / math.pi * math.acos(x)

    def _reach(self) -> float:
        return self.most

    def _moment(self, power: int) -> float:
        """Beyond `PANELS` steps that of P(x), a trigonometric polynomial: its mean over 256 even angles is exact."""
        if self.most <= PANELS:
            return super()._moment(power)
        angles = (2 * math.pi * (j + 0.5) / 256 for j in range(256))
        values = (math.fsum(c * math.sin(a) ** (2 * k + 1) for k, c in enumerate(self.floats)) for a in angles)
        return math.fsum(value**power for value in values) / 256
