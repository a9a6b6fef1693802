"""Fast noise for simulation, compiled with numba.

The random generator is xoshiro256++ (Blackman and Vigna), seeded with 256 bits of numpy's SeedSequence. Exponential
sizes use the ziggurat method of Marsaglia and Tsang. A device must never use this noise, because the generator's state
can be computed from its output.
"""

from math import factorial

import numpy as np
from numba import njit

from halfmask.arrays import FloatArray
from halfmask.mechanisms.mechanism import Words

LAYERS = 256
TAIL = 7.69711747013104972
"""The x at which the tail of the ziggurat begins, for 256 layers of equal area under exp(-x)."""


def _layers() -> FloatArray:
    """Return the right ends of the ziggurat's layers, widest first. The first layer is wider, to include the tail's
    area.
    """
    area = (TAIL + 1) * np.exp(-TAIL)
    ends = [area * np.exp(TAIL), TAIL]
    while len(ends) < LAYERS:
        ends.append(-np.log(area / ends[-1] + np.exp(-ends[-1])))
    return np.array([*ends, 0.0])


_ENDS = _layers()
_HEIGHTS = np.exp(-_ENDS)

# Taylor series sin(x) = x - x^3/3! + ... up to the 17th power; the error at x = pi/2 is 4e-14.
_3, _5, _7, _9, _11, _13, _15, _17 = ((-1) ** (k // 2) / float(factorial(k)) for k in range(3, 18, 2))


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _step(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return the next word of xoshiro256++ and the generator's next state."""
    total = a + d
    word = ((total << np.uint64(23)) | (total >> np.uint64(41))) + a
    shifted = b << np.uint64(17)
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = (d << np.uint64(45)) | (d >> np.uint64(19))
    return word, a, b, c, d


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def laplace(values: FloatArray, state: Words, b: float, relative: bool, out: FloatArray) -> None:
    """Write Laplace-masked values to ``out``: value + psi or, if ``relative``, value * (1 + psi).

    psi is b times an exponential size, with a random sign. Of each random word, the low 8 bits choose the layer, the
    next bit is the sign, and the upper 53 bits are the position in the layer.
    """
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for i in range(values.size):
        size = 0.0
        while True:
            word, s0, s1, s2, s3 = _step(s0, s1, s2, s3)
            layer = np.int64(word & np.uint64(LAYERS - 1))
            place = np.float64(np.int64(word >> np.uint64(11))) * 2.0**-53 * _ENDS[layer]
            if place < _ENDS[layer + 1]:
                size += place
                break
            if layer == 0:  # the tail is again exponential, shifted by TAIL
                size += TAIL
                continue
            again, s0, s1, s2, s3 = _step(s0, s1, s2, s3)
            height = np.float64(np.int64(again >> np.uint64(11))) * 2.0**-53
            low, high = _HEIGHTS[layer], _HEIGHTS[layer + 1]
            if low + height * (high - low) < np.exp(-place):
                size += place
                break
        sign = 1.0 - 2.0 * np.float64(np.int64((word >> np.uint64(8)) & np.uint64(1)))  # faster than a branch
        noise = b * sign * size
        out[i] = values[i] * (1 + noise) if relative else values[i] + noise
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3


@njit(nogil=True, cache=True, fastmath={"contract"})  # type: ignore[untyped-decorator]
def sine(values: FloatArray, state: Words, terms: FloatArray, out: FloatArray) -> None:
    """Write sine-masked values to ``out``: value + sum_k terms_k x^(2k+1).

    x = sin(pi (V - 1/2)) with V uniform on [0, 1); it has the same distribution as sin(2 pi V).
    """
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for i in range(values.size):
        word, s0, s1, s2, s3 = _step(s0, s1, s2, s3)
        out[i] = np.float64(np.int64(word >> np.uint64(11))) * 2.0**-53
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3
    for i in range(values.size):
        x = np.pi * (out[i] - 0.5)
        q = x * x
        out[i] = x + x * q * (_3 + q * (_5 + q * (_7 + q * (_9 + q * (_11 + q * (_13 + q * (_15 + q * _17)))))))
    for i in range(values.size):
        x, q = out[i], out[i] * out[i]
        noise = 0.0
        for k in range(terms.size - 1, -1, -1):
            noise = noise * q + terms[k]
        out[i] = values[i] + noise * x


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def scaled(values: FloatArray, unit: FloatArray, scale: float, relative: bool, out: FloatArray) -> None:
    """Write masked values to ``out``: value + scale * unit or, if ``relative``, value * (1 + scale * unit)."""
    for i in range(values.size):
        noise = scale * unit[i]
        out[i] = values[i] * (1 + noise) if relative else values[i] + noise
