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

from halfmask.errors import OptionError
from halfmask.evaluation.aggregates import averaged, noun
from halfmask.evaluation.sampling import population
from halfmask.mechanisms.grid import REFERENCE
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import IDS, NONE_ID, Menu, MenuSetting, noise_std, none_setting
from halfmask.menus.menu_requirements import Demand
from halfmask.menus.menu_scale import OUTSIDE, Placed, place
from halfmask.menus.menu_table import protection_cells, protection_heads
from halfmask.menus.optimize import optimize
from halfmask.menus.public_summary import EPSILON, public_summary
from halfmask.menus.recognised_share import recognised_if_known
from halfmask.menus.setting_protection import Question, default_question, protection_of
from halfmask.menus.study_scores import AnyStudy
from halfmask.menus.total_error import producers_needed, total_errors, uneven, usual_error
from halfmask.profiles.profile import Profile
from halfmask.protection.best_guess import check_varies, guess_error
from halfmask.protection.evidence import Evidence, Population, population_of
from halfmask_device.decimals import number_text

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
LEVELS = 4
WITHIN = 0.01
DIGITS = 3
MOST_TRIES = 80
MEAN, MEDIAN = "mean", "median"
"""The two statistics of the periods' errors, one of which decides how many producers a level needs."""
FEW_PERIODS = "the mean is decided by a few periods with next to nothing in them, so the median decides"


@dataclass(frozen=True)
class Offer:
    """The offered menu, the paper's menu of the same study, and the guarantee's cost in utility on that menu."""

    menu: Menu
    paper: Menu
    cost: float | None

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
    within: float = WITHIN,
    evidence: Evidence | None = None,
    summary_epsilon: float = EPSILON,
) -> Offer:
    """Return the offer for a profile.

    ``study``            of the same data; gives the scale of the paper's scores
    ``levels``           number of levels besides "none"
    ``question``         change and window that the guarantees are for
    ``within``           largest error that a period's total may have
    ``evidence``         readings, to compute the share of producers recognised from a masked day
    ``summary_epsilon``  epsilon spent on the population's summary for households (see `public_summary`)
    """
    if levels not in NAMES:
        raise OptionError(
            f"{levels} levels: offer 1 to {max(NAMES)}, so that people can tell them apart", kind="levels"
        )
    if not 0 < within < 1:
        raise OptionError(f"an error of {within:g} is not between 0 and 1: give one like 0.01, or 1%", kind="within")
    people = population_of(profile)
    check_varies(people)
    asked = question or default_question(profile)
    guarded = optimize(study, profile=profile, question=asked, require=(Demand("guarantee"),))
    paper = guarded.menu
    paper.check_data(profile)
    targets = [(number + 1) / (levels + 1) for number in range(levels)]
    settings = [least_laplace(target, people, asked) for target in targets]
    _check_apart(settings, people, asked)
    placed = place(settings, profile, paper)
    *named, unmasked = recognised_if_known(evidence, (*settings, PrivacySetting("none")))
    scaled = paper.provenance.get("error") == "scaled"
    decides = MEDIAN if uneven(profile, settings[0], scaled=scaled, step=asked.step) else MEAN
    entries = [
        _level(
            number, targets, setting, placed[setting], named[number], (profile, people, asked, within, scaled, decides)
        )
        for number, setting in enumerate(settings)
    ]
    shown = replace(protection_of(PrivacySetting("none"), people, asked), recognised=unmasked)
    open_ = replace(none_setting(), name=OPEN, protection=shown)
    cost = guarded.costs.largest if guarded.costs else None
    made = {
        "step": 1 / (levels + 1),
        "within": within,
        "producers": population(profile),
        "guarantee_costs": cost,
        "decides": decides,
    }
    kept = {name: value for name, value in paper.provenance.items() if name not in ("require", "bins")}
    menu = Menu(
        settings=(*entries, open_),
        normalisers=paper.normalisers,
        weights=paper.weights,
        constraints=paper.constraints,
        provenance={**kept, "by": "guess", "bins": levels, "offer": made},
        question=asked,
        public=public_summary(profile, summary_epsilon),
    )
    return Offer(menu, optimize(study, profile=profile, question=asked).menu, cost)


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
    of: tuple[Profile, Population, Question, float, bool, str],
) -> MenuSetting:
    profile, people, question, within, scaled, decides = of
    protection = replace(
        protection_of(setting, people, question),
        errors=total_errors(profile, setting, scaled=scaled, step=question.step),
        usual=usual_error(profile, setting, population(profile), scaled=scaled, step=question.step),
        recognised=recognised,
    )
    return MenuSetting(
        id=IDS[number],
        setting=setting,
        bin=(round(targets[number], 12), round((*targets, 1.0)[number + 1], 12)),
        privacy=placed.privacy,
        utility=placed.utility,
        objective=placed.objective,
        noise_std=noise_std(setting, question.step),
        name=NAMES[len(targets)][number],
        outside=placed.outside,
        protection=protection,
        needed=producers_needed(profile, setting, within, usual=decides == MEDIAN, scaled=scaled, step=question.step),
    )


