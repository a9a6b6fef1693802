"""Which levels of an offer page one recommends, and why not the others.

A level is recommended only if all of this holds:

    its epsilon for a whole day, any total within the bounds, at delta 1e-6, is at most `SIGNED`
    attacks were run on what it masks (series of readings if these are masked), and each conclusive one does measurably
    worse than on unmasked reports: the 95 % interval of its result does not hold the unmasked result
    it hides something, and there are enough producers for the wanted error

An attack is inconclusive if its interval holds both the unmasked result and that of blind chance: too few users were
attacked to see any difference.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from halfmask.audits.card import ReportCard, SettingCard
from halfmask.errors import OptionError
from halfmask.figures.wording import in_a_list, share_text
from halfmask.menus.menu import Menu, MenuSetting
from halfmask.menus.promised_levels import SIGNED, Closest, closest
from halfmask.menus.question import WHOLE, KeptPromise, Question, whole_day_of
from halfmask.menus.setting_protection import HIDES
from halfmask.profiles.profile import Profile
from halfmask.protection.attacks.finding import Finding
from halfmask_device.decimals import number_text, upwards
from halfmask_device.setting import READING, TOTAL

ATTACKS = {
    "reidentification-day": "naming a producer from one day",
    "reidentification-half": "naming a producer from half of the reports",
    "own-total-day": "a producer's own total of a day",
    "own-total-week": "a producer's own total of a week",
    "own-total-month": "a producer's own total of a month",
    "quietest-week": "a producer's quietest week",
    "presence": "whether anyone was home",
    "peak": "the time of a day's peak",
}
"""The attacks on a producer's life, in words."""
ERRORS = {"own-total-day", "own-total-week", "own-total-month"}
"""Attacks whose value is an error: the attack is weaker if it is larger."""


@dataclass(frozen=True)
class Advice:
    """What page one says of one level.

    ``promise``  of a whole day at `DELTA`; None if the bounds of a total are not known
    ``against``  reasons not to recommend the level; none if it is recommended
    """

    id: str
    promise: KeptPromise | None
    against: tuple[str, ...]


def level_advice(menu: Menu, profile: Profile | None, card: ReportCard | None) -> list[Advice]:
    """Return what page one says of each masked level of an offer."""
    asked = whole_day_of(menu.question, profile)
    found = []
    for each in menu.settings[:-1]:
        promise = asked.promise(each.setting) if asked else None
        audited = next((one for one in card.cards if one.setting == each.setting), None) if card else None
        series = card is None or card.about.resolution == "readings" or menu.release != READING
        reasons = (*_weak(promise, asked), *_attacked(audited, series), *_useless(each, menu))
        found.append(Advice(each.id, promise, reasons))
    return found


def _weak(promise: KeptPromise | None, asked: Question | None) -> Iterator[str]:
    if promise is None or asked is None:
        yield "its epsilon for a whole day is not known, as neither the offer nor a profile has bounds of a total"
    elif promise.epsilon is None:
        yield f"it keeps no epsilon {asked.words()}"
    elif promise.epsilon > SIGNED:
        yield f"epsilon {upwards(promise.epsilon)} {of_a_day(asked, promise)}, is above {SIGNED:g}"


def of_a_day(asked: Question, promise: KeptPromise) -> str:
    """Return what the epsilon of a whole day is about, at the delta that it holds at."""
    return f"for {asked.what()}, at delta {number_text(promise.delta)}"


def _attacked(audited: SettingCard | None, series: bool) -> Iterator[str]:
    ran = attacks_of(audited)
    if not ran:
        yield "no attack on it is in the folder"
        return
    if not series:
        yield "attacks saw only totals of its masked readings, which show less than the readings: audit with a panel"
    told = [each for each in ran if not blind(each)]
    same = [each for each in told if not worse(each)]
    if same:
        named = in_a_list([ATTACKS[each.name] for each in same])
        yield f"attacks do no measurably worse on it than on unmasked reports: {named}"
    elif not told:
        yield "too few users were attacked to see that attacks do worse on it than on unmasked reports"


