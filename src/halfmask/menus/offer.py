"""The menu with guarantees: the guess error of its levels rises in equal increments.

Level k of n is the least Laplace noise for which the guess error is at least k/(n + 1), computed for the noise that
devices draw. Devices must accept the setting. One report of Laplace noise has a finite epsilon at delta 0: the change,
in whole steps of the lattice, divided by b. It costs little utility compared with the best of all mechanisms (`Costs`).
The paper's scores are also computed, on the scale of a study of the same data. Each level says how many producers keep
the error of a total within the limit: the error falls with the square root of their number.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halfmask.errors import OptionError
from halfmask.evaluation.sampling import population
from halfmask.mechanisms.grid import AUTO, REFERENCE
from halfmask.mechanisms.setting import PrivacySetting, release_of
from halfmask.menus.menu import Menu, MenuSetting, noise_std, none_setting
from halfmask.menus.menu_requirements import Demand
from halfmask.menus.menu_scale import Placed, place
from halfmask.menus.offer_table import MEAN, MEDIAN
from halfmask.menus.optimize import optimize
from halfmask.menus.promised_levels import (
    SIGNED,
    best_epsilon,
    clipping,
    closest,
    curve_epsilon,
    halving,
    settings_keeping,
)
from halfmask.menus.public_summary import EPSILON, public_summary
from halfmask.menus.question import WHOLE, Question, default_question
from halfmask.menus.recognised_share import recognised_if_known
from halfmask.menus.setting_protection import protection_of
from halfmask.menus.study_scores import AnyStudy
from halfmask.menus.total_error import producers_needed, total_error, total_errors, uneven, usual_error
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from halfmask.protection.best_guess import check_varies, guess_error
from halfmask.protection.evidence import Evidence, Population, population_of
from halfmask.results import Shown
from halfmask_device.decimals import number_text
from halfmask_device.setting import READING, SPLIT, TOTAL, suffix

if TYPE_CHECKING:
    import pyarrow as pa

NAMES: Mapping[int, tuple[str, ...]] = {
    1: ("medium blur",),
    2: ("light blur", "heavy blur"),
    3: ("light blur", "medium blur", "heavy blur"),
    4: ("light blur", "medium blur", "heavy blur", "very heavy blur"),
    5: ("very light blur", "light blur", "medium blur", "heavy blur", "very heavy blur"),
}
"""Names of the levels for households, from the least masking up; "none" is called "open".

Names describe the blur of a reading, not a strength of protection: that differs between a reading and a day, and is
stated separately.
"""
OPEN = "open"
LEVEL = "L"
"""Begins the ids of an offer's levels. Letters alone are those of the paper's menu."""
SPLIT_ID, SPLIT_NAME = "S", "split"
"""Id and name of the level whose totals are split between two services."""
LEVELS = 4
WITHIN = 0.01
DIGITS = 3
MOST_TRIES = 80


@dataclass(frozen=True)
class Offer(Shown):
    """The offered menu, the paper's menu of the same study, and the guarantee's cost in utility on that menu.

    ``own``  the same levels with figures computed from the readings, for the analyst alone, if they were asked for
    """

    menu: Menu
    paper: Menu
    cost: float | None
    own: Menu | None = None

    def __repr__(self) -> str:
        return repr(self.menu).replace("<Menu", "<Offer", 1)

    def to_arrow(self) -> "pa.Table":
        """Return the offered menu's table: one row per level."""
        return self.menu.to_arrow()

    def sentence(self) -> str:
        """Return a sentence that says what the guarantee costs."""
        if self.cost is None:
            return "The study holds no setting with a guarantee to compare with, so its cost is not known."
        return (
            "In every level of the paper's menu that keeps a setting, asking for a guarantee costs at most "
            f"{max(self.cost, 0):.3f} of its utility."
        )


