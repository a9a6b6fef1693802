"""Levels of an offer by their promise: for each epsilon, the law that keeps it with the least error of a total.

One report, or one change that is spread over many, is protected by Laplace noise: epsilon is the change over b, at
delta 0, and in proportion less for a smaller change. Staircase noise is quieter at the largest change, but has nearly
its whole epsilon at any smaller one. For changes in tens of reports at a small delta Gaussian noise may need less, so
both are tried there.

Without wanted epsilons the strongest level is the one whose total has just the wanted error if all producers choose it,
and each level below it has twice the epsilon of the one above.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from halfmask.errors import OptionError
from halfmask.evaluation.sampling import population
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.least_noise import Solution, least_noise, strongest
from halfmask.menus.question import WHOLE, Question
from halfmask.menus.total_error import producers_needed, total_error
from halfmask.plain import Share
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from halfmask_device.decimals import number_text, upwards
from halfmask_device.setting import READING, SPLIT, TOTAL

LAWS = ("laplace", "gaussian")
DIGITS = 4
SIGNED = 5.0
"""Largest epsilon of a whole day that a level can be recommended with."""


@dataclass(frozen=True)
class Clipping:
    """What clipping totals to ``low``..``high`` does on the data.

    ``share``  of the totals that lie outside
    ``bias``   change of the sum of all totals, as a part of it
    """

    low: float
    high: float
    share: Share
    bias: float


def clipping(profile: Profile, low: float, high: float) -> Clipping:
    """Return what clipping the totals does, from their logarithmic bins."""
    totals = released(profile, TOTAL)
    mean = totals.bin_sizes / np.maximum(totals.bin_counts, 1)
    up, down = totals.bin_counts - totals.bin_negatives, totals.bin_negatives
    values, counts = np.concatenate([mean, -mean, [0.0]]), np.concatenate([up, down, [totals.rows["zeros"].sum()]])
    clipped = np.clip(values, low, high)
    whole, number = float(values @ counts), float(counts.sum())
    outside = float(counts[clipped != values].sum())
    bias = float((clipped - values) @ counts)
    return Clipping(low, high, outside / number if number else 0.0, bias / whole if whole else 0.0)


def settings_keeping(question: Question, epsilons: Sequence[float]) -> list[PrivacySetting]:
    """Return for each epsilon, the largest first, the setting of `LAWS` with the least noise that devices take."""
    ordered = sorted({float(each) for each in epsilons}, reverse=True)
    if _one_change(question):
        return [_laplace(each, question) for each in ordered]
    return [_first(least_noise(each, question, among=LAWS).solutions, question) for each in ordered]


def _one_change(question: Question) -> bool:
    return question.spread or question.reports[1] == 1


def _laplace(epsilon: float, question: Question) -> PrivacySetting:
    """Return the Laplace noise of the least b, to `DIGITS` digits, that keeps a pure epsilon."""
    unit = PrivacySetting("laplace", (1.0,), release=question.release)
    scale = (question.promise(unit).epsilon or math.inf) / epsilon
    kept = PrivacySetting("laplace", (float(upwards(scale, DIGITS)),), release=question.release)
    if (refused := question.refusal(kept)) is not None:
        raise OptionError(refused, kind="refused", field="step")
    return kept


def best_epsilon(question: Question, profile: Profile, within: float, producers: int) -> float:
    """Return the smallest epsilon with which a total of all producers has an error of at most ``within``."""
    found = strongest(within, producers, question, profile, among=LAWS[:1] if _one_change(question) else LAWS)
    if not found.solutions:
        raise OptionError(
            f"no noise promises an epsilon {question.words()} with an error of {within:.2%}", kind="epsilon"
        )
    return min(each.window for each in found.solutions)


def halving(epsilon: float, levels: int) -> list[float]:
    """Return this many epsilons, each half of the one before, the last of them ``epsilon`` rounded up."""
    last = float(upwards(epsilon, 2))
    return [float(f"{last * 2**k:.4g}") for k in reversed(range(levels))]


def _first(solutions: Sequence[Solution], question: Question) -> PrivacySetting:
    for each in solutions:
        if question.refusal(each.setting) is None:
            return each.setting
    raise OptionError(
        f"devices take none of {', '.join(str(each.setting) for each in solutions)} on a lattice of steps of "
        f"{number_text(question.step or 0.0)}: name a finer `step`",
        kind="refused",
        field="step",
    )


@dataclass(frozen=True)
class Closest:
    """What comes closest to a wanted error and a wanted epsilon if both cannot be had. None: not possible at all.

    ``epsilon``    the wanted epsilon
    ``reached``    epsilon at the wanted error, with the release of the offer
    ``error``      error at the wanted epsilon
    ``producers``  producers that both would take
    ``split``      error at the wanted epsilon if the total is split between two services
    ``readings``   epsilon at the wanted error if each reading is masked
    """

    epsilon: float
    reached: float
    error: float | None
    producers: int | None
    split: float | None
    readings: float | None


def closest(
    question: Question, profile: Profile, within: float, producers: int, epsilon: float, *, scaled: bool
) -> Closest:
    """Return what can be had instead of an error and an epsilon that exclude each other."""
    (setting,) = settings_keeping(question, [epsilon])
    split = replace(question, release=SPLIT)
    (cut,) = settings_keeping(split, [epsilon])
    each = replace(question, release=READING)
    return Closest(
        epsilon=epsilon,
        reached=best_epsilon(question, profile, within, producers),
        error=total_error(profile, setting, producers, scaled=scaled, step=question.step),
        producers=producers_needed(profile, setting, within, scaled=scaled, step=question.step),
        split=total_error(profile, cut, producers, scaled=scaled, step=question.step),
        readings=best_epsilon(each, profile, within, producers) if question.protect in WHOLE else None,
    )


def curve_epsilon(question: Question, profile: Profile, within: float) -> float | None:
    """Return epsilon of a load curve, one total for each interval between readings, each with the error ``within``.

    The total of an interval is on average the total of the period divided by the number of its readings, so its noise
    must be that much smaller.
    """
    if question.readings == 1:
        return None
    each = replace(question, release=READING)
    finer = within / math.sqrt(question.readings)  # a period's total of such noise errs by this much
    return best_epsilon(each, profile, finer, population(profile))
