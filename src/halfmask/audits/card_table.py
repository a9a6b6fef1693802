"""Cards and guarantees as tables for people to read."""

import math

from halfmask.audits.card import CALIBRATION, ReportCard
from halfmask.audits.card_sentences import ALMOST, law_unknown
from halfmask.menus.setting_protection import NO_PROMISE
from halfmask.protection.attacks import Finding
from halfmask.protection.attacks.finding import figure
from halfmask.protection.guarantees.promises import SMALL_DELTA, Promise
from halfmask_device.decimals import number_text, upwards

TINY = 1e-5
"""Ends of intervals below this are shown as 0."""
OF_A_DAY = (3, 5, 7)
"""Places of the columns about a whole day in `card_rows`."""
TOLD_BY_REPORTS = {
    "reidentification-day": "named by a day",
    "reidentification-half": "by half",
    "own-total-day": "own day",
    "own-total-month": "own month",
    "quietest-week": "quietest week",
    "presence": "empty day",
    "peak": "peak",
}
"""Headings of the attacks on a user's life."""


def card_rows(card: ReportCard) -> list[list[str]]:
    """Return the card as a table, headings first; `card_notes` explains the columns.

    If a day has one report, columns about a day would repeat those about a reading, and are left out.
    """
    day = card.day
    heads = ["id", "privacy", "epsilon", "of a day", "certain", "of a day", "odds", "of a day"]
    rows = [[*heads, "hidden", "noise that stays", "limit"]]
    for each in card.cards:
        epsilon, near = each.promises["a day"].epsilon, each.limit
        most = "≤ " if law_unknown(each.setting) else ""
        rows.append(
            [
                each.id,
                "-" if each.privacy is None else f"{each.privacy.median:.2f}",
                NO_PROMISE if each.typical.epsilon is None else figure(float(upwards(each.typical.epsilon))),
                NO_PROMISE if epsilon is None else figure(float(upwards(epsilon))),
                most + at_most(each.typical.certain),
                most + at_most(each.typical.composed[day][math.inf]),
                *(_odds(each.promises.get(name)) for name in ("one reading", "a day")),
                share_cell(_share_of_baseline(each.found("reconstruction"))),
                share_cell(_share_of_baseline(each.found("smoothing"))),
                share_cell(near.share if near else None),
            ]
        )
    return [[cell for place, cell in enumerate(row) if day > 1 or place not in OF_A_DAY] for row in rows]


def protected_rows(card: ReportCard, unit: str, epsilon: float | None = None) -> list[list[str]]:
    """Return what each setting promises about a unit of protection, headings first.

    ``epsilon``  says whether each setting keeps it
    """
    rows = [["id", "setting", "epsilon", "delta"] + ([] if epsilon is None else [f"keeps {number_text(epsilon)}"])]
    for each in card.cards:
        found = each.protected[unit]
        row = [each.id, str(each.setting), NO_PROMISE if found.epsilon is None else upwards(found.epsilon)]
        row.append(number_text(found.delta))
        if epsilon is not None:
            row.append("yes" if found.epsilon is not None and found.epsilon <= epsilon else "no")
        rows.append(row)
    return rows


def attack_rows(card: ReportCard) -> list[list[str]]:
    """Return what reports still reveal as a table, headings first: a row per setting, and one of unmasked reports.

    Attacks that apply to no setting lack a column.
    """
    held = {name: [each.found(name) for each in card.cards] for name in TOLD_BY_REPORTS}
    held = {name: found for name, found in held.items() if any(each and each.value is not None for each in found)}
    rows = [["id", *(TOLD_BY_REPORTS[name] for name in held)]]
    for number, each in enumerate(card.cards):
        rows.append([each.id, *(_with_interval(found[number]) for found in held.values())])
    bare = (max(each.baseline or 0.0 for each in found if each and each.value is not None) for found in held.values())
    return [*rows, ["unmasked", *map(share_cell, bare)]]


def _with_interval(found: Finding | None) -> str:
    """Return a share with its interval; "=" marks a value that does not differ from unmasked."""
    if found is None or found.value is None or found.low is None or found.high is None:
        return "-"
    same = " =" if found.details.get("no_difference") else ""
    low, high = (f"{100 * each:.3g}" if each >= TINY else "0" for each in (found.low, found.high))
    return f"{share_cell(found.value)} ({low}-{high}){same}"


