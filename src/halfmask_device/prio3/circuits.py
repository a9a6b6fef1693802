"""What Prio3 proves of a measurement: that it is 0 or 1 (`CountCircuit`), or an integer of 0 .. maximum (`SumCircuit`).

A circuit maps the encoded measurement to outputs that are all zero if and only if it is valid. All of it is linear
except one gadget of degree two, which is called with ``calls`` tuples of ``arity`` elements. No constant is added and
no joint randomness is used, so each holder of a share evaluates the circuit in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from halfmask_device.errors import ShareError
from halfmask_device.prio3.field64 import MODULUS


class Circuit(Protocol):
    """A validity circuit with one gadget of degree two."""

    @property
    def algorithm(self) -> int:
        """The number of the algorithm in the draft's table."""

    @property
    def arity(self) -> int:
        """The number of elements that one call of the gadget takes."""

    @property
    def length(self) -> int:
        """The number of elements of an encoded measurement: the gadget is called once for each, and has one output."""

    def encode(self, measurement: int) -> list[int]:
        """Return the elements of a measurement."""

    def calls(self, measurement: Sequence[int]) -> list[tuple[int, ...]]:
        """Return what the gadget is called with, from (a share of) an encoded measurement."""

    def gadget(self, *wires: int) -> int:
        """Return the gadget's value."""

    def outputs(self, measurement: Sequence[int], gadgets: Sequence[int]) -> list[int]:
        """Return (a share of) the circuit's outputs, from (a share of) the gadget's values."""

    def number(self, measurement: Sequence[int]) -> int:
        """Return (a share of) the number that an encoded measurement stands for."""


@dataclass(frozen=True, slots=True)
class CountCircuit:
    """The measurement 0 or 1: the smallest circuit, x^2 - x."""

    algorithm: ClassVar[int] = 1
    arity: ClassVar[int] = 2
    length: ClassVar[int] = 1

    def encode(self, measurement: int) -> list[int]:
        """Return the measurement itself."""
        return [within(measurement, 1)]

    def calls(self, measurement: Sequence[int]) -> list[tuple[int, ...]]:
        """Return one call: the product of the element with itself."""
        return [(measurement[0], measurement[0])]

    def gadget(self, *wires: int) -> int:
        """Return the product of two elements."""
        return wires[0] * wires[1] % MODULUS

    def outputs(self, measurement: Sequence[int], gadgets: Sequence[int]) -> list[int]:
        """Return x^2 - x."""
        return [(gadgets[0] - measurement[0]) % MODULUS]

    def number(self, measurement: Sequence[int]) -> int:
        """Return the element."""
        return measurement[0]


@dataclass(frozen=True, slots=True)
class SumCircuit:
    """An integer of 0 .. maximum, as elements that are each 0 or 1.

    They weigh 1, 2, 4, ..., and the last one as much as makes all weights add up to ``maximum``. So a larger number
    cannot be written, and each b is valid if b^2 - b = 0.
    """

    maximum: int
    algorithm: ClassVar[int] = 2
    arity: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse a maximum that is not positive or does not fit in 32 bits."""
        if not 0 < self.maximum < 2**32:
            raise ShareError(f"the largest measurement {self.maximum} is not in 1 .. 2^32 - 1", kind="maximum")

    @property
    def length(self) -> int:
        """The number of bits of the maximum."""
        return self.maximum.bit_length()

    @property
    def weights(self) -> tuple[int, ...]:
        """What each element weighs."""
        ones = 2 ** (self.length - 1) - 1
        return (*(1 << i for i in range(self.length - 1)), self.maximum - ones)

    def encode(self, measurement: int) -> list[int]:
        """Return the measurement's elements, each 0 or 1."""
        last = self.weights[-1]
        full = int(within(measurement, self.maximum) > self.maximum - last)
        rest = measurement - full * last
        return [*((rest >> i) & 1 for i in range(self.length - 1)), full]

    def calls(self, measurement: Sequence[int]) -> list[tuple[int, ...]]:
        """Return one call per element."""
        return [(each,) for each in measurement]

    def gadget(self, *wires: int) -> int:
        """Return b^2 - b."""
        return (wires[0] - 1) * wires[0] % MODULUS

    def outputs(self, measurement: Sequence[int], gadgets: Sequence[int]) -> list[int]:
        """Return each element's b^2 - b."""
        return list(gadgets[: len(measurement)])

    def number(self, measurement: Sequence[int]) -> int:
        """Return the weighted sum of the elements."""
        return sum(w * b for w, b in zip(self.weights, measurement, strict=True)) % MODULUS


def within(measurement: int, maximum: int) -> int:
    """Return a measurement of 0 .. maximum; refuse any other, without naming it."""
    if not 0 <= measurement <= maximum:
        raise ShareError(f"the measurement is not in 0 .. {maximum}", kind="measurement")
    return measurement
