"""The device's pseudo-random bits: keyed BLAKE2s over the reading, so that the same reading draws the same noise.

`Bits` is the only source that the samplers read. It depends on a 32-byte key and a message only. Block i is
BLAKE2s(message, i) under the key; the first 24 of its 32 bytes are the random bits in order, the last 8 are a tag.
Without the key the bits are uniform and independent between messages, if BLAKE2s is a pseudo-random function. With the
key the bits are known, and so is the noise.
"""

import hashlib
import os
from typing import final

KEY_BYTES = 32
BLOCK = 24
"""Bytes of a block that the samplers use."""


def keyed(key: bytes, purpose: bytes, *parts: bytes) -> bytes:
    """Return the 32-byte BLAKE2s of the parts under a key, for one purpose; each part is prefixed with its length."""
    framed = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return hashlib.blake2s(framed, key=key, person=purpose).digest()


@final
class Bits:
    """Uniform integers, read in order from the blocks of one key and message."""

    __slots__ = ("_block", "_held", "_key", "_message", "_size")

    def __init__(self, key: bytes, message: bytes) -> None:
        self._key, self._message = key, message
        self._block = self._held = self._size = 0

    @classmethod
    def fresh(cls) -> "Bits":
        """Return bits under a new random key of the operating system, which is not stored."""
        return cls(os.urandom(KEY_BYTES), b"")

    def bits(self, count: int) -> int:
        """Return the next ``count`` bits, the first as the highest: uniform on 0 .. 2^count - 1."""
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
        """Return an integer uniform on 0 .. bound - 1, by rejection; a remainder would favour small numbers."""
        size = (bound - 1).bit_length()
        while True:
            drawn = self.bits(size)
            if drawn < bound:
                return drawn


def block(key: bytes, message: bytes, number: int) -> bytes:
    """Return the 32 bytes of one block."""
    return hashlib.blake2s(message + number.to_bytes(4, "big"), key=key, person=b"noise").digest()
