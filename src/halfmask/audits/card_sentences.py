"""A card in plain words: a sentence for each setting, and warnings if score, guarantee and attacks disagree."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Score
from halfmask.plain import Share, Size
from halfmask.protection.attacks import Finding
from halfmask.protection.guarantees.guarantee import Guarantee
from halfmask.protection.guarantees.promises import LARGE_EPSILON, SMALL_DELTA, odds, promise, times
from halfmask_device.decimals import number_text, upwards

HIGH_SCORE = 0.4
"""Privacy score from which people believe that they are protected."""
CERTAIN = 1e-3
"""Probability of certain disclosure over a day above which a guarantee counts as weak."""
UNDONE = 0.5
"""An attack counts as successful if its error is below this share of the baseline."""
ALMOST = 0.995
"""Shares above this are not rounded up to all."""
NAMED, TIMES_CHANCE = 0.1, 10
"""Users count as named if their share is at least `NAMED`, and at least `TIMES_CHANCE` times that by chance."""
HIDES = 0.05
"""Guess error below which a setting hides next to nothing."""


@dataclass(frozen=True)
class Alternative:
    """Laplace noise with the variance, and so the utility, of another setting.

    ``epsilon``      of one report, for ``change``
    ``day``          epsilon of a day's reports at `SMALL_DELTA`; None if it is not finite
    ``privacy``      its score over all readings
    ``privacy_now``  the other setting's score over all readings
    """

    setting: PrivacySetting
    change: Size
    epsilon: Size
    day: Size | None
    privacy: float
    privacy_now: float
    curve: Mapping[int, tuple[Share, ...]]


def sentence(typical: Guarantee, findings: Sequence[Finding], reports: Mapping[str, int]) -> str:
    """Return one sentence on what the setting does for a person."""
    found = {each.name: each for each in findings}
    told = [_blur(found.get("reconstruction"), typical.unit)]
    steady, named = found.get("averaging"), found.get("reidentification-half")
    until = steady.details.get("reports_until_10_percent") if steady else None
    if until is not None and until > 1:
        told.append(f"a steady value shows to 10 % after {until:,} reports, {_span(until, reports)}")
    if named is not None and named.value is not None:
        told.append(f"{_share(named.value)} of users are named by half of their reports ({_named_beside(named)})")
    text = "; ".join([*(part for part in told if part), _promise(typical)])
    return f"{text[:1].upper()}{text[1:]}."


def warnings(
    privacy: Score | None,
    typical: Guarantee,
    findings: Sequence[Finding],
    reports: Mapping[str, int],
    instead: Alternative | None = None,
) -> tuple[str, ...]:
    """Return the disagreements between parts of a card, most serious first, and a better alternative if
    there is one.
    """
    found = {each.name: each for each in findings if each.value is not None}
    told = []
    score = 0.0 if privacy is None else privacy.median
    weak = _weakness(typical, reports["day"])
    if score >= HIGH_SCORE and weak:
        told.append(f"High score ({score:.2f}), {weak}.")
    told += [*_undone(score, found.get("reconstruction"), found.get("smoothing"), typical.unit)]
    named = found.get("reidentification-half")
    if named and (named.value or 0) >= max(NAMED, TIMES_CHANCE * named.details.get("chance", 0)):
        told.append(f"Users are named by half of their reports: {_share(named.value)} ({_named_beside(named)}).")
    if instead and weak and instead.day is not None and instead.day <= LARGE_EPSILON:
        now = typical.epsilon_at(SMALL_DELTA, reports["day"])
        if now is None or instead.day < now:
            told.append(_advice(instead, typical.size, reports["day"]))
    return tuple(told)


def law_unknown(setting: PrivacySetting) -> bool:
    """Return whether no guarantee can be computed: for a rule, relative noise, or a law known only from draws.

    Its delta of 1 is then a bound for the worst reading, and says nothing about a typical one.
    """
    noise = setting.inner or setting
    return noise.kind != "additive" or noise.law.estimated


def _undone(score: float, guess: Finding | None, smoothed: Finding | None, unit: str) -> Iterator[str]:
    """Yield a warning if an attack greatly reduces the error of an attacker who knows only other users' readings.

    For smoothing, it must also leave little of the noise. Large noise is always reduced a lot, even if the smoother
    learns nothing and only uses the readings of others.
    """
    if guess and guess.value is not None and guess.baseline:
        left = guess.value / guess.baseline
        if left < HIDES:
            yield f"Hides next to nothing: {_blur(guess, unit)}."
        elif left < UNDONE and score >= HIGH_SCORE:
            yield f"High score ({score:.2f}), yet one report takes {_share(1 - left)} off an attacker's error."
    if smoothed and smoothed.details.get("rmse_prior"):
        left = smoothed.details["rmse_smoothed"] / smoothed.details["rmse_prior"]
        if left < UNDONE and (smoothed.value or 0) < UNDONE and score >= HIGH_SCORE:
            yield f"High score ({score:.2f}), yet smoothing reports takes {_share(1 - left)} off an attacker's error."


def _advice(instead: Alternative, size: str, day: int) -> str:
    now, then = f"{instead.privacy_now:.2f}", f"{instead.privacy:.2f}"
    scores = f"{then}, as this does" if now == then else f"{then} instead of {now}"
    return (
        f"{instead.setting} has the same variance, and so the same utility: over all readings it scores {scores}, and "
        f"for {size} it keeps epsilon {upwards(instead.epsilon, 2)} in one reading (delta 0) and epsilon "
        f"{'none' if instead.day is None else upwards(instead.day, 2)} in each of {day:,} readings, a day "
        f"(delta {number_text(SMALL_DELTA)})."
    )


def _weakness(found: Guarantee, day: int) -> str:
    """Return why the guarantee of a day of reports is weak for a typical change; empty if it is not weak."""
    if law_unknown(found.setting):
        return found.label
    certain = found.composed[day][math.inf]
    of = f"for {found.size} in each of {day:,} readings, a day"
    if certain > CERTAIN:
        often = "all but always" if certain > ALMOST else f"with probability {upwards(certain, 2)}"
        return f"weak guarantee: reports rule the other values out for certain {often}, {of}"
    epsilon = found.epsilon_at(SMALL_DELTA, day)
    if epsilon is None or epsilon > LARGE_EPSILON:
        reached = "no finite epsilon" if epsilon is None else f"epsilon {upwards(epsilon)}"
        return f"weak guarantee: {reached} {of} (delta {number_text(SMALL_DELTA)})"
    return ""


def _share(value: float | None) -> str:
    """Return a share as text; it is never rounded to all or to none."""
    if value is None:
        return "-"
    if 0 < value < 1 - ALMOST:
        return "under 1 %"
    return "over 99 %" if ALMOST < value < 1 else f"{100 * value:.2g} %" if value < 0.1 else f"{100 * value:.0f} %"


def _blur(found: Finding | None, unit: str) -> str:
    if found is None or found.value is None or not found.baseline:
        return ""
    if found.value == 0:
        return "a report shows the reading as it is"
    if found.value < HIDES * found.baseline:
        return "a report all but shows the reading"
    off, blind = (f"{each:.2g} {unit}".strip() for each in (found.value, found.baseline))
    return f"who sees one report guesses the reading {off} off ({blind} without it)"


def _named_beside(found: Finding) -> str:
    """Return the shares that the named share should be compared with: unmasked, and by chance."""
    unmasked = (
        "no different from unmasked" if found.details.get("no_difference") else f"{_share(found.baseline)} unmasked"
    )
    return f"{unmasked}, {_share(found.details.get('chance'))} by chance"


def _span(reports: int, of: Mapping[str, int]) -> str:
    days = reports / of["day"]
    if days < 1:
        return "within a day"
    return f"{days:.0f} days" if days >= 1.5 else "a day"


def _promise(found: Guarantee) -> str:
    """Return the promise of one report as an attacker's best odds, and how often a report gives the change away."""
    if law_unknown(found.setting):
        return found.label
    change = found.size
    if found.certain == 1:
        return f"no epsilon guarantee: every report gives {change} in one reading away for certain"
    if found.certain >= 0.5:
        return f"no epsilon guarantee: {_share(found.certain)} of reports give {change} in one reading away for certain"
    if found.certain > 0:
        often = f"one report in {math.floor(1 / found.certain):,}"  # downwards: never rarer than it is
        return (
            f"no epsilon guarantee: {often} gives {change} in one reading away for certain, and an attacker who knows "
            f"all but this reading guesses right {times(odds(found))}"
        )
    return promise(found).words()
