"""The section of the page that says what settings really protect."""

from typing import Any

from halfmask.audits.tables import at_most
from halfmask.audits.verdict import ALMOST, law_unknown
from halfmask.figures.protection import ratio, smoothed
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.floor import brief
from halfmask.pages.page import Markup, bullets, element, joined, paragraph, table
from halfmask_device.decimals import number_text, upwards


def protection_table(card: dict[str, Any] | None, unit: str = "") -> Markup:
    """The report card as a table."""
    if card is None:
        return Markup("")
    day, unit = card["about"]["reports"]["day"], card["about"].get("unit") or unit
    size = f"{number_text(card['about']['sensitivity']['typical'])} {unit}".strip()
    rows = [_row(each, str(day)) for each in card["settings"]]
    told = [
        paragraph(
            "The privacy score measures blur. This section asks two other questions of each setting: what is "
            "guaranteed, whoever looks, and what an attacker still learns from the reports."
        ),
        table(
            f"Table 3. The paper's menu. Guarantees are against a change of {size}, a typical reading. Epsilon: for "
            f"that change in one reading, at delta 0; of a day: in each of its {day:,} readings, at delta "
            f"{card['about']['delta']:g}. Certain: the chance of a report that the other reading could not have given. "
            f"Attacks were run on {card['about']['evidence']}. Best guess: its error, over that without a report. "
            "Smoothed: the error of a reading after smoothing the series, over that of guessing what others have. "
            "Linked: users whose reports of the second half of the time are told to be theirs at the first guess, by "
            f"who knows the first half{_unmasked(card)}; recognised, on the first page, is from one day alone.",
            ["Id", "Score", "Epsilon", "Of a day", "Certain", "Of a day", "Best guess", "Smoothed", "Linked"],
            rows,
            numbers=range(1, 9),
        ),
    ]
    return joined(told)


def protection_words(card: dict[str, Any] | None) -> Markup:
    """Each setting in one sentence with its warnings and attacks, and what choosing the menu costs."""
    if card is None:
        return Markup("")
    cost = [element("h3", "What choosing the menu costs"), paragraph(card["calibration"])]
    step = card["about"]["step"]["size"]
    return joined([_best(card), *(_told(each, step) for each in card["settings"]), *cost])


def _best(card: dict[str, Any]) -> Markup:
    """How attacks fare on the noise with the highest score, beside the setting of the same variance."""
    best = card["best"]
    if not best:
        return Markup("")
    like = next(each for each in card["settings"] if each["id"] == best["like"])
    own = {found["name"]: found for found in like["attacks"]}
    rows = [
        [found["name"], found["metric"], _number(found["value"]), _number(own.get(found["name"], {}).get("value"))]
        for found in best["attacks"]
    ]
    id, scores = like["id"], (best["privacy"], like["limit"]["privacy"])
    told = (
        f"The noise with the highest score of all with the variance of {id} scores {scores[0]:.2f} over all readings, "
        f"{id} itself {scores[1]:.2f}. It has nearly one magnitude."
    )
    guesses = [found["value"] for found in (*best["attacks"], *like["attacks"]) if found["name"] == "reconstruction"]
    if len(guesses) == 2 and None not in guesses:
        told += f" The best guess of a reading from its report is {guesses[0]:.2g} off, under {id} {guesses[1]:.2g}."
    told += " The score alone must not decide."
    heads = ["Attack", "What the number is", "Highest score", id]
    title = element("h3", "The highest score is not the best protection")
    return joined([title, paragraph(told), table("", heads, rows, numbers=(2, 3))])


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _told(each: dict[str, Any], step: float) -> Markup:
    attacks = [[found["name"], found["words"]] for found in each["attacks"]]
    more = Markup(f"<details>{element('summary', 'Every attack in words')}{table('', [], attacks)}</details>")
    return joined(
        [
            element("h3", f"{each['id']}: {brief(PrivacySetting.parse(each['setting']))}"),
            paragraph(each["sentence"]),
            bullets(each["lines"]) if each.get("lines") else "",
            bullets(each["warnings"]) if each["warnings"] else "",
            _sampler(PrivacySetting.parse(each["setting"]), each["sampler"], step),
            more,
        ]
    )


def _sampler(setting: PrivacySetting, found: dict[str, Any] | None, step: float) -> str:
    """The check of the device's noise, with the change that it was made at: another than that of the table."""
    if found is None:
        return ""
    apart = abs(found["neighbour"] - found["value"]) * (setting.noise.law.lattice(setting.noise.parameters) or step)
    verdict = "draws other noise than it should" if found["caught"] else "draws the noise that it should"
    least, most = f"{found['bound']:.3g}", f"{found['claimed']:.3g}"
    shown = (
        f"prove epsilon {least} or more for a change of {apart:.3g} in one reading, delta 0, and the law has {most}"
        if found["quantity"] == "epsilon"
        else f"prove that a share of {least} or more give the change away, and the law has {most}"
    )
    return paragraph(
        f"A check of the device, not of how much this setting protects: {found['draws']:,} draws of each of two "
        f"readings {apart:.3g} apart (the change at which a wrong sampler shows best) {shown}. The device {verdict}.",
        "note",
    )


def _row(each: dict[str, Any], day: str) -> list[str]:
    most = "≤ " if law_unknown(PrivacySetting.parse(each["setting"])) else ""
    typical, whole = each["typical"], each["promises"]["a day"]
    found = {finding["name"]: finding for finding in each["attacks"]}
    return [
        each["id"],
        f"{each['privacy']['median']:.2f}" if each["privacy"] else "–",
        *("none" if each is None else upwards(each) for each in (typical["epsilon"], whole["epsilon"])),
        most + at_most(typical["delta"]["inf"]),
        most + at_most(typical["composed"][day]["inf"]),
        _percent(ratio(found.get("reconstruction"))),
        _percent(smoothed(found.get("smoothing"))),
        _percent(found.get("re-identification", {}).get("value")),
    ]


def _unmasked(card: dict[str, Any]) -> str:
    """How many are linked without noise, and by chance: what the share is to be held against."""
    found = [each for of in card["settings"] for each in of["attacks"] if each["name"] == "re-identification"]
    held = next((each for each in found if each["value"] is not None), None)
    if held is None:
        return ""
    return f" ({_percent(held['details']['unmasked_top1'])} without noise, {_percent(held['baseline'])} by chance)"


def _percent(value: float | None) -> str:
    if value is None:
        return "–"
    if ALMOST < value < 1:
        return "> 99 %"
    return "< 0.01 %" if 0 < value < 1e-4 else f"{100 * value:.3g} %"