def _odds(found: Promise | None) -> str:
    """Return odds as times of 100, rounded up, so that an attacker never reaches more than is shown."""
    return "-" if found is None else f"{min(math.ceil(100 * found.odds - 1e-9), 100)}%"


def card_notes(card: ReportCard) -> list[str]:
    """Return notes that explain the table and what it does not cover."""
    about, change, step = card.about, card.about.sensitivity, card.about.step
    return [
        f"epsilon, certain, odds: for a change of {_size(change.typical, card)}, a typical reading, in one reading and "
        f"in each of a day's {card.day:,}; of the noise that a device draws on steps of {number_text(step.size)} "
        f"({step.origin}). "
        f"The epsilon of a day is at delta {number_text(SMALL_DELTA)}, that of one reading at delta 0. certain: the "
        "chance of reports that the other value could not have given. odds: how often an attacker who knows "
        "everything but which of two equally likely values it was guesses right, at the most; 50% is a blind guess.",
        f"whole range: the same for a change of {_size(change.range, card)} in one reading ({change.origin}).",
        "A value that lasts k readings is one secret told k times: take the odds of k readings, not of one. The card "
        "has them for k = 1 to 48.",
        f"hidden, noise that stays: what attacks achieve on {about.evidence}. hidden: the error of the best guess "
        "of a reading from its report, beside that without it. noise that stays: the share of the noise's variance "
        "that a smoother cannot remove; of large noise hardly any, even where it learns nothing but what others have.",
        "What reports still tell: of masked reports, with 95 % intervals over the attacked users; = is no different "
        "from unmasked. named, by a day, by half: users named rightly, by who knows their other days, or the other "
        "half. own day, own month: the error of the middle user's own total. quietest week: named rightly. empty day: "
        "told from another day. peak: the time of a day's highest reading. Part of a quietest week or an empty day "
        "follows from everybody's totals, without a report.",
        "limit: the score beside a bound on what additive noise of that variance can have, certified for noise that is "
        "even within 1.1 % of its size, the width of a profile's bins." + _families(card),
        CALIBRATION,
    ]


def card_warnings(card: ReportCard) -> list[str]:
    """Return where score, guarantee and attacks disagree; first, that attacks saw only totals if there was no panel."""
    told = [f"{each.id}: {warning}" for each in card.cards for warning in each.warnings]
    return [*_of_totals_alone(card), *told]


def _of_totals_alone(card: ReportCard) -> list[str]:
    """Return a note if attacks on masked readings saw only their totals, because the panel was missing."""
    if card.about.resolution == "readings":
        return []
    return [
        f"Attacks saw only {card.about.evidence} of masked readings, and do worse than on the readings themselves: "
        "name `panel` for the figures to go by"
    ]


def _families(card: ReportCard) -> str:
    """Return how close common noise comes to the best possible score, at the middle deviation of the comparison."""
    if card.noise is None:
        return ""
    middle = len(card.noise.deviation) // 2
    of = ", ".join(f"{name} {share[middle]:.0%}" for name, share in card.noise.shares.items())
    return f" At a deviation of {card.noise.deviation[middle]:.2g}: {of} (sine: of one term)."


def share_cell(value: float | None) -> str:
    """Return a share as text for a table."""
    if value is None:
        return "-"
    if ALMOST < value < 1:
        return "> 99%"
    return f"{value:.0%}" if value == 0 or value >= 0.1 else "< 0.01%" if value < 1e-4 else f"{value:.2%}"


def at_most(chance: float) -> str:
    """Return an upper bound on a probability as text, rounded up; "> 99%" if it is just below 1."""
    return "> 99%" if ALMOST < chance < 1 else f"{upwards(100 * chance)}%"


def _size(change: float, card: ReportCard) -> str:
    """Return a change with its unit, without rounding."""
    return f"{number_text(change)} {card.about.unit}".strip()


def _share_of_baseline(found: Finding | None) -> float | None:
    return found.value / found.baseline if found and found.value is not None and found.baseline else None
