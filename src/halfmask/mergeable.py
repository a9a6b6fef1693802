"""The protocol of mergeable values: parts are counted separately and added up in any order.

A mergeable value describes a set of readings or reports. ``merge`` returns a new value for the union of two disjoint
sets, and changes neither. It is associative and commutative, and the value of the empty set is neutral. So parts may
come from files, machines and nodes in any order, and be merged on the way.

    Profile             one pass over readings: users, periods, bins         neutral: ``Profile.empty(period)``
    LocalState          errors of a sample while its readings are masked     neutral: ``LocalState()``
    Cell                reports of a period and setting, in steps            neutral: ``Cell()``

Sums of whole numbers are exact. Sums of floats agree up to rounding, whatever the order. A profile is sent as its file,
cells are sent as `halfmask.service.cells.plain` writes them, and a local state as
`halfmask.evaluation.direct.checkpoint` writes samples.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Protocol, Self, TypeVar


class Mergeable(Protocol):
    """A value that can be merged with others of its type."""

    def merge(self, other: Self) -> Self:
        """Return the value for both sets."""
        ...


M = TypeVar("M", bound=Mergeable)


def merged(parts: Iterable[M], neutral: M) -> M:
    """Merge all parts. Without parts, return the neutral element."""
    return reduce(lambda one, other: one.merge(other), parts, neutral)
