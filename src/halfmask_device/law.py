"""Base classes for a law: the distribution of lattice noise k, with draws, probabilities and moments.

`Inverted` draws by exact inversion with a table. `Rounded` rounds continuous noise to the lattice. Each file of
`halfmask_device.laws` defines a law and its `DeviceMechanism`.
"""

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from halfmask_device.decimals import number_text
from halfmask_device.errors import SettingError
from halfmask_device.exact_comparison import CHUNK
from halfmask_device.random_bits import Bits

Parameters = tuple[Fraction, ...]
TAIL = Fraction(32)
"""The reach of noise is a bound that |psi| exceeds with probability about exp(-TAIL), or never."""
WIDE = 1 << 12
"""Largest scale, in steps, for which there is a table. For larger scales it would be too long."""
FAR = 40
"""A table ends 2^(FAR - 64) before probability 1. For this share of draws the slower method is used."""
PANELS = 1 << 16
GAP = 1 << 12
"""Largest error of a table entry, in units of 2^-64; entries are never above the exact probability."""


class Law(ABC):
    """A symmetric distribution of lattice noise k.

    Parameters are exact, in steps. Probabilities and moments are floats, accurate to 1e-9 or better unless stated
    otherwise.
    """

    table: list[int] | None = None
    """2^64 P(|k| < n) for n = 1, 2, ..., too low by less than `GAP` (see `Inverted`); None without a table."""

    @abstractmethod
    def draw(self, source: Bits) -> int:
        """Draw one k. It depends only on the source's bits."""

    @abstractmethod
    def tail(self, n: int) -> float:
        """Return P(|k| >= n)."""

    @abstractmethod
    def _moment(self, power: int) -> float:
        """Return E k^power for power 2 or 4."""

    def prepare(self) -> None:
        """Build tables that make many draws fast. They do not change the result of a draw."""
        return

    def mass(self, k: int) -> float:
        """Return P(k)."""
        return (self.tail(abs(k)) - self.tail(abs(k) + 1)) / (2 if k else 1)

    def above(self, n: int) -> float:
        """Return P(k >= n) for n >= 1, the probability of one side only."""
        return self.tail(n) / 2

    def furthest(self, chance: float = 1e-12) -> int:
        """Return the largest n with P(k >= n) >= ``chance``; 0 if there is none.

        A report more than n steps outside the range is implausible.
        """
        low, high = 0, 1
        while self.above(high) >= chance:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.above(middle) >= chance else (low, middle)
        return low

    @property
    def unmasked(self) -> float:
        """Return P(k = 0), the share of reports that equal the reading."""
        return 1.0 - self.tail(1)

    @cached_property
    def variance(self) -> float:
        """The variance E k^2 of the lattice noise (not of the continuous noise), in squared steps."""
        return self._moment(2)

    @cached_property
    def fourth(self) -> float:
        """Return E k^4."""
        return self._moment(4)


class Inverted(Law):
    """A law drawn by inversion of a real U, uniform on [0, 1): |k| >= n if U >= P(|k| < n). One more bit is the sign.

    U is drawn bit by bit, and P(|k| < n) is known between bounds, so every draw is that of exact real numbers. One
    search of the table decides all but about 2^-24 of the draws. The others use `below` with more bits; both methods
    give the same k. There is no table if ``scale`` exceeds `WIDE` steps.
    """

    scale: Fraction

    @abstractmethod
    def below(self, n: int, bits: int) -> tuple[int, int]:
        """Return bounds low <= 2^bits P(|k| < n) <= high, about 1 apart, for n >= 1."""

    @abstractmethod
    def _tabulate(self) -> list[int]:
        """Return t_n for n = 1, 2, ... with t_n <= 2^64 P(|k| < n) < t_n + GAP."""

    def prepare(self) -> None:
        if self.table is None and self.scale <= WIDE:
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
        """Return |k| for U in [u, u + 1) / 2^bits; None if more bits are needed."""
        low, high = 0, 1
        while self.below(high, bits)[1] <= u:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.below(middle, bits)[1] <= u else (low, middle)
        return low if u + 1 <= self.below(low + 1, bits)[0] else None


