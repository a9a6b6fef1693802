"""What a card amounts to: one sentence in plain words, and warnings where score, guarantee and attacks disagree."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halfmask.audits.attacks import Finding
from halfmask.audits.guarantee import Guarantee
from halfmask.choice.menu import Score
from halfmask.settings.setting import PrivacySetting

HIGH_SCORE = 0.4
"""A privacy score from which people take themselves for protected."""
LARGE_EPSILON = 5.0
"""Over a day: from here on the odds that an attacker gives one of two readings may change by a factor of e^5 = 148."""
SMALL_DELTA = 1e-6
CERTAIN = 1e-3
"""Chance of certain disclosure over a day, from which a guarantee counts as weak."""
UNDONE = 0.5
"""Attacks that leave less than this share of what they started from count as successful."""
NAMED, TIMES_CHANCE = 0.1, 10
HIDES = 0.05
"""Best guess against that without a report: below, the setting hides next to nothing."""


@dataclass(frozen=True)
class Alternative:
    """Laplace noise with the variance, and so the utility, of another setting.

    ``privacy`` is its score and ``privacy_now`` the other's, both over all readings.
    """

    setting: PrivacySetting
    epsilon: float
    privacy: float
    privacy_now: float
    curve: Mapping[int, tuple[float, ...]]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        curve = {str(count): list(points) for count, points in self.curve.items()}
        return {**vars(self), "setting": str(self.setting), "curve": curve}


def sentence(typical: Guarantee, findings: Sequence[Finding], reports: Mapping[str, int]) -> str:
    """What the setting does for a person, in one sentence."""
    found = {each.name: each for each in findings}
    told = [_blur(found.get("reconstruction"))]
    steady, named = found.get("averaging"), found.get("re-identification")
    until = steady.details.get("reports_until_10_percent") if steady else None
    if until is not None and until > 1:
        told.append(f"a steady value shows to 10 % after {until:,} reports, {_span(until, reports)}")
    if named is not None and named.value is not None:
        told.append(f"{named.value:.0%} of users are recognised by their reports")
    text = "; ".join([*(part for part in told if part), _promise(typical)])
    return f"{text[:1].upper()}{text[1:]}."


def warnings(
    privacy: Score | None,
    typical: Guarantee,
    findings: Sequence[Finding],
    reports: Mapping[str, int],
    instead: Alternative | None = None,
) -> tuple[str, ...]:
    """Where the parts of a card disagree, most serious first, and what would serve better."""
    found = {each.name: each for each in findings if each.value is not None}
    told = []
    score = 0.0 if privacy is None else privacy.median
    weak = _weakness(typical, reports["day"])
    if score >= HIGH_SCORE and weak:
        told.append(f"High score ({score:.2f}), weak guarantee: {weak}.")
    guess = found.get("reconstruction")
    if guess and guess.value is not None and guess.baseline:
        share = guess.value / guess.baseline
        if share < HIDES:
            told.append("Hides next to nothing: a report all but shows the reading.")
        elif share < UNDONE and score >= HIGH_SCORE:
            told.append(f"High score ({score:.2f}), yet one report takes {1 - share:.0%} off an attacker's error.")
    left = found.get("smoothing")
    if left and left.value is not None and left.value < UNDONE and score >= HIGH_SCORE:
        told.append(f"Smoothing a series of reports removes {1 - left.value:.0%} of the noise's variance.")
    named = found.get("re-identification")
    if named and named.value is not None and named.value >= max(NAMED, TIMES_CHANCE * (named.baseline or 0)):
        told.append(f"Users stay recognisable: {named.value:.0%} are named, {named.baseline:.1%} by chance.")
    if instead and weak and instead.epsilon <= LARGE_EPSILON:
        told.append(
            f"{instead.setting} has the same variance, and so the same utility: over all readings it scores "
            f"{instead.privacy:.2f} instead of {instead.privacy_now:.2f}, and guarantees epsilon {instead.epsilon:.2g} "
            "for each report."
        )
    return tuple(told)


def _weakness(found: Guarantee, day: int) -> str:
    """Why a day of reports is weakly guarded against a change of typical size; empty where it is not."""
    certain = found.composed[day][math.inf]
    if certain > CERTAIN:
        return f"a day of reports rules the other reading out for certain with probability {certain:.2g}"
    epsilon = found.epsilon_at(SMALL_DELTA, day)
    if epsilon is None or epsilon > LARGE_EPSILON:
        reached = "no finite epsilon" if epsilon is None else f"epsilon {epsilon:.3g}"
        return f"{reached} over a day of reports (delta {SMALL_DELTA:g})"
    return ""


def _blur(found: Finding | None) -> str:
    if found is None or found.value is None or not found.baseline:
        return ""
    share = found.value / found.baseline
    if share < HIDES:
        return "a report all but shows the reading"
    return f"who sees one report guesses the reading {found.value:.2g} off ({found.baseline:.2g} without it)"


def _span(reports: int, of: Mapping[str, int]) -> str:
    days = reports / of["day"]
    if days < 1:
        return "within a day"
    return f"{days:.0f} days" if days >= 1.5 else "a day"


def _promise(found: Guarantee) -> str:
    change = f"a change of {found.sensitivity:.2g}"
    if found.epsilon is not None:
        return f"each report hides {change} up to epsilon {found.epsilon:.2g}"
    if found.certain >= 0.5:
        return f"no epsilon guarantee: {found.certain:.0%} of reports give {change} away for certain"
    if found.certain > 0:
        return f"no epsilon guarantee: one report in {1 / found.certain:,.0f} gives {change} away for certain"
    return f"each report hides {change} up to epsilon 1, but for a chance of {found.delta[1.0]:.2g}"
