"""What every law of lattice noise k offers: draws, chances, moments; and exact inversion by a table."""

from abc import ABC, abstractmethod
from bisect import bisect_right
from functools import cached_property

from halfmask_device.certain import CHUNK
from halfmask_device.prf import Bits

GAP = 1 << 12
"""How far, in 2^-64, a table's entries may stay below the chances they stand for."""


class Law(ABC):
    """A symmetric law of k. Parameters are exact and in steps; chances and moments are floats, right to 1e-9 and better
    unless a law says otherwise."""

    table: list[int] | None = None
    """floor(2^64 P(|k| < n)) for n = 1, 2, ..., where draws invert it; see `Inverted`."""

    @abstractmethod
    def draw(self, source: Bits) -> int:
        """One k, a function of the source's bits alone."""

    @abstractmethod
    def tail(self, n: int) -> float:
        """P(|k| >= n)."""

    @abstractmethod
    def _moment(self, power: int) -> float:
        """E k^power, for power 2 and 4."""

    def prepare(self) -> None:
        """Do now what makes many draws quick; draws stay the same."""
        return

    def mass(self, k: int) -> float:
        """P(k)."""
        return (self.tail(abs(k)) - self.tail(abs(k) + 1)) / (2 if k else 1)

    def above(self, n: int) -> float:
        """P(k >= n) for n >= 1: the chance of one side alone."""
        return self.tail(n) / 2

    def furthest(self, chance: float = 1e-12) -> int:
        """The largest n with P(k >= n) >= ``chance``: a report further beyond the range is implausible. 0 for none."""
        low, high = 0, 1
        while self.above(high) >= chance:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.above(middle) >= chance else (low, middle)
        return low

    @property
    def unmasked(self) -> float:
        """P(k = 0): how often a report is the reading itself."""
        return 1.0 - self.tail(1)

    @cached_property
    def variance(self) -> float:
        """E k^2, in squared steps; of the lattice law, not of the continuous one."""
        return self._moment(2)

    @cached_property
    def fourth(self) -> float:
        """E k^4."""
        return self._moment(4)


class Inverted(Law):
    """Draws |k| from a real U, uniform on [0, 1): |k| >= n where U >= P(|k| < n); then a bit for the sign.

    U is known bit by bit and P(|k| < n) between bounds, so every answer is the one of the exact numbers. The table
    answers all but about 2^-24 of the draws by one search; the rest asks `below` with more bits. Both answer alike.
    """

    @abstractmethod
    def below(self, n: int, bits: int) -> tuple[int, int]:
        """Bounds low <= 2^bits P(|k| < n) <= high for n >= 1, about 1 apart."""

    @abstractmethod
    def _tabulate(self) -> list[int]:
        """t_n for n = 1, 2, ... with t_n <= 2^64 P(|k| < n) < t_n + GAP."""

    def prepare(self) -> None:
        if self.table is None:
            self.table = self._tabulate()

    def draw(self, source: Bits) -> int:
        u, bits = source.bits(CHUNK), CHUNK
        size = quick(self.table, u) if self.table else None
        while size is None:
            size = self._size(u, bits)
            if size is None:
                u, bits = u << CHUNK | source.bits(CHUNK), bits + CHUNK
        return -size if source.bits(1) else size

    def _size(self, u: int, bits: int) -> int | None:
        """|k| for U in [u, u + 1) / 2^bits; None where these bits leave it open."""
        low, high = 0, 1
        while self.below(high, bits)[1] <= u:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.below(middle, bits)[1] <= u else (low, middle)
        return low if u + 1 <= self.below(low + 1, bits)[0] else None


def quick(table: list[int], u: int) -> int | None:
    """|k| for the first 64 bits of U by the table; None where it cannot tell."""
    size = bisect_right(table, u)
    if size == len(table) or (size and u - table[size - 1] < GAP):
        return None
    return size
