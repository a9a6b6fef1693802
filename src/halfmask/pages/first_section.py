"""The offer in the report, which is signed: what is offered, promised and paid, what is learned, and who decides."""

import math
from collections.abc import Sequence

from halfmask.audits.card import ReportCard
from halfmask.evaluation.aggregates import noun
from halfmask.evaluation.sampling import population
from halfmask.figures.results_folder import PAPER, ResultsFolder
from halfmask.figures.wording import in_a_list
from halfmask.menus.menu import Menu, MenuSetting, brief
from halfmask.menus.offer_table import FEW_PERIODS, MEDIAN, decider, usual_errors
from halfmask.menus.question import Question
from halfmask.menus.setting_protection import HIDES
from halfmask.pages.offered_levels import levels_table, promised
from halfmask.pages.page_numbers import chance_at_most, percent
from halfmask.pages.page_parts import Markup, bullets, element, html_table, joined_markup, macro
from halfmask.pages.recommendation import instead, level_advice
from halfmask.profiles.quality import quality
from halfmask_device.decimals import number_text

BLANK = "\u00a0"


def offer_section(inputs: ResultsFolder) -> Markup:
    """Return what is offered, promised and paid, and the decision; if the folder holds no offer, the command."""
    menu = inputs.offer
    if menu is None:
        return macro("absent", "offer", inputs.command("offer"))
    return joined_markup(
        [
            levels_table(menu, inputs.profile),
            dangers(inputs, menu, inputs.offer_card),
            _against(inputs, menu),
            element("h3", "What is promised"),
            bullets(promised(menu, inputs.profile)),
            element("h3", "What it costs"),
            bullets(costs(menu)),
            element("h3", "Who decided what, and when"),
            _decision(inputs, menu),
        ]
    )


def dangers(inputs: ResultsFolder, menu: Menu, card: ReportCard | None) -> Markup:
    """Return in red a menu's warnings, and its settings that do not protect; empty if there are none."""
    told = [f"{each[:1].upper()}{each[1:]}." for each in menu.warnings()]
    told += [
        f"{_whose(each.id, inputs, menu)} ({brief(each.setting)}) {reason}"
        for each in menu.settings[:-1]
        if (reason := why_dangerous(each, menu.question, card))
    ]
    if not told:
        return Markup("")
    return macro("danger", "Do not rely on this" if menu.warnings() else "Do not offer as protection", told)


def why_dangerous(entry: MenuSetting, asked: Question | None = None, card: ReportCard | None = None) -> str:
    """Return why a setting hides next to nothing or promises nothing; empty if neither is so, or not known."""
    found = entry.protection
    if found is None:
        return ""
    if found.guess is not None and found.guess < HIDES:
        return (
            f"hides next to nothing: the best guess of a reading from its report misses {percent(found.guess)} of it."
        )
    if asked is None or found.reading is not None or found.window is not None:
        return ""
    return f"promises nothing: {_given_away(entry, card) or f'it keeps no epsilon {asked.words()}'}."


def _whose(id: str, inputs: ResultsFolder, menu: Menu | None) -> str:
    """Return a setting's name with its menu: a level of the offer, or a setting of the paper's menu.

    Without an offer, the menu is not named.
    """
    if menu is inputs.offer:
        return f"Level {id} of the offer"
    return f"Paper {id.removeprefix(PAPER)}" if inputs.offer else f"Setting {id}"


def _given_away(entry: MenuSetting, card: ReportCard | None) -> str:
    """Return how often a day of reports reveals a typical change for certain; empty if the card lacks the setting."""
    audited = [each for each in card.cards if each.setting == entry.setting] if card else []
    if not audited or not card:
        return ""
    certain = chance_at_most(audited[0].typical.composed[card.day][math.inf])
    size = f"{number_text(card.about.sensitivity.typical)} {card.about.unit}".strip()
    return (
        f"a day's {card.day:,} reports give a change of {size} in each reading away for certain, {certain} of the time"
    )


def _against(inputs: ResultsFolder, menu: Menu) -> Markup:
    """Return which levels are not recommended, and why; empty if all are."""
    found = level_advice(menu, inputs.profile, inputs.offer_card)
    told = [f"{each.id}: {'; '.join(each.against)}." for each in found if each.against]
    if not told:
        return Markup("")
    others = instead(menu, inputs.profile) if len(told) == len(found) else []
    more = [element("h3", "What could be offered instead"), bullets(others)] if others else []
    return joined_markup([element("h3", "Not recommended"), bullets(told), *more])


def costs(menu: Menu) -> list[str]:
    """Return what the columns of errors mean, which levels lack producers, and what the guarantee costs."""
    made, period = menu.provenance.get("offer", {}), menu.provenance.get("period", "period")
    what = noun(menu.provenance.get("aggregate", "sum"))
    told = [
        f"Error: of a {period}'s {what} of so many producers, on average, in % of the {what}, if all take that level."
    ]
    if made:
        told[0] += f" Producers needed: for {_error(menu)} of {percent(made['within'])}."
        if decider(menu) == MEDIAN:
            usual = [f"{percent(error)} under {id}" for id, error in usual_errors(menu).items()]
            told.append(
                f"{FEW_PERIODS[:1].upper()}{FEW_PERIODS[1:]}. Of {made['producers']:,} producers, half of the totals "
                f"are expected to err by less than {in_a_list(usual)}."
            )
        short = [e for e in menu.settings if e.needed is not None and e.needed > made["producers"]]
        told += [
            f"{each.id} ({each.name}) needs {each.needed:,} producers for {_error(menu)} of {percent(made['within'])}; "
            f"there are {made['producers']:,}."
            for each in short
        ]
    return told


def _error(menu: Menu) -> str:
    """Return the name of the error that decides how many producers a level needs."""
    return "a median error" if decider(menu) == MEDIAN else "an error"


def _decision(inputs: ResultsFolder, menu: Menu) -> Markup:
    """Return the section of the decision: what is known, and blanks for a person to fill in."""
    enough = [each.id for each in level_advice(menu, inputs.profile, inputs.offer_card) if not each.against]
    data = "not in the folder"
    if inputs.profile and inputs.profile.readings:
        found = quality(inputs.profile)
        data = (
            f"{inputs.name}: {population(inputs.profile):,} producers, {found['readings']:,} readings, "
            f"{found['first'][:10]} to {found['last'][:10]}, fingerprint {inputs.profile.fingerprint()}"
        )
    rows = [
        ["Data", data],
        ["Recommendation of this report", _advice(enough)],
        ["Purpose of the totals", BLANK],
        ["Decision", BLANK],
        ["Date", BLANK],
        ["Privacy officer, name and signature", BLANK],
        ["Data consumer, name and signature", BLANK],
    ]
    return element("div", html_table("", [], rows), "signed")


def _advice(enough: Sequence[str]) -> str:
    """Return what this report recommends; it never goes further than what is promised."""
    if not enough:
        return "no level of this offer, and nothing in red"
    return f"{in_a_list(list(enough))} of the table above, with “open” as a free choice, and nothing in red"
