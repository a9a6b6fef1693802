"""The field of p = 2^64 - 2^32 + 1 elements, and polynomials given by their values at roots of unity.

A polynomial of degree below n is the list of its values at w^0, w^1, ..., w^(n-1), where w is the n-th root of unity of
`roots` and n a power of two. Elements are integers 0 .. p - 1, and 8 bytes each on the wire, lowest first.
"""

import struct
from collections.abc import Iterable, Sequence
from functools import cache

from halfmask_device.errors import ShareError
from halfmask_device.prio3.turboshake import TurboShake128

MODULUS = 2**64 - 2**32 + 1
GENERATOR = pow(7, 2**32 - 1, MODULUS)
"""Generates the roots of unity, of which there are 2^32."""
ELEMENT_BYTES = 8


def encoded(elements: Sequence[int]) -> bytes:
    """Return the bytes of some elements."""
    return struct.pack(f"<{len(elements)}Q", *elements)


def decoded(data: bytes, count: int) -> list[int]:
    """Return the elements in some bytes; refuse another number of them than ``count``, and numbers from p upwards."""
    if len(data) != count * ELEMENT_BYTES:
        raise ShareError(f"{len(data)} bytes are not {count} field elements of 8 bytes", kind="malformed")
    found = list(struct.unpack(f"<{count}Q", data))
    if max(found, default=0) >= MODULUS:
        raise ShareError("a number is not below the modulus 2^64 - 2^32 + 1", kind="malformed")
    return found


def drawn(stream: TurboShake128, count: int) -> list[int]:
    """Return the next ``count`` elements of a stream: its words, without those from p upwards (chance 2^-32 each)."""
    found: list[int] = []
    while len(found) < count:
        word = stream.word()
        if word < MODULUS:
            found.append(word)
    return found


def sums(vectors: Iterable[Sequence[int]]) -> list[int]:
    """Return the sum of some vectors, place by place."""
    return [sum(column) % MODULUS for column in zip(*vectors, strict=True)]


def subtracted(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Return left - right, place by place."""
    return [(a - b) % MODULUS for a, b in zip(left, right, strict=True)]


@cache
def roots(n: int) -> tuple[int, ...]:
    """Return the powers 0 .. n - 1 of the n-th root of unity, for a power of two."""
    root, found = pow(GENERATOR, 2**32 // n, MODULUS), [1]
    while len(found) < n:
        found.append(found[-1] * root % MODULUS)
    return tuple(found)


def doubled(values: Sequence[int]) -> list[int]:
    """Return the values of the same polynomial at twice as many roots of unity.

    The new points are the old ones times s, a root of twice the order. With f(x) = sum_k c_k x^k the values there are
    those of sum_k (c_k s^k) x^k, so one transform back and one forth give them.
    """
    n = len(values)
    inverse, twisted = pow(n, -1, MODULUS), roots(2 * n)
    coefficients = _transformed(values, [1, *reversed(roots(n)[1:])])
    between = _transformed([c * inverse * s % MODULUS for c, s in zip(coefficients, twisted, strict=False)], roots(n))
    return [each for pair in zip(values, between, strict=True) for each in pair]


def _transformed(values: Sequence[int], powers: Sequence[int]) -> list[int]:
    """Return sum_k values[k] powers[j k mod n] for each j: the number theoretic transform, by halves."""
    n = len(values)
    if n == 1:
        return list(values)
    even, odd = _transformed(values[::2], powers[::2]), _transformed(values[1::2], powers[::2])
    turned = [w * v % MODULUS for w, v in zip(powers, odd, strict=False)]
    return [(u + v) % MODULUS for u, v in zip(even, turned, strict=True)] + subtracted(even, turned)


def completed(values: Sequence[int]) -> list[int]:
    """Return 2n values of a polynomial of degree below 2n - 1 from the first 2n - 1.

    Its coefficient of x^(2n-1) is zero: sum_i f(w^i) w^(-i (2n-1)) = sum_i f(w^i) w^i = 0 gives the last value.
    """
    points = roots(len(values) + 1)
    known = sum(v * w for v, w in zip(values, points, strict=False))
    return [*values, -known * points[1] % MODULUS]  # the last point's inverse is the first root


def values_at(polynomials: Sequence[Sequence[int]], point: int) -> list[int]:
    """Return the values of polynomials of one length at a point.

    f(t) = -(1/n) sum_i f(w^i) w^i prod_{j != i} (w^j - t) for n > 1: barycentric interpolation without divisions.
    """
    points = roots(len(polynomials[0]))
    totals, before = [0] * len(polynomials), 1
    for i, node in enumerate(points):
        distance, weight = node - point, before * node
        totals = [(u * distance + weight * f[i]) % MODULUS for u, f in zip(totals, polynomials, strict=True)]
        before = before * distance % MODULUS
    factor = -pow(len(points), -1, MODULUS)
    return [u * factor % MODULUS for u in totals]
