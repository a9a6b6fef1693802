"""The upper end of a sample: how far beyond the others a value lies, without looking at the most extreme ones.

The next largest values say how fast the tail falls off. So a few extreme values, whatever they are, cannot hide
themselves.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from halfmask.arrays import FloatArray

LEAST, PART = 10, 100
"""Fewest values that are not looked at, and one of how many."""
LENGTH = 5
"""The tail is this many times as long as the part of it that is not looked at."""


def largest_ignored(size: int) -> int:
    """Return how many of the largest values of a sample are not looked at."""
    return max(LEAST, size // PART)


class UpperTail(NamedTuple):
    """The tail of a sample as an exponential law: P(value > base + e) falls off as exp(-e / scale).

    ``base``     the value from which the tail is judged
    ``edge``     the largest value that is looked at
    ``scale``    mean excess over the base
    ``degrees``  number of values that the scale was estimated from
    ``size``     number of values beyond the base
    ``beyond``   the values that are not looked at
    """

    base: float
    edge: float
    scale: float
    degrees: int
    size: int
    beyond: list[float]

    @classmethod
    def of(cls, values: "FloatArray", trimmed: int) -> "UpperTail | None":
        """Return the tail of sorted values without looking at the ``trimmed`` largest, or None of too few values.

        The scale is that of a censored exponential sample, s = (sum_{i=t+1..m} e_i + t e_(t+1)) / (m - t).
        """
        size = LENGTH * trimmed
        if values.size < 2 * size:
            return None
        base, edge, degrees = float(values[-size - 1]), float(values[-trimmed - 1]), size - trimmed
        scale = (float((values[-size:-trimmed] - base).sum()) + trimmed * (edge - base)) / degrees
        return cls(base, edge, scale, degrees, size, values[-trimmed:].tolist())

    def chance(self, value: float) -> float:
        """Return a bound on the chance that any value of such a sample is as large.

        One excess is above e with the chance (1 + e / (d s))^-d, because s is an estimate with d degrees of freedom.
        """
        if value <= self.edge or self.scale <= 0:
            return 1.0
        excess = (value - self.base) / (self.degrees * self.scale)
        return float(min(1.0, self.size * (1 + excess) ** -self.degrees))
