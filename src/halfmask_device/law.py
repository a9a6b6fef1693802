"""What a law of lattice noise k offers: draws, chances, moments. Exact inversion by a table; rounding to the lattice.

A mechanism of the device is one file of `halfmask_device.laws`, which defines its law and a `DeviceMechanism`.
"""

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from halfmask_device.certain import CHUNK
from halfmask_device.prf import Bits

Parameters = tuple[Fraction, ...]
TAIL = Fraction(32)
"""A reach is what |psi| exceeds with a chance of about exp(-TAIL), or never."""
WIDE = 1 << 12
"""Scale in steps up to which draws invert a table; beyond it the table would be too long."""
FAR = 40
"""Bits of the tail that a table leaves to slower ways: 2^(FAR - 64) of all draws."""
PANELS = 1 << 16
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
        most = math.floor(self._reach() + 0.5)
        if most <= PANELS:
            return math.fsum((n**power - (n - 1) ** power) * self.tail(n) for n in range(1, most + 1))
        width = self._reach() / PANELS
        middles = ((j + 0.5) * width for j in range(PANELS))
        return math.fsum(power * y ** (power - 1) * self.beyond(y) * width for y in middles)


@dataclass(frozen=True)
class DeviceMechanism:
    """One mechanism of the device: how its settings are checked and built, and what the ledger knows of them.

    ``name``        as settings write it
    ``parameters``  their names; a last ``...`` allows more of the kind
    ``build``       (parameters, step) -> the law in steps of the lattice
    ``reach``       parameters -> what |psi| exceeds with a chance of about exp(-TAIL), or never
    ``check``       raises a SettingError for parameters that do not fit; none is negative
    ``per_unit``    parameters -> pure epsilon per unit of a reading's change, if it grows evenly; none of them is 0
    ``stairs``      (parameters, change) -> pure epsilon of a change, if it grows in steps
    ``divergence``  (parameters, change, step, order) -> an upper bound on the Renyi divergence of one report
    """

    name: str
    parameters: tuple[str, ...]
    build: Callable[[Parameters, Fraction], Law]
    reach: Callable[[Parameters], Fraction]
    check: Callable[[Parameters], None] | None = None
    per_unit: Callable[[Parameters], Fraction] | None = None
    stairs: Callable[[Parameters, Fraction], float] | None = None
    divergence: Callable[[Parameters, Fraction, Fraction, float], float] | None = None
