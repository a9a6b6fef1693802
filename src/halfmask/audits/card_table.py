"""Cards and guarantees as tables for people to read."""

import math

from halfmask.audits.card import CALIBRATION, ReportCard
from halfmask.audits.card_sentences import ALMOST, law_unknown
from halfmask.menus.setting_protection import NO_PROMISE
from halfmask.protection.attacks import Finding
from halfmask.protection.attacks.finding import figure
from halfmask.protection.guarantees.promises import SMALL_DELTA, Promise
from halfmask_device.decimals import number_text, upwards


def card_rows(card: ReportCard) -> list[list[str]]:
    """Return the card as a table, headings first; `card_notes` explains the columns."""
    day = card.day
    heads = ["id", "privacy", "epsilon", "of a day", "certain", "of a day", "odds", "of a day"]
    rows = [[*heads, "guess", "noise left", "linked", "limit"]]
    for each in card.cards:
        epsilon, near, named = each.promises["a day"].epsilon, each.limit, each.found("re-identification")
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
                share_cell(named.value if named else None),
                share_cell(near.share if near else None),
            ]
        )
    return rows


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
        f"The epsilon of a day is at delta {SMALL_DELTA:g}, that of one reading at delta 0. certain: the chance of "
        "reports that the other value could not have given. odds: how often an attacker who knows everything but "
        "which of two equally likely values it was guesses right, at the most; 50% is a blind guess.",
        f"whole range: the same for a change of {_size(change.range, card)} in one reading ({change.origin}).",
        "A value that lasts k readings is one secret told k times: take the odds of k readings, not of one. The card "
        "has them for k = 1 to 48.",
        f"guess, noise left, linked: what attacks achieve on {about.evidence}. guess: the error of the best guess "
        "of a reading from its report, beside that without it. noise left: the share of the noise's variance that a "
        "smoother cannot remove; of large noise hardly any, even where it learns nothing but what others have. "
        "linked: users whose reports of the second half of the time are told to be theirs at the first guess, by who "
        "knows the first half.",
        "limit: the score beside a bound on what additive noise of that variance can have, certified for noise that is "
        "even within 1.1 % of its size, the width of a profile's bins." + _families(card),
        CALIBRATION,
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
