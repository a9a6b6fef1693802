"""Noise of a tabulated distribution, rounded to the lattice and drawn exactly."""

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate, pairwise
from math import lcm

from halfmask_device.errors import SettingError
from halfmask_device.law import DeviceMechanism, Rounded
from halfmask_device.random_bits import Bits


class RoundedTable(Rounded):
    """round(X): |X| falls into each piece of the table with its probability, uniform within it. The sign is random.

    |X| is drawn as a cell. The ends of the pieces and the rounding borders of the lattice are multiples of a cell.
    """

    def __init__(self, y: tuple[Fraction, ...], c: tuple[Fraction, ...]) -> None:
        self.y, self.c = (Fraction(0), *y), (Fraction(0), *c)
        self.cells = 2 * lcm(*(each.denominator for each in y))  # cells per step
        self.ends = [int(each * self.cells) for each in self.y]
        whole = lcm(*(each.denominator for each in c))
        self.masses = list(accumulate(int((high - low) * whole) for low, high in pairwise(self.c)))

    def draw(self, source: Bits) -> int:
        piece = bisect_right(self.masses, source.below(self.masses[-1]))
        low, high = self.ends[piece : piece + 2]
        size = (low + source.below(high - low) + self.cells // 2) // self.cells
        return -size if source.bits(1) else size

    def beyond(self, y: float) -> float:
        piece = bisect_right(self.y, y)
        if piece == len(self.y):
            return 0.0
        (low, high), (c, d) = self.y[piece - 1 : piece + 1], self.c[piece - 1 : piece + 1]
        return float(1 - c - (d - c) * (Fraction(y) - low) / (high - low))

    def _reach(self) -> float:
        return float(self.y[-1])


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"{letter}{i}" for i in range(1, count // 2 + 1) for letter in "yc")


def _restrict(parameters: tuple[float, ...]) -> None:
    for i, (low, high) in enumerate(pairwise((0.0, *parameters[::2])), start=1):
        if high <= low:
            raise SettingError(
                f"tabulated: y{i} is {high:g}, not above {low:g}; the y must rise from 0", kind="range", field=f"y{i}"
            )
    for i, (low, high) in enumerate(pairwise((0.0, *parameters[1::2])), start=1):
        if high < low:
            raise SettingError(
                f"tabulated: c{i} is {high:g}, below {low:g}; the c must not fall", kind="range", field=f"c{i}"
            )
    if parameters[-1] != 1:
        raise SettingError(
            f"tabulated: the last c is {parameters[-1]:g}; a distribution function ends at 1",
            kind="range",
            field=f"c{len(parameters) // 2}",
        )


MECHANISM = DeviceMechanism(
    "tabulated",
    ("y1", "c1"),
    build=lambda p, step: RoundedTable(tuple(y / step for y in p[::2]), p[1::2]),
    reach=lambda p: next(y for y, c in zip(p[::2], p[1::2], strict=True) if c == 1),
    numbered=_numbered,
    restrict=_restrict,
)
