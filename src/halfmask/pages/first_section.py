"""The first page of the report, which is signed: what is offered, promised, revealed and paid, and who decides."""

import math
from collections.abc import Sequence

from halfmask.audits.card import ReportCard
from halfmask.audits.card_table import at_most
from halfmask.evaluation.aggregates import noun
from halfmask.evaluation.sampling import population
from halfmask.figures.results_folder import PAPER, ResultsFolder
from halfmask.figures.wording import in_a_list, share_text
from halfmask.menus.menu import NONE_ID, Menu, MenuSetting, brief
from halfmask.menus.menu_scale import score_words
from halfmask.menus.offer_table import FEW_PERIODS, MEDIAN, decider, usual_errors
from halfmask.menus.question import Question
from halfmask.menus.setting_protection import HIDES, NO_PROMISE
from halfmask.pages.page_parts import Markup, bullets, element, html_table, joined_markup, macro, paragraph
from halfmask.profiles.quality import quality
from halfmask_device.decimals import number_text, upwards

LARGE = 5.0
"""Epsilon from which a promise is little more than words: odds may change by e^5 = 148."""
BLANK = "\u00a0"


def offer_section(inputs: ResultsFolder) -> Markup:
    """Return page one; if the folder holds no offer, a line that says so, and the warnings."""
    menu = inputs.offer
    if menu is None:
        return joined_markup(
            [paragraph("The folder holds no offer: there is nothing here to sign.", "absent"), dangers(inputs)]
        )
    return joined_markup(
        [
            dangers(inputs),
            _offered(menu),
            element("h3", "What is promised"),
            bullets(promised(menu)),
            element("h3", "What an attacker still learns"),
            bullets(learned(menu, inputs.offer_card or inputs.card)),
            element("h3", "What it costs"),
            bullets(costs(menu)),
            element("h3", "Who decided what, and when"),
            _decision(inputs, menu),
        ]
    )


def dangers(inputs: ResultsFolder) -> Markup:
    """Return in red the folder's warnings, and settings of either menu that do not protect; empty if there are none."""
    told = [f"{each[:1].upper()}{each[1:]}." for each in inputs.warnings()]
    for menu, card in ((inputs.offer, inputs.offer_card), (inputs.menu, inputs.card)):
        for each in menu.settings[:-1] if menu else ():
            reason = why_dangerous(each, menu.question if menu else None, card)
            if reason:
                told.append(f"{_whose(each.id, inputs, menu)} ({brief(each.setting)}) {reason}")
    if not told:
        return Markup("")
    return macro("danger", "Do not rely on this" if inputs.warnings() else "Do not offer as protection", told)


def why_dangerous(entry: MenuSetting, asked: Question | None = None, card: ReportCard | None = None) -> str:
    """Return why a setting hides next to nothing or promises nothing; empty if neither is so, or not known."""
    found = entry.protection
    if found is None:
        return ""
    if found.guess is not None and found.guess < HIDES:
        errs = f"errs by {percent(found.guess)} of guessing without one"
        return f"hides next to nothing: the best guess of a reading from its report {errs}."
    if asked is None or found.reading is not None or found.window is not None:
        return ""
    return f"promises nothing: {_given_away(entry, card) or f'it keeps no epsilon {asked.words()}'}."


