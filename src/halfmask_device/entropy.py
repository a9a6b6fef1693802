"""The only source of chance on a device: the operating system."""

import os
from typing import final


@final
class Entropy:
    """Uniform integers from ``os.urandom``; there is nothing to seed, to inject or to replace.

    Samplers ask this class and nothing else: no function of this package takes a generator. Every call goes to the
    operating system and nothing is kept between calls, so that a forked process cannot repeat its parent's draws.
    """

    def __init_subclass__(cls) -> None:
        raise TypeError("Entropy is final: noise comes from the operating system and from nowhere else")

    @staticmethod
    def bits(count: int) -> int:
        """Uniform on 0 .. 2^count - 1."""
        return int.from_bytes(os.urandom((count + 7) // 8)) >> (-count % 8)

    @staticmethod
    def below(bound: int) -> int:
        """Uniform on 0 .. bound - 1, by rejection; a remainder would favour small numbers."""
        size = (bound - 1).bit_length()
        while True:
            drawn = Entropy.bits(size)
            if drawn < bound:
                return drawn
