"""The device's pseudo-random bits: keyed BLAKE2s of the reading, so that the same reading gets the same noise.

Samplers use only `Bits`, which depends only on a 32-byte key and a message. Block i is BLAKE2s(message, i) under the
key. The first 24 of its 32 bytes are the random bits in order; the last 8 are a tag. If BLAKE2s is a pseudo-random
function, the bits are uniform and independent between messages for anyone without the key. Whoever has the key can
compute the noise.
"""

import hashlib
import os
from typing import final

KEY_BYTES = 32
BLOCK = 24
"""The number of bytes of a block that samplers use."""


def keyed(key: bytes, purpose: bytes, *parts: bytes) -> bytes:
    """Return the 32-byte BLAKE2s of parts under a key, for one purpose. Each part is prefixed with its length."""
    framed = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return hashlib.blake2s(framed, key=key, person=purpose).digest()


@final
class Bits:
    """Uniform random integers from the blocks of one key and message, in order."""

    __slots__ = ("_block", "_held", "_key", "_message", "_size")

    def __init__(self, key: bytes, message: bytes) -> None:
        self._key, self._message = key, message
        self._block = self._held = self._size = 0

    @classmethod
    def fresh(cls) -> "Bits":
        """Return bits under a new random key, which is not stored."""
        return cls(os.urandom(KEY_BYTES), b"")

    def bits(self, count: int) -> int:
        """Return the next ``count`` bits as an integer, uniform on 0 .. 2^count - 1. The first bit is the highest."""
        while self._size < count:
            taken = block(self._key, self._message, self._block)[:BLOCK]
            self._held = self._held << (8 * BLOCK) | int.from_bytes(taken, "big")
            self._size += 8 * BLOCK
            self._block += 1
        self._size -= count
        drawn = self._held >> self._size
        self._held &= (1 << self._size) - 1
        return drawn

    def below(self, bound: int) -> int:
        """Return an integer, uniform on 0 .. bound - 1, by rejection; a remainder would be biased."""
        size = (bound - 1).bit_length()
        while True:
            drawn = self.bits(size)
            if drawn < bound:
                return drawn


def block(key: bytes, message: bytes, number: int) -> bytes:
    """Return the 32 bytes of one block."""
    return hashlib.blake2s(message + number.to_bytes(4, "big"), key=key, person=b"noise").digest()