def _whose(id: str, inputs: ResultsFolder, menu: Menu | None) -> str:
    """Return a setting's name with its menu: a level of the offer, or a setting of the paper's menu.

    If there is no offer, the menu is not named.
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


def _offered(menu: Menu) -> Markup:
    asked, crowds = menu.question, _crowds(menu)
    named = any(each.protection and each.protection.recognised is not None for each in menu.settings)
    heads = ["Level", "Guess error", "Epsilon, one reading"]
    heads += [f"Epsilon, {asked.window:,} readings" if asked else "Epsilon, window"]
    heads += ["Recognised from one day"] * named
    heads += [f"Error, {users:,}" for users in crowds]
    heads += ["Producers needed", "Paper's privacy", "Paper's utility"]
    rows = []
    for each in menu.settings:
        found = each.protection
        row = [f"{each.id} {each.name}".strip(), percent(found.guess if found else None)]
        row += [epsilon(found.reading if found else None), epsilon(found.window if found else None)]
        row += [percent(found.recognised if found else None)] * named
        row += [
            percent((found.errors if found else {}).get(users, 0.0 if each.id == "N" else None)) for users in crowds
        ]
        row.append("–" if each.needed is None else f"{each.needed:,}")
        row += [score_words(score.median, known=each.outside) for score in (each.privacy, each.utility)]
        rows.append(row)
    told = "What is offered; every column is explained below. What is called paper A and so on is not offered."
    return html_table(told, heads, rows, numbers=range(1, len(heads)))


def promised(menu: Menu) -> list[str]:
    """Return the guarantee in words: change, window and delta; if the offer has no question, that it lacks one."""
    asked = menu.question
    if asked is None:
        return ["The offer does not say what its epsilons are about: make it with halfmask offer."]
    return [
        f"One reading: one report changes the odds between two readings up to {asked.size} apart by a factor of at "
        "most e^epsilon, whoever looks and whatever else they know, at delta 0. For another change epsilon is "
        f"{asked.in_steps()}, over b of laplace:b.",
        f"{asked.window:,} readings: epsilon {asked.words()}. Larger changes and longer windows have larger epsilons. "
        f"E{asked.drawn()[1:]}.",
        _weak(menu, asked),
    ]


def _weak(menu: Menu, asked: Question) -> str:
    """Return in words which levels have an epsilon above `LARGE` over the window."""
    weak = _weak_levels(menu)
    if not weak:
        return f"All levels keep epsilon {LARGE:g} or less {asked.words()}."
    return (
        f"Epsilon is above {LARGE:g} for {in_a_list(weak)} {asked.words()}: to somebody who looks for that change in "
        "every one of them the promise says next to nothing. These levels blur single readings."
    )


def _weak_levels(menu: Menu) -> list[str]:
    return [
        each.id
        for each in menu.settings[:-1]
        if each.protection and each.protection.window is not None and each.protection.window > LARGE
    ]


def learned(menu: Menu, card: ReportCard | None = None) -> list[str]:
    """Return guess error and recognition under the lightest and the strongest level, or that they are not measured."""
    entries = [each for each in menu.settings[:-1] if each.protection and each.protection.guess is not None]
    if not entries:
        return ["Not measured."]
    first, last = entries[0].protection, entries[-1].protection
    told = [
        "Guess error: mean error of the best guess of a reading from its report, over that of the best guess without "
        f"it: {percent(first.guess if first else None)} under {entries[0].id}, "
        f"{percent(last.guess if last else None)} under {entries[-1].id}. 100 % would be a report that tells nothing."
    ]
    if first and last and first.recognised is not None:
        told.append(
            "Recognised: share of producers whose name is found from one masked day by who knows their days before: "
            f"{percent(first.recognised)} under {entries[0].id}, {percent(last.recognised)} under {entries[-1].id}. "
            f"Hold that against the {percent(_bare(menu))} of unmasked days (N): it is small because one day tells "
            f"little, not because of the blur.{_from_weeks(menu, card)}"
        )
    return told


def _bare(menu: Menu) -> float | None:
    """Return the share of producers recognised from one unmasked day; None if it is not known."""
    return menu.settings[-1].protection.recognised if menu.settings[-1].protection else None


def _from_weeks(menu: Menu, card: ReportCard | None) -> str:
    """Return in words what share of producers half of their readings link, without noise and under two levels.

    These are the lightest and the strongest level, as far as the card has them; empty if it lacks the share without
    noise.
    """
    linked = {each.id: each.found("reidentification-half") for each in card.cards} if card else {}
    shares = {id: found.value for id, found in linked.items() if found and found.value is not None}
    ends = [f"{percent(shares[id])} under {id}" for id in (menu.ids[0], menu.ids[-2]) if id in shares]
    if NONE_ID not in shares:
        return ""
    told = [f"{percent(shares[NONE_ID])} unmasked", *dict.fromkeys(ends)]
    return f" Many days tell more: by half of their readings are linked {in_a_list(told)} (Table 3)."


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
        if made.get("guarantee_costs") is not None:
            told.append(
                f"The guarantee costs at most {upwards(max(made['guarantee_costs'], 0), 2)} of utility at any level of "
                "the paper's menu. The paper's privacy and utility are scores from 0 to 1 of blur and of totals; a "
                "score promises nothing."
            )
    return told


def _error(menu: Menu) -> str:
    """Return the name of the error that decides how many producers a level needs."""
    return "a median error" if decider(menu) == MEDIAN else "an error"


def _decision(inputs: ResultsFolder, menu: Menu) -> Markup:
    """Return the section of the decision: what is known, and blanks for a person to fill in."""
    enough = [each.id for each in menu.settings[:-1] if _carried(each, menu)]
    data = "not in the folder"
    if inputs.profile and inputs.profile.readings:
        found = quality(inputs.profile)
        data = (
            f"{inputs.name}: {population(inputs.profile):,} producers, {found['readings']:,} readings, "
            f"{found['first'][:10]} to {found['last'][:10]}, fingerprint {inputs.profile.fingerprint()}"
        )
    rows = [
        ["Data", data],
        ["Recommendation of this report", _advice(enough, menu)],
        ["Purpose of the totals", BLANK],
        ["Decision", BLANK],
        ["Date", BLANK],
        ["Privacy officer, name and signature", BLANK],
        ["Data consumer, name and signature", BLANK],
    ]
    return element("div", html_table("", [], rows), "signed")


def _advice(enough: Sequence[str], menu: Menu) -> str:
    """Return what this report recommends; it never goes further than what is promised."""
    if not enough:
        return "offer no level to this few producers, and nothing in red"
    told = f"offer {', '.join(enough)} of the table above, with “open” as a free choice, and nothing in red"
    if not set(enough) & set(_weak_levels(menu)) or not menu.question:
        return told
    return f"{told}; as blur of single readings, not as protection of {menu.question.window:,} readings in a row"


def _carried(entry: MenuSetting, menu: Menu) -> bool:
    """Return whether a level hides something and has enough producers, as far as their number is known."""
    made = menu.provenance.get("offer", {})
    return not why_dangerous(entry) and (not made or entry.needed is None or entry.needed <= made["producers"])


def _crowds(menu: Menu) -> list[int]:
    return list(next((each.protection.errors for each in menu.settings if each.protection), {}))


def percent(value: float | None) -> str:
    """Return a share as text; a dash if it is not known."""
    if value is None:
        return "–"
    return share_text(value) if 0 < value < 0.1 else f"{100 * value:.0f} %"


def chance_at_most(value: float) -> str:
    """Return the upper bound of a chance as text, rounded up."""
    return at_most(value).replace("%", " %")


def epsilon(value: float | None) -> str:
    """Return an epsilon as text, rounded up; `NO_PROMISE` if it is None.

    That text is not "none", which among falling numbers would look like the best.
    """
    return NO_PROMISE if value is None else upwards(value)
