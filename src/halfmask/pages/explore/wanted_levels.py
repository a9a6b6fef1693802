"""What the analyst asks for on the explore page, as a query has it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from halfmask.errors import OptionError
from halfmask.evaluation.sampling import population
from halfmask.menus.menu import Menu
from halfmask.menus.menu_requirements import parse_share
from halfmask.menus.promised_levels import SIGNED
from halfmask.menus.question import UNITS, WHOLE, WHOLE_DAY, Question, question_of
from halfmask.profiles.profile import Profile
from halfmask_device.decimals import parse_number
from halfmask_device.setting import READING, SPLIT, TOTAL

RELEASES = (READING, TOTAL, SPLIT)
MOST_PRODUCERS = 10**9


@dataclass(frozen=True)
class WantedLevels:
    """Which levels are asked for: a promise about ``protect`` with a small enough epsilon, and an error of totals.

    ``within``   error that a period's total of ``producers`` may have
    ``epsilon``  largest epsilon that counts as a fit
    ``high``     largest total of a period that is shared; None: from the data
    """

    producers: int
    within: float = 0.01
    protect: str = WHOLE_DAY
    release: str = TOTAL
    epsilon: float = SIGNED
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, profile: Profile, offer: Menu | None) -> "WantedLevels":
        """Return what the folder's offer was asked for; without an offer, the defaults of `halfmask offer`."""
        if offer is None or offer.question is None:
            return cls(population(profile))._bounded(profile)
        asked, made = offer.question, offer.provenance.get("offer", {})
        bounds = (asked.low, asked.high) if asked.low < asked.high else (None, None)
        found = cls(
            int(made.get("producers") or population(profile)), float(made.get("within", cls.within)),
            asked.protect, asked.release, SIGNED, *bounds,
        )  # fmt: skip
        return found._bounded(profile)

    def _bounded(self, profile: Profile) -> "WantedLevels":
        """Return the same with bounds of a total, so that they do not change with other controls."""
        if self.low is not None and self.high is not None:
            return self
        asked = question_of(WHOLE_DAY, TOTAL, profile)
        return replace(self, low=asked.low, high=asked.high)

    def read(self, query: Mapping[str, str]) -> "WantedLevels":
        """Return this with the values of a query."""
        unknown = [name for name in query if name not in READERS]
        if unknown:
            raise OptionError(f"there is no option '{unknown[0][:40]}': there are {', '.join(READERS)}", kind="unknown")
        said: dict[str, Any] = {name: READERS[name](name, text) for name, text in query.items()}
        return replace(self, **said)

    def question(self, profile: Profile) -> Question:
        """Return what an epsilon is about."""
        return question_of(self.protect, self.release, profile, low=self.low, high=self.high)

    @property
    def bounded(self) -> bool:
        """Whether the bounds of a total matter."""
        return self.protect in WHOLE or self.release != READING


def _number(name: str, text: str) -> float:
    value = parse_number(text, f"{name}={text[:40]}")
    if name == "epsilon" and value <= 0:
        raise OptionError(f"epsilon {text[:40]} is not above 0: write one such as 5", kind="number")
    return value


def _producers(name: str, text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_PRODUCERS:
        raise OptionError(
            f"{name} '{text[:40]}' is not a whole number from 1 on: write one such as 1000", kind="number"
        )
    return int(text)


def _share(name: str, text: str) -> float:
    found = parse_share(text, f"{name} {text[:40]}")
    if not 0 < found < 1:
        raise OptionError(f"{name} {text[:40]} is not between 0 and 1: write 0.01, or 1%", kind="number")
    return found


def _one_of(name: str, text: str) -> str:
    known = UNITS if name == "protect" else RELEASES
    if text not in known:
        raise OptionError(f"{name} '{text[:40]}' is none of {', '.join(known)}", kind="unknown")
    return text


READERS: dict[str, Callable[[str, str], Any]] = {
    "producers": _producers,
    "within": _share,
    "protect": _one_of,
    "release": _one_of,
    "epsilon": _number,
    "low": _number,
    "high": _number,
}
"""What reads each option of a query."""