def offer_rows(menu: Menu) -> list[list[str]]:
    """Return an offer as a table, headings first."""
    first = next((each.protection for each in menu.settings if each.protection), None)
    crowds = list(first.errors) if first else []
    head = ["id", "level", "setting", *protection_heads(menu)]
    rows = [[*head, *(f"{users:,}" for users in crowds), "needs", "privacy", "utility"]]
    for each in menu.settings:
        errors = each.protection.errors if each.protection else {}
        row = [each.id, each.name, str(each.setting), *protection_cells(menu, each)]
        row += [f"{errors.get(users, 0.0):.2%}" for users in crowds]
        row.append("-" if each.needed is None else f"{each.needed:,}")
        row += [OUTSIDE] * 2 if each.outside else [f"{each.privacy.median:.2f}", f"{each.utility.median:.2f}"]
        rows.append(row)
    return rows


def offer_notes(menu: Menu) -> list[str]:
    """Return notes that explain the offer's columns, and name the levels that need more producers than there are."""
    asked, made = menu.question, menu.provenance.get("offer", {})
    what = noun(menu.provenance.get("aggregate", "sum"))
    notes = averaged(menu.provenance)
    if asked:
        notes.append(
            f"epsilon: for a change of up to {asked.size} in one reading, at delta 0; for another change it is "
            f"{asked.in_steps()}, over b of laplace:b; of {asked.window:,}: {asked.words()}"
        )
        notes.append(f"{asked.drawn()}; `step` names another")
        notes += [told for each in menu.settings if (told := asked.objection(each.setting))]
    if made:
        notes.append(
            "guess: the best guess of a reading from its report errs by this share of guessing without a report; the "
            f"levels have at least {', '.join(f'{each.bin[0]:.0%}' for each in menu.settings if each.id != NONE_ID)}"
        )
        if any(each.protection and each.protection.recognised is not None for each in menu.settings):
            notes.append("recognised: share of producers named from one masked day by who knows their days before")
        notes.append(
            f"columns headed by a number: mean error of a period's {what} of that many producers; needs: producers "
            f"for a {decider(menu)} error of {made['within']:.2%}"
        )
        if usual := _usual(menu):
            notes.append(usual)
        short = [each for each in menu.settings if each.needed is not None and each.needed > made["producers"]]
        notes += [
            f"{each.id} ({each.name}) needs {each.needed:,} producers for a {decider(menu)} error of "
            f"{made['within']:.2%}: there are {made['producers']:,}"
            for each in short
        ]
    return notes


def _usual(menu: Menu) -> str:
    """Return a sentence on the error of the median period, because one nearly empty period can decide the mean."""
    users, what = menu.provenance["offer"]["producers"], noun(menu.provenance.get("aggregate", "sum"))
    usual = usual_errors(menu)
    if not usual:
        return ""
    why = f"; {FEW_PERIODS}" if decider(menu) == MEDIAN else ""
    told = ", ".join(f"{name} {error:.2%}" for name, error in usual.items())
    return f"of {users:,} producers, the expected error of the median period's {what} is: {told}{why}"


def usual_errors(menu: Menu) -> dict[str, float]:
    """Return by id the median over periods of the error of a total of all producers."""
    known = {each.id: each.protection for each in menu.settings if each.protection}
    return {name: found.usual for name, found in known.items() if found.usual is not None}


def decider(menu: Menu) -> str:
    """Return which statistic decides how many producers a level needs, `MEAN` or `MEDIAN`."""
    return str(menu.provenance.get("offer", {}).get("decides", MEAN))
