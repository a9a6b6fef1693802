"""Merging is one idea: parts of a whole that are counted apart and added up in any order.

A mergeable value is what is known of a set of readings or reports. ``merge`` gives what is known of two disjoint sets
together, as a new value, and changes neither. It is associative and commutative, and the value of the empty set is
neutral. So parts may come from files, machines and nodes in any order, and be merged on the way.

    Profile             one pass over readings: users, periods, bins         neutral: ``Profile.empty(period)``
    LocalState          errors of a sample while its readings are masked     neutral: ``LocalState()``
    Cell                reports of a period and setting, in steps            neutral: ``Cell()``

Sums of whole numbers are exact; sums of floats agree to their rounding, whatever the order. The wire form of a profile
is its file, of cells `halfmask.service.cells.plain`; a local state goes as `halfmask.evaluation.direct.checkpoint`
writes samples.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Protocol, Self, TypeVar


class Mergeable(Protocol):
    """What parts of a whole have in common."""

    def merge(self, other: Self) -> Self:
        """Both together, as a new value."""
        ...


M = TypeVar("M", bound=Mergeable)


def merged(parts: Iterable[M], neutral: M) -> M:
    """All parts together; of none, the neutral element."""
    return reduce(lambda one, other: one.merge(other), parts, neutral)
