"""Requirements on a menu's settings, and what each requirement costs in utility."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from halfmask.arrays import BoolArray
from halfmask.errors import OptionError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.question import Question
from halfmask.menus.study_protection import StudyProtection
from halfmask.profiles.profile import Profile
from halfmask.protection.evidence import Evidence

Kind = Literal["guarantee", "hidden", "epsilon", "recognised", "error"]
FORMS = "guarantee, hidden=0.2, epsilon=4, recognised=0.1 or error=2%@500"


@dataclass(frozen=True)
class Demand:
    """One requirement: a finite epsilon, or a limit on guess error, epsilon, share recognised or error of a total.

    ``limit``      least guess error, or largest epsilon, share recognised or error; NaN for ``guarantee``
    ``producers``  only for ``error``: number of producers in the total
    """

    kind: Kind
    limit: float = math.nan
    producers: int = 0

    def __str__(self) -> str:
        if self.kind == "guarantee":
            return "guarantee"
        return f"error={self.limit:.3g}@{self.producers}" if self.kind == "error" else f"{self.kind}={self.limit:g}"

    def met(self, facts: StudyProtection) -> BoolArray:
        """Return which settings meet the requirement; an unknown value counts as not met."""
        if self.kind == "guarantee":
            return facts.promising
        with np.errstate(invalid="ignore"):
            if self.kind == "hidden":
                return facts.guess >= self.limit
            if self.kind == "error":
                return facts.error(self.producers) <= self.limit
            return (facts.epsilon if self.kind == "epsilon" else facts.recognised) <= self.limit

    def words(self, facts: StudyProtection) -> str:
        """Return the requirement as a phrase."""
        asked = facts.question
        return {
            "guarantee": f"a finite epsilon {asked.words()}",
            "hidden": f"the best guess of a reading from its report errs by {self.limit:g} or more of guessing without",
            "epsilon": f"epsilon {self.limit:g} or less {asked.words()}",
            "recognised": f"at most {self.limit:.0%} of producers are named from a masked day",
            "error": f"the total of {self.producers:,} producers errs by {self.limit:.2%} or less on average",
        }[self.kind]


def meeting(
    demands: Sequence[Demand],
    profile: Profile,
    question: Question,
    evidence: Evidence | None = None,
    *,
    scaled: bool = False,
) -> Callable[[PrivacySetting], bool]:
    """Return a function that says whether one setting meets all requirements."""

    def meets(setting: PrivacySetting) -> bool:
        alone = StudyProtection([setting], np.ones(1, bool), profile, question, evidence, scaled)
        return all(bool(each.met(alone)[0]) for each in demands)

    return meets


def parse_demand(text: str) -> Demand:
    """Parse ``guarantee``, ``hidden=0.2``, ``epsilon=4``, ``recognised=0.1`` or ``error=2%@500``."""
    kind, equals, value = (part.strip() for part in text.partition("="))
    if kind not in get_args(Kind) or (kind == "guarantee") == bool(equals):
        raise OptionError(f"requirement {text[:60]!r}: write {FORMS}", kind="requirement")
    if kind == "guarantee":
        return Demand("guarantee")
    number, at, producers = (part.strip() for part in value.partition("@"))
    limit = parse_share(number, text)
    if kind != "error":
        if at or not (0 < limit < math.inf) or (kind != "epsilon" and limit > 1):
            raise OptionError(f"requirement {text[:60]!r}: write {FORMS}, with a limit above 0", kind="requirement")
        return Demand(kind, limit)  # type: ignore[arg-type]
    if not producers.isdigit() or int(producers) < 1 or not limit > 0:
        raise OptionError(
            f"requirement {text[:60]!r}: write error=2%@500, an error and of how many producers' total",
            kind="requirement",
        )
    return Demand("error", limit, int(producers))


def parse_share(text: str, whole: str) -> float:
    """Return a number, or a percentage such as ``2%`` as a share; ``whole`` is the text that an error quotes."""
    if not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*%?", text):
        raise OptionError(f"{whole[:60]!r}: {text[:20]!r} is not a number or a percentage like 2%", kind="number")
    return float(text.rstrip("% ")) / (100 if text.endswith("%") else 1)


@dataclass(frozen=True)
class BinCost:
    """Best median utility of one bin without requirements, with each alone, and with all; None if nothing is left."""

    id: str
    free: float | None
    alone: tuple[float | None, ...]
    together: float | None


@dataclass(frozen=True)
class Costs:
    """The utility that requirements cost in each bin."""

    demands: tuple[Demand, ...]
    bins: tuple[BinCost, ...]

    def rows(self) -> list[list[str]]:
        """Return the costs as a table, headings first.

        A cost is the best median utility given up; "empty" if no setting is left in the bin.
        """
        together = len(self.demands) > 1
        head = ["id", "best utility", *(f"cost of {each}" for each in self.demands)] + ["cost of all"] * together
        return [head] + [
            [
                each.id,
                "empty" if each.free is None else f"{each.free:.3f}",
                *(_cost(each.free, left) for left in each.alone),
                *([_cost(each.free, each.together)] if together else []),
            ]
            for each in self.bins
        ]

    @property
    def largest(self) -> float | None:
        """The largest cost of all requirements together, over the bins that keep a setting; None if no bin does."""
        costs = [each.free - each.together for each in self.bins if each.free is not None and each.together is not None]
        return max(costs) if costs else None


def _cost(free: float | None, left: float | None) -> str:
    if free is None:
        return "-"
    return "empty" if left is None else f"{max(free - left, 0):.3f}"