def _useless(each: MenuSetting, menu: Menu) -> Iterator[str]:
    made, found = menu.provenance.get("offer", {}), each.protection
    if found is not None and found.guess is not None and found.guess < HIDES:
        yield "it hides next to nothing"
    if made and each.needed is not None and each.needed > made["producers"]:
        yield f"it needs {each.needed:,} producers for the wanted error, and there are {made['producers']:,}"


def attacks_of(audited: SettingCard | None) -> list[Finding]:
    """Return the attacks on a producer's life that apply, each with its interval and its result on unmasked reports."""
    return [
        each
        for each in (audited.attacks if audited else ())
        if each.name in ATTACKS and None not in (each.value, each.baseline, each.low, each.high)
    ]


def worse(found: Finding) -> bool:
    """Return whether an attack does measurably worse than on unmasked reports."""
    low, high, bare = found.low or 0.0, found.high or 0.0, found.baseline or 0.0
    return low > bare if found.name in ERRORS else high < bare


def blind(found: Finding) -> bool:
    """Return whether an attack is inconclusive: its interval holds the unmasked result and that of blind chance."""
    chance = found.details.get("without_reports" if found.name in ERRORS else "chance")
    low, high = found.low or 0.0, found.high or 0.0
    return chance is not None and all(low <= each <= high for each in (float(chance), found.baseline or 0.0))


def instead(menu: Menu, profile: Profile | None) -> list[str]:
    """Return what could be offered instead of levels with a weak promise; empty if that is not known."""
    known = _closest(menu, profile)
    if known is None:
        return []
    near, asked = known
    made = menu.provenance["offer"]
    masked = "every reading is" if asked.release == READING else f"each producer's own total of a {asked.noun} is"
    count, within = made["producers"], share_text(made["within"])
    promise = f"epsilon {upwards(near.epsilon)} {asked.words()}"
    total = f"a {asked.noun}'s total of {count:,} producers"
    told = []
    if near.error is not None:
        error = share_text(near.error)
        told.append(
            f"A larger error: if {masked} masked with {promise}, {total} errs by {error} on average, not {within}."
        )
    if near.producers is not None:
        told.append(f"More producers: with {promise}, an error of {within} takes {near.producers:,} of them.")
    if near.split is not None:
        told.append(
            f"A total that is split between two services, neither of which sees a producer's own: with {promise}, "
            f"{total} errs by {share_text(near.split)} on average. This protects only if the two do not join hands."
        )
    return told


def briefly_instead(menu: Menu, profile: Profile | None) -> str:
    """Return in one sentence what would make a level with a strong promise possible; empty if that is not known."""
    known = _closest(menu, profile)
    if known is None:
        return ""
    near, asked = known
    ways = []
    if near.error is not None:
        ways.append(f"an error of {share_text(near.error)}")
    if near.producers is not None:
        ways.append(f"{near.producers:,} producers")
    if near.split is not None:
        ways.append(f"a total split between two services, with an error of {share_text(near.split)}")
    return f"What would allow epsilon {upwards(near.epsilon)} {asked.words()}: {'; or '.join(ways)}."


def _closest(menu: Menu, profile: Profile | None) -> tuple[Closest, Question] | None:
    """Return what comes closest by the offer's own figures, and what their epsilon is about.

    For an offer that promises about readings it is computed now, for each producer's own totals.
    """
    made, asked = menu.provenance.get("offer", {}), menu.question
    if asked is not None and (known := made.get("closest")) is not None:
        return Closest(**known), asked
    if not made or asked is None or asked.protect in WHOLE or profile is None or not profile.readings:
        return None
    bounds = whole_day_of(menu.question, profile)
    if bounds is None:
        return None
    of, scaled = replace(bounds, release=TOTAL), menu.provenance.get("error") == "scaled"
    try:
        return closest(of, profile, made["within"], made["producers"], SIGNED, scaled=scaled), of
    except OptionError:  # no noise has the wanted error
        return None
