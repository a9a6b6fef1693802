"""The cover of the report: one screen for whoever decides, with three sentences, a recommendation and a picture."""

import math
from collections.abc import Sequence

from halfmask.evaluation.aggregates import noun
from halfmask.figures.promises_and_errors import most_right
from halfmask.figures.results_folder import ResultsFolder
from halfmask.figures.wording import in_a_list
from halfmask.menus.menu import CALIBRATION, NOT_BOTH, Menu, MenuSetting
from halfmask.menus.question import Question, whole_day_of
from halfmask.pages.page_numbers import percent
from halfmask.pages.page_parts import Markup, element, joined_markup, paragraph
from halfmask.pages.recommendation import Advice, briefly_instead, level_advice, of_a_day
from halfmask.profiles.quality import quality
from halfmask_device.decimals import number_text, upwards

CHANGES = 0.005
"""Least change of a total by clipping that the cover mentions."""


def cover(inputs: ResultsFolder, picture: Sequence[Markup]) -> Markup:
    """Return the cover; without an offer, a line that says so."""
    menu = inputs.offer
    if menu is None:
        return paragraph("The folder holds no offer: there is nothing here to sign.", "absent")
    return joined_markup([paragraph(" ".join(_sentences(inputs, menu))), _recommendation(inputs, menu), *picture])


def _sentences(inputs: ResultsFolder, menu: Menu) -> list[str]:
    """Return what is offered, what the strongest level promises, and what it costs."""
    made, asked = menu.provenance.get("offer", {}), menu.question
    period, what = menu.provenance.get("period", "period"), noun(menu.provenance.get("aggregate", "sum"))
    crowd = f"{made['producers']:,} producers" if made else "the producers"
    told = [f"Each of {crowd} chooses a level of masking, and the consumer gets a {period}'s {what} of all."]
    levels = menu.settings[:-1]
    if not made or asked is None or not levels:
        return told
    day = whole_day_of(asked, inputs.profile)
    best = min(levels, key=lambda each: _epsilon(each, menu, inputs))
    promise = day.promise(best.setting) if day else None
    if day and promise and promise.epsilon is not None:
        right = most_right(day, best.setting)
        guess = "always" if right > 0.995 else f"at most {math.ceil(100 * right - 1e-9)} times of 100"
        told.append(
            f"Under the strongest level, {best.id}, somebody who knows all else about a producer and guesses which of "
            f"two {day.noun}s was lived is right {guess} (a coin: 50 times)."
        )
    error = (best.protection.errors if best.protection else {}).get(made["producers"])
    if error is not None:
        wanted = percent(made["within"])
        told.append(f"If all take it, the {what} is off by {percent(error)} on average; {wanted} is wanted.")
        told += _clipped(menu, asked)
    return told


def _epsilon(each: MenuSetting, menu: Menu, inputs: ResultsFolder) -> float:
    day = whole_day_of(menu.question, inputs.profile)
    found = day.epsilon(each.setting) if day else None
    return float("inf") if found is None else found


def _recommendation(inputs: ResultsFolder, menu: Menu) -> Markup:
    """Return which levels are recommended; if none, why the strongest is not, and what could be offered instead."""
    found = level_advice(menu, inputs.profile, inputs.offer_card)
    kept = [each for each in found if not each.against]
    if kept:
        text = f"Recommended: {in_a_list([each.id for each in kept])}.{_epsilons(kept, inputs, menu)}"
        return element("div", joined_markup([element("p", text), paragraph(_reasons(kept, menu))]), "advice")
    nearest = min(found, key=lambda each: (len(each.against), _of(each)))
    parts = [
        element("p", element("strong", "No level of this offer can be recommended.")),
        paragraph(f"The nearest is {nearest.id}, but {'; and '.join(nearest.against)}."),
    ]
    if others := briefly_instead(menu, inputs.profile):
        parts.append(paragraph(others))
    return element("div", joined_markup(parts), "advice refused")


def _of(each: Advice) -> float:
    return each.promise.epsilon if each.promise and each.promise.epsilon is not None else float("inf")


def _epsilons(kept: Sequence[Advice], inputs: ResultsFolder, menu: Menu) -> str:
    """Return the largest epsilon of the recommended levels, with what it is about; empty if not known."""
    day, promises = whole_day_of(menu.question, inputs.profile), [each.promise for each in kept if each.promise]
    if day is None or not promises:
        return ""
    return f" Epsilon is at most {upwards(max(each.epsilon or 0.0 for each in promises))} {of_a_day(day, promises[0])}."


def _reasons(kept: Sequence[Advice], menu: Menu) -> str:
    """Return why levels are recommended, and against whom their promises hold if not against everyone."""
    made, ids = menu.provenance["offer"], {each.id for each in kept}
    told = f"Attacks do measurably worse than on unmasked reports, and {made['producers']:,} producers are enough."
    split = [each.id for each in menu.settings if each.id in ids and each.against == NOT_BOTH]
    return f"{told} The promise of {in_a_list(split)} holds against {NOT_BOTH}." if split else told


def _clipped(menu: Menu, asked: Question) -> list[str]:
    """Return a sentence on what the bounds of a producer's total change; empty if that is below `CHANGES`."""
    found = (menu.provenance.get(CALIBRATION) or menu.provenance["offer"]).get("clipping") or {}
    bias = found.get("bias")
    ends = () if bias is None else tuple(bias) if isinstance(bias, list | tuple) else (bias,)
    if not ends or max(map(abs, ends)) < CHANGES:
        return []
    bounds = f"{number_text(asked.low)} to {number_text(asked.high)} {asked.unit}".strip()
    changed = " to ".join(percent(each) for each in ends)
    return [f"Besides, a producer's {asked.noun} counts as {bounds} only, which changes the total by {changed}."]


def title_line(inputs: ResultsFolder) -> str:
    """Return the line under the title: whose readings these are."""
    if not inputs.profile or not inputs.profile.readings:
        return ""
    found = quality(inputs.profile)
    return f"{found['users']:,} users, {found['readings']:,} readings, {found['first'][:10]} to {found['last'][:10]}"
