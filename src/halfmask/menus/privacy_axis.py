"""The axis of privacy that a menu is cut by: the paper's score, or what a setting really hides.

    score       the study's q, 0 to 1 (the paper's)
    guess       error of the best guess of a reading from its report, over that without a report, 0 to 1
    epsilon     of the question's window at its delta; bins are equal on a logarithmic scale
    recognised  share of producers named from a masked day, 0 to 1

Bins run from the least privacy to the most: upwards in score and guess, downwards in epsilon and recognised.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.menus.study_protection import StudyProtection
from halfmask.menus.study_scores import StudyScores

By = Literal["score", "guess", "epsilon", "recognised"]
LARGEST_EPSILON = 100.0
"""Settings whose epsilon is larger promise nothing worth a bin."""


@dataclass(frozen=True, eq=False)
class Axis:
    """``values`` of every setting, and the ``edges`` of the bins in the same unit, from the least privacy up."""

    name: str
    values: FloatArray
    edges: FloatArray

    @property
    def upwards(self) -> bool:
        """Whether larger values are more private."""
        return bool(self.edges[-1] > self.edges[0])

    def places(self, held: BoolArray) -> IntArray:
        """The bin of each setting; -1 if it is not held, or its value is in none."""
        sign = 1 if self.upwards else -1
        with np.errstate(invalid="ignore"):
            at = np.searchsorted(sign * self.edges, sign * self.values, side="right") - 1
            last = self.values == self.edges[-1]
            inside = held & np.isfinite(self.values) & (at >= 0) & ((at < len(self.edges) - 1) | last)
            if self.name == "privacy":  # the paper's: what rounding leaves outside 0 to 1 is at its end
                inside = held
        return np.where(inside, np.clip(at, 0, len(self.edges) - 2), -1)

    def bin(self, number: int) -> tuple[float, float]:
        """A bin's edges, the smaller first, without the last digits that 3 * 0.2 leaves."""
        ends = sorted((float(self.edges[number]), float(self.edges[number + 1])))
        return round(ends[0], 12), round(ends[1], 12)

    def distance(self, rows: IntArray, number: int) -> FloatArray:
        """How far settings are from a bin."""
        low, high = self.bin(number)
        return np.maximum(low - self.values[rows], self.values[rows] - high)


def axis_of(by: By, scored: StudyScores, facts: StudyProtection | None, bins: int, held: BoolArray) -> Axis:
    """The axis of that name over a study's settings."""
    equal = np.linspace(0, 1, bins + 1)
    if by == "score":
        return Axis("privacy", scored.privacy_median, equal)
    if facts is None:
        raise OptionError(f"`by={by}` looks at the readings' sizes: name the study's `profile`", kind="profile")
    if by == "guess":
        return Axis("guess", facts.guess, equal)
    if by == "recognised":
        return Axis("recognised", facts.recognised, 1 - equal)
    return _epsilons(facts, bins, held)


def _epsilons(facts: StudyProtection, bins: int, held: BoolArray) -> Axis:
    """Bins between the largest epsilon worth one and the smallest of any setting, equal on a logarithmic scale."""
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