def offer(
    profile: Profile,
    study: AnyStudy,
    *,
    levels: int = LEVELS,
    question: Question | None = None,
    epsilons: Sequence[float] = (),
    settings: Sequence[PrivacySetting] = (),
    within: float = WITHIN,
    producers: int | None = None,
    split: float | None = None,
    evidence: Evidence | None = None,
    summary_epsilon: float = EPSILON,
) -> Offer:
    """Return the offer for a profile.

    ``study``            of the same data and the same release; gives the scale of the paper's scores
    ``levels``           number of levels besides "none"
    ``question``         what the promises are about; by default a typical reading's size in every reading of a day
    ``epsilons``         epsilon of each level. Without them, levels of readings have equal steps of the guess error,
                         and other levels follow from ``within`` and ``producers`` (see `promised_levels`)
    ``settings``         the levels themselves, if they are chosen already
    ``within``           largest error that a period's total may have
    ``producers``        number of producers of that total; by default all
    ``split``            epsilon of one more level, whose totals are split between two services
    ``evidence``         readings, to compute the share of producers recognised from a masked day
    ``summary_epsilon``  epsilon spent on the population's summary for households (see `public_summary`)
    """
    asked = question or default_question(profile)
    if split is not None and asked.release != TOTAL:
        raise OptionError(
            f"a split level stands beside levels of totals, and this offer's release is {asked.release}: leave "
            "`release` out, or take total",
            kind="split",
            field="split",
        )
    levels = len({each for each in settings if each.release == asked.release}) or len(set(epsilons)) or levels
    if levels not in NAMES:
        raise OptionError(
            f"{levels} levels: offer 1 to {max(NAMES)}, so that people can tell them apart", kind="levels"
        )
    if not 0 < within < 1:
        raise OptionError(f"an error of {within:g} is not between 0 and 1: give one like 0.01, or 1%", kind="within")
    crowd = population(profile) if producers is None else producers
    if crowd < 1:
        raise OptionError(f"{crowd} producers have no total: give a whole number from 1 on", kind="producers")
    base, profile = profile, released(profile, asked.release)
    people = population_of(profile)
    check_varies(people)
    guarded = optimize(study, profile=profile, question=asked.per_report, require=(Demand("guarantee"),))
    paper = guarded.menu
    paper.check_data(profile)
    masked = TOTAL if asked.release == SPLIT else asked.release
    if (made_for := release_of(each.setting for each in paper.settings)) != masked:
        raise OptionError(
            f"the study is of settings that mask each {made_for}, and the offer masks each {masked}: evaluate the "
            f"grid {AUTO}{suffix(masked)}, or leave the study out",
            kind="release",
            field="study",
        )
    targets = [(number + 1) / (levels + 1) for number in range(levels)]
    by_guess = not (epsilons or asked.release != READING or asked.protect in WHOLE)
    if settings:
        settings = list(settings)
    elif by_guess:
        settings = [least_laplace(target, people, asked) for target in targets]
    else:
        wanted = epsilons or halving(best_epsilon(asked, profile, within, crowd), levels)
        settings = settings_keeping(asked, wanted)
    _check_apart(settings, people, asked)
    if split is not None and SPLIT not in {each.release for each in settings}:
        settings = [*settings, *settings_keeping(replace(asked, release=SPLIT), [split])]
    placed = place(settings, profile, paper)
    known = evidence if asked.release == READING else None
    *named, unmasked = recognised_if_known(known, (*settings, PrivacySetting("none")))
    scaled = paper.provenance.get("error") == "scaled"
    decides = MEDIAN if uneven(profile, settings[0], scaled=scaled, step=asked.step) else MEAN
    entries = [
        _level(
            number, targets, setting, placed[setting], named[number],
            (profile, people, asked, within, scaled, decides, crowd),
        )
        for number, setting in enumerate(settings)
    ]  # fmt: skip
    none = none_setting(masked)
    shown = replace(protection_of(none.setting, people, asked), recognised=unmasked)
    open_ = replace(none, name=OPEN, protection=shown, promise=asked.promise(none.setting))
    cost = guarded.costs.largest if guarded.costs else None
    made: dict[str, Any] = {
        "step": 1 / (levels + 1),
        "within": within,
        "producers": crowd,
        "guarantee_costs": cost,
        "decides": decides,
    }
    if asked.release != READING:
        made["clipping"] = vars(clipping(base, asked.low, asked.high))
        made["curve"] = curve_epsilon(asked, base, within)
    if not by_guess:
        made["closest"] = _closest(base, asked, within, crowd, entries, scaled=scaled)
    kept = {name: value for name, value in paper.provenance.items() if name not in ("require", "bins")}
    menu = Menu(
        settings=(*entries, open_),
        normalisers=paper.normalisers,
        weights=paper.weights,
        constraints=paper.constraints,
        provenance={**kept, "by": "hidden" if by_guess else "promise", "bins": levels, "offer": made},
        question=asked,
        public=public_summary(base, summary_epsilon),
    )
    return Offer(menu, optimize(study, profile=profile, question=asked.per_report).menu, cost)


