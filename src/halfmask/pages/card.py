"""The section of the page that says what settings really protect."""

import math

from halfmask.audits.card import CALIBRATION, BestScore, ReportCard, SettingCard
from halfmask.audits.empirical import EmpiricalAudit
from halfmask.audits.tables import at_most
from halfmask.audits.verdict import ALMOST, law_unknown
from halfmask.figures.protection import ratio, smoothed
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.words import brief
from halfmask.pages.page import Markup, bullets, details, element, joined, paragraph, table
from halfmask_device.decimals import number_text, upwards


def protection_table(card: ReportCard | None, unit: str = "") -> Markup:
    """The report card as a table."""
    if card is None:
        return Markup("")
    about, day = card.about, card.day
    size = f"{number_text(about.sensitivity.typical)} {about.unit or unit}".strip()
    rows = [_row(each, day) for each in card.cards]
    told = [
        paragraph(
            "The privacy score measures blur. This section asks two other questions of each setting: what is "
            "guaranteed, whoever looks, and what an attacker still learns from the reports."
        ),
        table(
            f"Table 3. The paper's menu. Guarantees are against a change of {size}, a typical reading. Epsilon: for "
            f"that change in one reading, at delta 0; of a day: in each of its {day:,} readings, at delta "
            f"{about.delta:g}. Certain: the chance of a report that the other reading could not have given. "
            f"Attacks were run on {about.evidence}. Best guess: its error, over that without a report. "
            "Smoothed: the error of a reading after smoothing the series, over that of guessing what others have. "
            "Linked: users whose reports of the second half of the time are told to be theirs at the first guess, by "
            f"who knows the first half{_unmasked(card)}; recognised, on the first page, is from one day alone.",
            ["Id", "Score", "Epsilon", "Of a day", "Certain", "Of a day", "Best guess", "Smoothed", "Linked"],
            rows,
            numbers=range(1, 9),
        ),
    ]
    return joined(told)


def protection_words(card: ReportCard | None) -> Markup:
    """Each setting in one sentence with its warnings and attacks, and what choosing the menu costs."""
    if card is None:
        return Markup("")
    cost = [element("h3", "What choosing the menu costs"), paragraph(CALIBRATION)]
    best = _best(card.best, card[card.best.like]) if card.best else Markup("")
    return joined([best, *(_told(each, card.about.step.size) for each in card.cards), *cost])


def _best(best: BestScore, like: SettingCard) -> Markup:
    """How attacks fare on the noise with the highest score, beside the setting of the same variance."""
    own = {each.name: each.value for each in like.findings}
    rows = [[each.name, each.metric, _number(each.value), _number(own.get(each.name))] for each in best.findings]
    scored = like.closeness.privacy if like.closeness else None
    itself = "–" if scored is None else f"{scored:.2f}"
    told = (
        f"The noise with the highest score of all with the variance of {like.id} scores {best.privacy:.2f} over all "
        f"readings, {like.id} itself {itself}. It has nearly one magnitude."
    )
    guess = next((each.value for each in best.findings if each.name == "reconstruction"), None)
    beside = own.get("reconstruction")
    if guess is not None and beside is not None:
        told += f" The best guess of a reading from its report is {guess:.2g} off, under {like.id} {beside:.2g}."
    told += " The score alone must not decide."
    heads = ["Attack", "What the number is", "Highest score", like.id]
    title = element("h3", "The highest score is not the best protection")
    return joined([title, paragraph(told), table("", heads, rows, numbers=(2, 3))])


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _told(each: SettingCard, step: float) -> Markup:
    attacks = [[found.name, found.words] for found in each.findings]
    lines = each.lines()
    return joined(
        [
            element("h3", f"{each.id}: {brief(each.setting)}"),
            paragraph(each.sentence),
            bullets(lines) if lines else "",
            bullets(each.warnings) if each.warnings else "",
            _sampler(each.setting, each.sampler, step) if each.sampler else "",
            details("Every attack in words", table("", [], attacks)),
        ]
    )


def _sampler(setting: PrivacySetting, found: EmpiricalAudit, step: float) -> str:
    """The check of the device's noise, with the change that it was made at: another than that of the table."""
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
    named = each.found("re-identification")
    epsilons = (each.typical.epsilon, each.promises["a day"].epsilon)
    return [
        each.id,
        f"{each.privacy.median:.2f}" if each.privacy else "–",
        *("none" if epsilon is None else upwards(epsilon) for epsilon in epsilons),
        most + at_most(each.typical.certain),
        most + at_most(each.typical.composed[day][math.inf]),
        _percent(ratio(each.found("reconstruction"))),
        _percent(smoothed(each.found("smoothing"))),
        _percent(named.value if named else None),
    ]


def _unmasked(card: ReportCard) -> str:
    """How many are linked without noise, and by chance: what the share is to be held against."""
    found = [each.found("re-identification") for each in card.cards]
    held = next((each for each in found if each and each.value is not None), None)
    if held is None:
        return ""
    return f" ({_percent(held.details['unmasked_top1'])} without noise, {_percent(held.baseline)} by chance)"


def _percent(value: float | None) -> str:
    if value is None:
        return "–"
    if ALMOST < value < 1:
        return "> 99 %"
    return "< 0.01 %" if 0 < value < 1e-4 else f"{100 * value:.3g} %"
