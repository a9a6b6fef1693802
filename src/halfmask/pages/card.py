"""The section of the page that says what settings really protect."""

from typing import Any

from halfmask.audits.verdict import ALMOST, law_unknown
from halfmask.figures.protection import ratio, smoothed
from halfmask.figures.style import sized
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.floor import brief
from halfmask.pages.page import Markup, bullets, element, joined, paragraph, table


def protection_table(card: dict[str, Any] | None, unit: str = "") -> Markup:
    """The report card as a table."""
    if card is None:
        return Markup("")
    change, day = card["about"]["sensitivity"], card["about"]["reports"]["day"]
    rows = [_row(each, str(day)) for each in card["settings"]]
    told = [
        paragraph(
            "The privacy score measures blur. This section asks two other questions of each setting: what is "
            "guaranteed, whoever looks, and what an attacker still learns from the reports."
        ),
        table(
            f"Table 3. The paper's menu. Guarantees are against a change of {sized(change['typical'], unit)}, the size "
            f"of a typical reading, in one report (epsilon at delta 0) and in every one of a day's {day:,}. Certain: "
            "the chance of a report that the other reading could not have given. Attacks were run on "
            f"{card['about']['evidence']}. Best guess: its error, over that without a report. Smoothed: the error of a "
            "reading after smoothing the series, over that of guessing what others have. Recognised: users named at "
            "the first guess from half of the readings looked at, many days; the first page counts those named from "
            "one day.",
            ["Id", "Score", "Epsilon", "Certain", "Certain in a day", "Best guess", "Smoothed", "Recognised"],
            rows,
            numbers=range(1, 8),
        ),
    ]
    return joined(told)


def protection_words(card: dict[str, Any] | None) -> Markup:
    """Each setting in one sentence with its warnings and attacks, and what choosing the menu costs."""
    if card is None:
        return Markup("")
    cost = [element("h3", "What choosing the menu costs"), paragraph(card["calibration"])]
    return joined([_best(card), *(_told(each) for each in card["settings"]), *cost])


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


def _told(each: dict[str, Any]) -> Markup:
    attacks = [[found["name"], found["words"]] for found in each["attacks"]]
    more = Markup(f"<details>{element('summary', 'Every attack in words')}{table('', [], attacks)}</details>")
    return joined(
        [
            element("h3", f"{each['id']}: {brief(PrivacySetting.parse(each['setting']))}"),
            paragraph(each["sentence"]),
            bullets(each["warnings"]) if each["warnings"] else "",
            _sampler(each["sampler"]),
            more,
        ]
    )


def _sampler(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    kept = "BROKEN" if found["caught"] else "kept"
    return paragraph(
        f"The device's own sampler, {found['draws']:,} draws of each of two readings: {found['quantity']} is at least "
        f"{found['bound']:.3g}, {found['claimed']:.3g} is promised. The promise is {kept}.",
        "note",
    )


def _row(each: dict[str, Any], day: str) -> list[str]:
    most = "≤ " if law_unknown(PrivacySetting.parse(each["setting"])) else ""
    typical, found = each["typical"], {finding["name"]: finding for finding in each["attacks"]}
    return [
        each["id"],
        f"{each['privacy']['median']:.2f}" if each["privacy"] else "–",
        "none" if typical["epsilon"] is None else f"{typical['epsilon']:.3g}",
        most + _percent(typical["delta"]["inf"]),
        most + _percent(typical["composed"][day]["inf"]),
        _percent(ratio(found.get("reconstruction"))),
        _percent(smoothed(found.get("smoothing"))),
        _percent(found.get("re-identification", {}).get("value")),
    ]


def _percent(value: float | None) -> str:
    if value is None:
        return "–"
    if ALMOST < value < 1:
        return "> 99 %"
    return "< 0.01 %" if 0 < value < 1e-4 else f"{100 * value:.3g} %"
