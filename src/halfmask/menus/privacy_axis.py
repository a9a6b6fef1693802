"""The axis of privacy that is divided into a menu's bins: the paper's score, or a measure of actual protection.

    score       the study's q, 0 to 1 (the paper's)
    guess       error of the best guess of a reading from its report, divided by that without a report, 0 to 1
    epsilon     of the question's window at its delta; bins are equal on a logarithmic scale
    recognised  share of producers named from a masked day, 0 to 1

Bins are ordered from the least privacy to the most: score and guess rise, epsilon and recognised fall.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.menus.study_protection import StudyProtection
from halfmask.menus.study_scores import StudyScores

By = Literal["score", "hidden", "epsilon", "recognised"]
LARGEST_EPSILON = 100.0
"""Settings with a larger epsilon get no bin, because they promise almost nothing."""


@dataclass(frozen=True, eq=False)
class Axis:
    """The ``values`` of every setting, and the bins' ``edges`` in the same unit, from the least privacy up."""

    name: str
    values: FloatArray
    edges: FloatArray

    @property
    def upwards(self) -> bool:
        """Whether larger values are more private."""
        return bool(self.edges[-1] > self.edges[0])

    def places(self, held: BoolArray) -> IntArray:
        """Return the bin of each setting; -1 if ``held`` excludes it, or if its value lies in no bin."""
        sign = 1 if self.upwards else -1
        with np.errstate(invalid="ignore"):
            at = np.searchsorted(sign * self.edges, sign * self.values, side="right") - 1
            last = self.values == self.edges[-1]
            inside = held & np.isfinite(self.values) & (at >= 0) & ((at < len(self.edges) - 1) | last)
            if self.name == "privacy":  # the paper's: what rounding leaves outside 0 to 1 is at its end
                inside = held
        return np.where(inside, np.clip(at, 0, len(self.edges) - 2), -1)

    def bin(self, number: int) -> tuple[float, float]:
        """Return a bin's edges, the smaller first, rounded to 12 digits to remove errors such as that of 3 * 0.2."""
        ends = sorted((float(self.edges[number]), float(self.edges[number + 1])))
        return round(ends[0], 12), round(ends[1], 12)

    def distance(self, rows: IntArray, number: int) -> FloatArray:
        """Return how far settings are from a bin; negative inside it."""
        low, high = self.bin(number)
        return np.maximum(low - self.values[rows], self.values[rows] - high)


def axis_of(by: By, scored: StudyScores, facts: StudyProtection | None, bins: int, held: BoolArray) -> Axis:
    """Return the axis with this name over a study's settings; ``held`` are those that keep the constraint and mask."""
    equal = np.linspace(0, 1, bins + 1)
    if by == "score":
        return Axis("privacy", scored.privacy_median, equal)
    if facts is None:
        raise OptionError(f"`by={by}` looks at the readings' sizes: name the study's `profile`", kind="profile")
    if by == "hidden":
        return Axis("hidden", facts.guess, equal)
    if by == "recognised":
        return Axis("recognised", facts.recognised, 1 - equal)
    return _epsilons(facts, bins, held)


def _epsilons(facts: StudyProtection, bins: int, held: BoolArray) -> Axis:
    """Return the axis of epsilon, with bins from the largest useful to the smallest, equal on a logarithmic scale."""
    epsilon = facts.epsilon
    finite = epsilon[held & np.isfinite(epsilon) & (epsilon > 0)]
    if not len(finite) or finite.min() >= LARGEST_EPSILON:
        raise OptionError(
            f"no setting that keeps the constraint promises an epsilon below {LARGEST_EPSILON:g} "
            f"{facts.question.words()}: ask for a smaller `change` or `window`, or evaluate other mechanisms",
            kind="epsilon",
        )
    largest = min(float(finite.max()), LARGEST_EPSILON)
    return Axis("epsilon", epsilon, np.geomspace(largest, float(finite.min()), bins + 1))
