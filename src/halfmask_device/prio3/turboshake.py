"""TurboSHAKE128 (RFC 9861), and the extendable output function XofTurboShake128 that Prio3 builds on it.

The state of Keccak-p[1600] is 25 lanes of 64 bits, lane x + 5 y at place (x, y). Each round is theta, rho, pi, chi and
iota (FIPS 202). `keccak` is written out lane by lane: in CPython that is several times as fast as loops over a list.
Its time does not depend on the lanes' values beyond what CPython's integers of 64 bits do.
"""

import struct
from typing import final

RATE = 168
"""Bytes that one call of the permutation takes in or gives out."""
SEED_BYTES = 32
ROUND_CONSTANTS = (
    *(0x0000000000000001, 0x0000000000008082, 0x800000000000808A, 0x8000000080008000, 0x000000000000808B),
    *(0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008A, 0x0000000000000088),
    *(0x0000000080008009, 0x000000008000000A, 0x000000008000808B, 0x800000000000008B, 0x8000000000008089),
    *(0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800A, 0x800000008000000A),
    *(0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008),
)
"""Of the 24 rounds of Keccak-f; TurboSHAKE runs the last twelve."""
_WORDS = struct.Struct(f"<{RATE // 8}Q")


def keccak(lanes: list[int], rounds: int = 12) -> list[int]:
    """Return Keccak-p[1600, rounds] of 25 lanes."""
    full = 0xFFFFFFFFFFFFFFFF
    (
        a0,
        a1,
        a2,
        a3,
        a4,
        a5,
        a6,
        a7,
        a8,
        a9,
        a10,
        a11,
        a12,
        a13,
        a14,
        a15,
        a16,
        a17,
        a18,
        a19,
        a20,
        a21,
        a22,
        a23,
        a24,
    ) = lanes
    for constant in ROUND_CONSTANTS[-rounds:]:
        c0 = a0 ^ a5 ^ a10 ^ a15 ^ a20
        c1 = a1 ^ a6 ^ a11 ^ a16 ^ a21
        c2 = a2 ^ a7 ^ a12 ^ a17 ^ a22
        c3 = a3 ^ a8 ^ a13 ^ a18 ^ a23
        c4 = a4 ^ a9 ^ a14 ^ a19 ^ a24
        d0 = c4 ^ (c1 << 1 & full | c1 >> 63)
        d1 = c0 ^ (c2 << 1 & full | c2 >> 63)
        d2 = c1 ^ (c3 << 1 & full | c3 >> 63)
        d3 = c2 ^ (c4 << 1 & full | c4 >> 63)
        d4 = c3 ^ (c0 << 1 & full | c0 >> 63)
        b0 = a0 ^ d0
        t = a6 ^ d1
        b1 = t << 44 & full | t >> 20
        t = a12 ^ d2
        b2 = t << 43 & full | t >> 21
        t = a18 ^ d3
        b3 = t << 21 & full | t >> 43
        t = a24 ^ d4
        b4 = t << 14 & full | t >> 50
        t = a3 ^ d3
        b5 = t << 28 & full | t >> 36
        t = a9 ^ d4
        b6 = t << 20 & full | t >> 44
        t = a10 ^ d0
        b7 = t << 3 & full | t >> 61
        t = a16 ^ d1
        b8 = t << 45 & full | t >> 19
        t = a22 ^ d2
        b9 = t << 61 & full | t >> 3
        t = a1 ^ d1
        b10 = t << 1 & full | t >> 63
        t = a7 ^ d2
        b11 = t << 6 & full | t >> 58
        t = a13 ^ d3
        b12 = t << 25 & full | t >> 39
        t = a19 ^ d4
        b13 = t << 8 & full | t >> 56
        t = a20 ^ d0
        b14 = t << 18 & full | t >> 46
        t = a4 ^ d4
        b15 = t << 27 & full | t >> 37
        t = a5 ^ d0
        b16 = t << 36 & full | t >> 28
        t = a11 ^ d1
        b17 = t << 10 & full | t >> 54
        t = a17 ^ d2
        b18 = t << 15 & full | t >> 49
        t = a23 ^ d3
        b19 = t << 56 & full | t >> 8
        t = a2 ^ d2
        b20 = t << 62 & full | t >> 2
        t = a8 ^ d3
        b21 = t << 55 & full | t >> 9
        t = a14 ^ d4
        b22 = t << 39 & full | t >> 25
        t = a15 ^ d0
        b23 = t << 41 & full | t >> 23
        t = a21 ^ d1
        b24 = t << 2 & full | t >> 62
        a0 = b0 ^ b1 ^ (b1 | b2) ^ constant
        a1 = b1 ^ b2 ^ (b2 | b3)
        a2 = b2 ^ b3 ^ (b3 | b4)
        a3 = b3 ^ b4 ^ (b4 | b0)
        a4 = b4 ^ b0 ^ (b0 | b1)
        a5 = b5 ^ b6 ^ (b6 | b7)
        a6 = b6 ^ b7 ^ (b7 | b8)
        a7 = b7 ^ b8 ^ (b8 | b9)
        a8 = b8 ^ b9 ^ (b9 | b5)
        a9 = b9 ^ b5 ^ (b5 | b6)
        a10 = b10 ^ b11 ^ (b11 | b12)
        a11 = b11 ^ b12 ^ (b12 | b13)
        a12 = b12 ^ b13 ^ (b13 | b14)
        a13 = b13 ^ b14 ^ (b14 | b10)
        a14 = b14 ^ b10 ^ (b10 | b11)
        a15 = b15 ^ b16 ^ (b16 | b17)
        a16 = b16 ^ b17 ^ (b17 | b18)
        a17 = b17 ^ b18 ^ (b18 | b19)
        a18 = b18 ^ b19 ^ (b19 | b15)
        a19 = b19 ^ b15 ^ (b15 | b16)
        a20 = b20 ^ b21 ^ (b21 | b22)
        a21 = b21 ^ b22 ^ (b22 | b23)
        a22 = b22 ^ b23 ^ (b23 | b24)
        a23 = b23 ^ b24 ^ (b24 | b20)
        a24 = b24 ^ b20 ^ (b20 | b21)
    return [
        *(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12),
        *(a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24),
    ]


@final
class TurboShake128:
    """The output of TurboSHAKE128 for a message and a domain byte, read in order."""

    __slots__ = ("_lanes", "_place", "_rounds")

    def __init__(self, message: bytes, domain: int = 0x01, *, rounds: int = 12) -> None:
        padded = bytearray(message)
        padded.append(domain)
        padded.extend(bytes(-len(padded) % RATE))
        padded[-1] ^= 0x80
        state = [0] * 25
        for start in range(0, len(padded), RATE):
            for i, word in enumerate(_WORDS.unpack_from(padded, start)):
                state[i] ^= word
            state = keccak(state, rounds)
        self._lanes, self._rounds, self._place = state, rounds, 0

    def word(self) -> int:
        """Return the next 64 bits, the first byte as the lowest."""
        if self._place == RATE // 8:
            self._lanes, self._place = keccak(self._lanes, self._rounds), 0
        self._place += 1
        return self._lanes[self._place - 1]


def expanded(seed: bytes, domain: bytes, binder: bytes) -> TurboShake128:
    """Return XofTurboShake128 of a seed, a domain separation tag and a binder string."""
    return TurboShake128(len(domain).to_bytes(2, "little") + domain + bytes([len(seed)]) + seed + binder)
