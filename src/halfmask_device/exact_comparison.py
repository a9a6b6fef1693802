"""Exact decisions about a uniform real number U. Bits are drawn until the answer is certain.

Functions of U are bounded by integers in units of a power of two, so every answer is that of exact real numbers. Wider
bounds only mean that more than 64 bits are needed more often.
"""

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from halfmask_device.random_bits import Bits

CHUNK = 64
GUARD = 64
"""Extra bits of precision in `quarter_sine`."""


def chance(source: Bits, bounds: Callable[[int], tuple[int, int]]) -> bool:
    """Return True with probability p.

    ``bounds(bits)``  returns low <= p 2^bits <= high, relatively closer as bits grow
    """
    drawn = bits = 0
    while True:
        drawn, bits = drawn << CHUNK | source.bits(CHUNK), bits + CHUNK
        low, high = bounds(bits)
        if drawn + 1 <= low:
            return True
        if drawn >= high:
            return False


def quarter_sine(u: int, bits: int) -> int:
    """Return sin(pi/2 u/2^bits) for 0 <= u <= 2^bits, in units of 2^-width with width = bits + GUARD.

    The error is less than width units. The method is the Taylor series in integers. The angle is off by at most 2
    units, its square by 8. With these errors propagated, the first two terms are off by at most 5 and 2 units, every
    other term by 1.3, and the truncated rest by 1.3. From the ninth on, each term is below 2^-6 of the one before, so
    fewer than width/4 terms are not 0. The total is less than width units.
    """
    width = bits + GUARD
    angle = pi(width) * u >> (bits + 1)
    square = angle * angle >> width
    total = term = angle
    j = 1
    while term:
        term = (term * square >> width) // (2 * j * (2 * j + 1))
        total += -term if j % 2 else term
        j += 1
    return total


@lru_cache(maxsize=16)
def pi(width: int) -> int:
    """Return floor(pi 2^width) or one less, by Machin's 16 arctan(1/5) - 4 arctan(1/239) with 32 guard bits."""
    one = 1 << (width + 32)
    return (16 * _arctan_of_inverse(5, one) - 4 * _arctan_of_inverse(239, one)) >> 32


def _arctan_of_inverse(n: int, one: int) -> int:
    power = total = one // n
    k = 1
    while power:
        power //= n * n
        k += 2
        total += (power if k % 4 == 1 else -power) // k
    return total


def decay_bounds(rate: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Return bounds of exp(-rate), about 2^-bits apart. ``Decimal.exp`` must be correctly rounded."""
    if rate >= bits:
        return Fraction(0), Fraction(1, 1 << bits)  # exp(-bits) < 2^-bits
    with localcontext(Context(prec=20 + bits)) as context:
        ends = []
        for rounding in (ROUND_FLOOR, ROUND_CEILING):
            context.rounding = rounding
            ends.append(Decimal(rate.numerator) / Decimal(rate.denominator))
        low, high = ends
        return Fraction((-high).exp().next_minus()), Fraction((-low).exp().next_plus())