def _closest(
    profile: Profile, question: Question, within: float, producers: int, entries: Sequence[MenuSetting], *, scaled: bool
) -> dict[str, float | int | None] | None:
    """Return what comes closest if no level has both the wanted error and an epsilon of at most `SIGNED`; else None."""
    if question.release == SPLIT or any(_kept(each, producers) for each in entries):
        return None
    last = [each for each in entries if each.setting.release == question.release][-1]
    strong = last.promise is not None and (last.promise.epsilon or math.inf) <= SIGNED
    wanted = last.promise.epsilon if strong and last.promise and last.promise.epsilon else SIGNED
    return dict(vars(closest(question, profile, within, producers, wanted, scaled=scaled)))


def _kept(level: MenuSetting, producers: int) -> bool:
    """Return whether a level has a strong promise, and so many producers keep the wanted error of its total."""
    strong = level.promise is not None and (level.promise.epsilon or math.inf) <= SIGNED
    return strong and level.needed is not None and level.needed <= producers


def least_laplace(target: float, people: Population, question: Question) -> PrivacySetting:
    """Return the Laplace setting of the least b that has a guess error of at least ``target`` and that devices accept.

    The guess error rises with b, from 0 (the report equals the reading) to 1 (the report reveals nothing).
    """

    def reaches(scale: float) -> bool:
        setting = PrivacySetting(REFERENCE, (scale,))
        return guess_error(setting, people, question.step) >= target and question.refusal(setting) is None

    low, high = 0.0, question.change
    for _ in range(MOST_TRIES):
        if reaches(high):
            break
        low, high = high, 2 * high
    else:
        raise OptionError(
            f"no noise makes the best guess of a reading err by {target:.0%} of guessing without a report", kind="guess"
        )
    while low == 0.0 or high > low * (1 + 10.0**-DIGITS):
        middle = math.sqrt(low * high) if low else high / 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    scale = float(f"{high:.{DIGITS}g}")
    last = 10.0 ** (math.floor(math.log10(scale)) + 1 - DIGITS)  # one more of the last digit
    while not reaches(scale):
        scale = float(f"{scale + last:.{DIGITS}g}")
    return PrivacySetting(REFERENCE, (scale,))


def _check_apart(settings: Sequence[PrivacySetting], people: Population, question: Question) -> None:
    """Raise an OptionError if two levels are equal: on a coarse lattice the least noise may meet several targets."""
    if len(set(settings)) == len(settings):
        return
    least = guess_error(settings[0], people, question.step)
    raise OptionError(
        f"{len(settings)} levels cannot be told apart on steps of {number_text(question.step or 0.0)}: the least noise "
        f"that devices take there, {settings[0]}, makes the best guess err by {least:.0%} of guessing without a "
        "report: take a finer `step`, or fewer `levels`",
        kind="apart",
    )


def _level(
    number: int,
    targets: Sequence[float],
    setting: PrivacySetting,
    placed: Placed,
    recognised: float | None,
    of: tuple[Profile, Population, Question, float, bool, str, int],
) -> MenuSetting:
    profile, people, question, within, scaled, decides, crowd = of
    errors = total_errors(profile, setting, scaled=scaled, step=question.step)
    if (own := total_error(profile, setting, crowd, scaled=scaled, step=question.step)) is not None:
        errors[crowd] = own
    protection = replace(
        protection_of(setting, people, question),
        errors=errors,
        usual=usual_error(profile, setting, population(profile), scaled=scaled, step=question.step),
        recognised=recognised,
    )
    beside = number >= len(targets)  # the split level of an offer of totals
    if setting.release == SPLIT:  # nobody sees a masked value that could be guessed from
        protection = replace(protection, guess=None)
    return MenuSetting(
        id=SPLIT_ID if beside else f"{LEVEL}{number + 1}",
        setting=setting,
        bin=(1.0, 1.0) if beside else (round(targets[number], 12), round((*targets, 1.0)[number + 1], 12)),
        privacy=placed.privacy,
        utility=placed.utility,
        objective=placed.objective,
        noise_std=noise_std(setting, question.step),
        name=SPLIT_NAME if beside else NAMES[len(targets)][number],
        outside=placed.outside,
        protection=protection,
        promise=question.promise(setting),
        needed=producers_needed(profile, setting, within, usual=decides == MEDIAN, scaled=scaled, step=question.step),
    )