def quick(table: list[int], u: int) -> int | None:
    """Return |k| from the table and the first 64 bits of U; None if the table does not decide it."""
    size = bisect_right(table, u)
    if size == len(table) or (size and u - table[size - 1] < GAP):
        return None
    return size


class Rounded(Law):
    """Continuous noise psi rounded to the lattice: |k| >= n if |psi/step| >= n - 1/2."""

    @abstractmethod
    def beyond(self, y: float) -> float:
        """Return P(|psi/step| >= y)."""

    @abstractmethod
    def _reach(self) -> float:
        """Return a bound that |psi/step| never exceeds, or only with probability below 1e-30."""

    def tail(self, n: int) -> float:
        return self.beyond(n - 0.5) if n > 0 else 1.0

    def _moment(self, power: int) -> float:
        """Return the sum over n of (n^p - (n-1)^p) P(|k| >= n), where p = power.

        For noise beyond `PANELS` steps it is the integral of p y^(p-1) P(|psi/step| >= y), accurate to 1e-6.
        """
        most = math.floor(self._reach() + 0.5)
        if most <= PANELS:
            return math.fsum((n**power - (n - 1) ** power) * self.tail(n) for n in range(1, most + 1))
        width = self._reach() / PANELS
        middles = ((j + 0.5) * width for j in range(PANELS))
        return math.fsum(power * y ** (power - 1) * self.beyond(y) * width for y in middles)


@dataclass(frozen=True)
class DeviceMechanism:
    """One mechanism of the device: the form of its settings, its law, and the privacy bounds for the ledger.

    `halfmask.mechanisms` takes name, parameters and checks from here, so that both accept the same settings.

    ``name``        name of the mechanism in settings
    ``parameters``  names of the parameters
    ``build``       (parameters, step) -> the law in steps of the lattice
    ``reach``       parameters -> bound that |psi| exceeds with probability about exp(-TAIL), or never
    ``numbered``    count -> names of the parameters, if their number is free
    ``quick``       largest number of parameters with which a law is computed in a short time
    ``restrict``    raises a SettingError for parameters that do not fit together
    ``per_unit``    parameters -> pure epsilon per unit of change, if proportional; no parameter is 0
    ``stairs``      (parameters, change) -> pure epsilon of a change, if it grows in steps
    ``divergence``  (parameters, change, step, order) -> an upper bound on the Renyi divergence of one report
    """

    name: str
    parameters: tuple[str, ...]
    build: Callable[[Parameters, Fraction], Law]
    reach: Callable[[Parameters], Fraction]
    numbered: Callable[[int], tuple[str, ...]] | None = None
    quick: float = math.inf
    restrict: Callable[[tuple[float, ...]], None] | None = None
    per_unit: Callable[[Parameters], Fraction] | None = None
    stairs: Callable[[Parameters, Fraction], float] | None = None
    divergence: Callable[[Parameters, Fraction, Fraction, float], float] | None = None

    def names(self, count: int) -> tuple[str, ...]:
        """Return the names of ``count`` parameters, or a different number of names if ``count`` is not allowed."""
        return self.numbered(count) or self.parameters if self.numbered else self.parameters

    def check(self, parameters: tuple[float, ...], name: str) -> None:
        """Raise a SettingError for invalid parameters. The message calls the mechanism ``name``."""
        names = self.names(len(parameters))
        check_count(name, names, parameters)
        check_sizes(name, names, parameters)
        if self.restrict:
            self.restrict(parameters)


def check_count(mechanism: str, names: tuple[str, ...], parameters: tuple[float, ...]) -> None:
    """Raise a SettingError unless there is one parameter for each name."""
    if len(names) != len(parameters):
        form = f"{mechanism}:{','.join(names)}".removesuffix(":")
        raise SettingError(
            f"{mechanism} takes {len(names)} parameter(s), {len(parameters)} given: write {form}", kind="count"
        )


def check_sizes(mechanism: str, names: tuple[str, ...], parameters: tuple[float, ...]) -> None:
    """Raise a SettingError unless all parameters are finite and not negative."""
    for name, value in zip(names, parameters, strict=True):
        if not 0 <= value < math.inf:
            raise SettingError(
                f"{mechanism}: {name} is {number_text(value)}; it must be finite, 0 or above", kind="range", field=name
            )
