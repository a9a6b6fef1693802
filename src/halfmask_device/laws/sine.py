"""Sine noise rounded to the lattice, drawn exactly."""

import math
from collections.abc import Callable
from fractions import Fraction
from math import floor, lcm

from halfmask_device.exact_comparison import CHUNK, GUARD, quarter_sine
from halfmask_device.law import GAP, PANELS, DeviceMechanism, Inverted, Parameters, Rounded


class RoundedSine(Rounded, Inverted):
    """round(P(x)) with x = sin(2 pi U), P(x) = sum_k c_k x^(2k+1) and c_k = theta_k^(2k+1)/step >= 0.

    P is odd and increasing. So |x| is drawn as sin(pi U/2) with a coin for the sign, and |k| >= n if
    U >= (2/pi) arcsin(P^-1(n - 1/2)).
    """

    def __init__(self, coefficients: list[Fraction]) -> None:
        self.denominator = lcm(*(each.denominator for each in coefficients))
        self.numerators = [int(each * self.denominator) for each in coefficients]
        self.scale = sum(coefficients, Fraction(0))
        self.most = float(self.scale)
        self.floats = [float(each) for each in coefficients]

    def _steps(self, x: int, width: int) -> int:
        """Return floor(P(x/2^width) + 1/2), in integers.

        With K terms, P is computed as a numerator over denominator * 2^((2K-1) width).
        """
        square, total = x * x, 0
        for shift, numerator in enumerate(reversed(self.numerators)):
            total = total * square + (numerator << (2 * width * shift))
        whole = self.denominator << ((2 * len(self.numerators) - 1) * width)
        return (2 * total * x + whole) // (2 * whole)

    def _sizes(self, u: int, bits: int) -> tuple[int, int]:
        """Return the least and the largest |k| that U in [u, u + 1) / 2^bits may give.

        On this interval the sine grows by less than 2 units of 2^-bits.
        """
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
        """Return bounds by bisection of `_sizes`, starting from a guess in floats."""
        one = 1 << bits
        if n > self.most + 1:
            return one, one
        guess = min(int((1.0 - self.tail(n)) * 2**53) << (bits - 53), one - 1)
        return self._edge(guess, bits, lambda u: self._sizes(u, bits)[1] >= n), self._edge(
            guess, bits, lambda u: self._sizes(u, bits)[0] >= n
        )

    @staticmethod
    def _edge(guess: int, bits: int, reached: Callable[[int], bool]) -> int:
        """Return the least u of 0 .. 2^bits for which ``reached(u)`` is True. It must be True for all larger u too."""
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

    def _tabulate(self) -> list[int]:
        """Return the table. Entries are computed in floats, and found by bisection if `_sizes` does not confirm them.

        That happens near 1, where arcsin is steep.
        """
        found: list[int] = []
        for n in range(1, floor(self.most + 0.5) + 1):
            t = max(int((1.0 - self.tail(n)) * 2**53) * 2**11 - GAP // 2, 0)
            if t and (self._sizes(t, CHUNK)[1] >= n or self._sizes(t + GAP - 1, CHUNK)[0] < n):
                t = max(self.below(n, CHUNK)[0] - 1, 0)
                if self._sizes(min(t + GAP - 1, (1 << CHUNK) - 1), CHUNK)[0] < n:
                    return found
            found.append(t)
        found.append((1 << CHUNK) - 1)  # there is no larger |k|
        return found

    def beyond(self, y: float) -> float:
        """Return 1 - (2/pi) arcsin x, with x the root of P(x) = y by Newton's method within brackets."""
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
        """Return the moment of k; for noise beyond `PANELS` steps, that of P(x) before rounding.

        P(x) is a trigonometric polynomial, so its mean over 256 equally spaced angles is exact.
        """
        if self.most <= PANELS:
            return super()._moment(power)
        angles = (2 * math.pi * (j + 0.5) / 256 for j in range(256))
        values = (math.fsum(c * math.sin(a) ** (2 * k + 1) for k, c in enumerate(self.floats)) for a in angles)
        return math.fsum(value**power for value in values) / 256


def _powers(parameters: Parameters) -> list[Fraction]:
    """Return theta_k^(2k+1) for each k."""
    return [theta ** (2 * k + 1) for k, theta in enumerate(parameters)]


MECHANISM = DeviceMechanism(
    "sine",
    ("theta_0",),
    build=lambda p, step: RoundedSine([each / step for each in _powers(p)]),
    reach=lambda p: sum(_powers(p), Fraction(0)),
    quick=32,
    numbered=lambda count: tuple(f"theta_{k}" for k in range(count)),
)
