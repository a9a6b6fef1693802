"""The section on what settings really protect."""

import math
from collections.abc import Mapping, Sequence

from halfmask.audits.card import CALIBRATION, BestScore, ReportCard, SettingCard
from halfmask.audits.card_sentences import ALMOST, law_unknown
from halfmask.audits.sampler_audit import EmpiricalAudit
from halfmask.figures.results_folder import ResultsFolder
from halfmask.figures.score_and_attacks import left_by_smoothing, left_of_baseline
from halfmask.figures.wording import sized
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import brief
from halfmask.pages.page_numbers import chance_at_most, epsilon
from halfmask.pages.page_parts import Markup, bullets, element, html_table, joined_markup, macro, paragraph
from halfmask_device.decimals import number_text


def audit_section(inputs: ResultsFolder, figures: Sequence[str]) -> Markup:
    """Return the audits of the levels of the offer and of the paper's menu, setting by setting."""
    told = [paragraph(QUESTIONS)] if inputs.card or inputs.offer_card else []
    audited = [("the offer", inputs.offer_card), ("the paper's menu", inputs.card)]
    cards = [(name, card) for name, card in audited if card]
    tables = [
        protection_table(card, f"Table {number}. {name[:1].upper()}{name[1:]}", _columns(card, inputs.unit, number))
        for number, (name, card) in enumerate(cards, start=3)
    ]
    names = {each.id: each.name for each in inputs.offer.settings} if inputs.offer else {}
    said = [
        joined_markup(
            [
                element("h3", f"Setting by setting: {name}"),
                protection_words(card, inputs.unit, names if card is inputs.offer_card else None),
            ]
        )
        for name, card in cards
    ]
    costs = [element("h3", "What choosing the menu costs"), paragraph(CALIBRATION)] if cards else []
    return joined_markup([*told, *tables, *figures, *said, *costs])


QUESTIONS = (
    "The privacy score measures blur. This section asks two other questions of each setting: what is guaranteed, "
    "whoever looks, and what an attacker still learns from the reports."
)


def protection_table(card: ReportCard, name: str = "", columns: str = "") -> Markup:
    """Return the report card as a table."""
    heads = ["Id", "Score", "Epsilon", "Of a day", "Certain", "Of a day", "Best guess", "Smoothed", "Linked"]
    rows = [_row(each, card.day) for each in card.cards]
    return html_table(f"{name}{columns}", heads, rows, numbers=range(1, 9))


def _columns(card: ReportCard, unit: str, number: int) -> str:
    """Return what the columns mean: in full for Table 3, and for a later table a reference to Table 3."""
    if number > 3:
        return ", in the columns of Table 3."
    about, day = card.about, card.day
    size = f"{number_text(about.sensitivity.typical)} {about.unit or unit}".strip()
    return (
        f". Guarantees are against a change of {size}, a typical reading. Epsilon: for that change in one reading, at "
        f"delta 0; of a day: in each of its {day:,} readings, at delta {number_text(about.delta)}. Certain: the chance "
        f"of a report that the other reading could not have given. Attacks were run on {about.evidence}. Best guess: "
        "its error, over that without a report. Smoothed: the error of a reading after smoothing the series, over "
        "that of guessing what others have. Linked: users whose reports of the second half of the time are told to "
        f"be theirs at the first guess, by who knows the first half{_unmasked(card)}; recognised, on the first page, "
        "is from one day alone."
    )


def protection_words(card: ReportCard, unit: str = "", names: Mapping[str, str] | None = None) -> Markup:
    """Return each setting in one sentence, with its warnings and attacks.

    ``names`` are the names of an offer's levels. For the paper's menu, the noise with the best score is compared with
    one of its settings.
    """
    best = Markup("")
    if card.best and names is None:
        best = _best(card.best, card[card.best.like], card.about.unit or unit)
    return joined_markup(
        [best, *(_told(each, card.about.step.size, (names or {}).get(each.id, "")) for each in card.cards)]
    )


def _best(best: BestScore, like: SettingCard, unit: str) -> Markup:
    """Return how attacks do on the noise with the highest score, compared with the setting of equal variance."""
    own = {each.name: each.value for each in like.attacks}
    rows = [[each.name, each.metric, _number(each.value), _number(own.get(each.name))] for each in best.attacks]
    scored = like.limit.privacy if like.limit else None
    itself = "–" if scored is None else f"{scored:.2f}"
    told = (
        f"The noise with the highest score of all with the variance of {like.id} scores {best.privacy:.2f} over all "
        f"readings, {like.id} itself {itself}. It has nearly one magnitude."
    )
    guess = next((each.value for each in best.attacks if each.name == "reconstruction"), None)
    beside = own.get("reconstruction")
    if guess is not None and beside is not None:
        told += (
            f" The best guess of a reading from its report is {sized(guess, unit)} off on average, under {like.id} "
            f"{sized(beside, unit)}."
        )
    told += " The score alone must not decide."
    heads = ["Attack", "What the number is", "Highest score", like.id]
    title = element("h4", "The highest score is not the best protection")
    return joined_markup([title, paragraph(told), html_table("", heads, rows, numbers=(2, 3))])


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _told(each: SettingCard, step: float, name: str) -> Markup:
    attacks = [[found.name, found.words] for found in each.attacks]
    lines, head = each.lines(), f"{each.id} {name}".strip()
    return joined_markup(
        [
            element("h4", f"{head[:1].upper()}{head[1:]}: {brief(each.setting)}"),
            paragraph(each.sentence),
            bullets(lines) if lines else "",
            macro("warned", each.warnings) if each.warnings else "",
            _sampler(each.setting, each.sampler, step) if each.sampler else "",
            macro("details", "Every attack in words", html_table("", [], attacks)),
        ]
    )


def _sampler(setting: PrivacySetting, found: EmpiricalAudit, step: float) -> str:
    """Return the result of the check of the device's noise, and the change of a reading at which it was made.

    That change is not the one of the table: it is the change at which a wrong sampler shows best.
    """
    apart = abs(found.neighbour - found.value) * (setting.noise.law.lattice(setting.noise.parameters) or step)
    verdict = "draws other noise than it should" if found.caught else "draws the noise that it should"
    shown = (
        f"prove epsilon {found.bound:.3g} or more for a change of {apart:.3g} in one reading, delta 0, and the law has "
        f"{found.claimed:.3g}"
        if found.quantity == "epsilon"
        else f"prove that a share of {found.bound:.3g} or more give the change away, and the law has "
        f"{found.claimed:.3g}"
    )
    return paragraph(
        f"A check of the device, not of how much this setting protects: {found.draws:,} draws of each of two "
        f"readings {apart:.3g} apart (the change at which a wrong sampler shows best) {shown}. The device {verdict}.",
        "note",
    )


def _row(each: SettingCard, day: int) -> list[str]:
    most = "≤ " if law_unknown(each.setting) else ""
    named = each.found("reidentification-half")
    epsilons = (each.typical.epsilon, each.promises["a day"].epsilon)
    return [
        each.id,
        f"{each.privacy.median:.2f}" if each.privacy else "–",
        *map(epsilon, epsilons),
        most + chance_at_most(each.typical.certain),
        most + chance_at_most(each.typical.composed[day][math.inf]),
        _percent(left_of_baseline(each.found("reconstruction"))),
        _percent(left_by_smoothing(each.found("smoothing"))),
        _percent(named.value if named else None),
    ]


def _unmasked(card: ReportCard) -> str:
    """Return the shares recognised without noise and by chance; empty if the card lacks this attack."""
    found = [each.found("reidentification-half") for each in card.cards]
    held = next((each for each in found if each and each.value is not None), None)
    if held is None:
        return ""
    return f" ({_percent(held.baseline)} unmasked, {_percent(held.details['chance'])} by chance)"


def _percent(value: float | None) -> str:
    if value is None:
        return "–"
    if ALMOST < value < 1:
        return "> 99 %"
    return "< 0.01 %" if 0 < value < 1e-4 else f"{100 * value:.3g} %"
