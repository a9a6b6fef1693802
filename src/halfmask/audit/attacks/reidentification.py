"""Re-identification: whose masked readings are these?

The attacker knows N households' true readings in the first half of the time, sees masked readings of the second half
without names, and gives each the name under which it is most likely: with f_u the known mean of each slot of the week
(or day) and g the masked one,

    log-likelihood of u = -1/2 sum_slots [ (g - f_u)^2 / v_u + log v_u ],

v_u the variance of the difference: what u's own readings vary by, plus what is left of the noise after averaging.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.audit.attacks.finding import Finding, not_applicable
from halfmask.audit.attacks.masked import error_variance, masked_series
from halfmask.audit.evidence import Evidence
from halfmask.profiles.bins import FloatArray, IntArray
from halfmask.profiles.periods import DAY, MONDAY, WEEK
from halfmask.settings.setting import PrivacySetting

NAME = "re-identification"
METRIC = "share of households named rightly at the first guess"
FEWEST = 5
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Shape:
    """Means of a series by slot: ``mean``, ``occurrences`` and ``variance`` within the slot, each (users, slots)."""

    mean: FloatArray
    occurrences: FloatArray
    variance: FloatArray


def reidentification(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Finding:
    """Top-1 and top-5 rates among N households, against 1/N and against the same attack on unmasked readings."""
    if not evidence.single:
        return not_applicable(NAME, METRIC, "Not measured: rows of this profile are groups of households, not one.")
    masked = masked_series(setting, evidence, rng)
    if masked is None:
        return not_applicable(NAME, METRIC, "Not measured: a profile does not say what this rule makes of a total.")
    slots, name = slots_of(evidence)
    middle = evidence.series.shape[1] // 2
    known = shape(evidence.series[:, :middle], slots[:middle])
    true, seen = (shape(series[:, middle:], slots[middle:]) for series in (evidence.series, masked))
    rows = np.flatnonzero((known.occurrences >= 2).all(axis=1) & (seen.occurrences >= 1).all(axis=1))
    error = error_variance(setting, evidence, masked)[rows].mean()
    if len(rows) < FEWEST or not np.isfinite(seen.mean[rows]).all() or not np.isfinite(error):
        return not_applicable(
            NAME, METRIC, f"Not measured: it takes {FEWEST} households with {evidence.what} in both halves of the time."
        )
    floor = (1e-3 * evidence.population.typical) ** 2
    own = 2 * (known.variance / known.occurrences)[rows].mean(axis=1) + floor
    left = float((error / seen.occurrences[rows]).mean())
    rank = ranks(known.mean[rows], seen.mean[rows], own + left)
    unmasked = ranks(known.mean[rows], true.mean[rows], own)
    return _finding(rank, unmasked, f"{evidence.what} by {name}")


def slots_of(evidence: Evidence) -> tuple[IntArray, str]:
    """Which slot of the week each column falls in where each half holds two weeks, else of the day, else one slot."""
    span = evidence.step * evidence.series.shape[1]
    for length, name in ((WEEK, "slot of the week"), (DAY, "slot of the day")):
        if span >= 4 * length and evidence.step < length and length % evidence.step == 0:
            return (evidence.times - MONDAY) % length // evidence.step, name
    return np.zeros(len(evidence.times), np.int64), "their mean alone"


def shape(series: FloatArray, slots: IntArray) -> Shape:
    """Mean, number and variance of each user's numbers in each slot; the variance is 0 where there is but one."""
    member = np.zeros((len(slots), int(slots.max(initial=0)) + 1))
    member[np.arange(len(slots)), slots] = 1
    present = np.isfinite(series)
    values = np.where(present, series, 0.0)
    count = present.astype(float) @ member
    mean = values @ member / np.maximum(count, 1)
    square = (values - np.where(present, mean[:, slots], 0.0)) ** 2 @ member
    return Shape(mean, count, square / np.maximum(count - 1, 1))


def ranks(known: FloatArray, seen: FloatArray, variance: FloatArray) -> IntArray:
    """How many of the N names are at least as likely as the true one, itself left out; row i of both is one user."""
    distance = np.sum(seen**2, axis=1)[:, None] - 2 * seen @ known.T + np.sum(known**2, axis=1)
    score = distance / variance + known.shape[1] * np.log(variance)
    own = np.diag(score)[:, None]
    return np.asarray((score <= own).sum(axis=1) - 1)


def interval(hits: int, tries: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share."""
    from scipy.special import betaincinv  # here, because SciPy takes long to import

    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, tries - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, tries - hits, 1 - tail)) if hits < tries else 1.0
    return low, high


def _finding(rank: IntArray, unmasked: IntArray, features: str) -> Finding:
    count = len(rank)
    top1, top5, bare = (float(np.mean(hits)) for hits in (rank < 1, rank < 5, unmasked < 1))
    low, high = interval(int((rank < 1).sum()), count)
    details = {
        "households": count,
        "features": features,
        "interval": [low, high],
        "top5": top5,
        "top5_chance": min(5 / count, 1.0),
        "unmasked_top1": bare,
        "unmasked_top5": float(np.mean(unmasked < 5)),
    }
    words = (
        f"Among {count} households whose past is known, {top1:.1%} ({low:.1%} to {high:.1%}) are named rightly from "
        f"masked {features}; {bare:.1%} would be without the mask, and {1 / count:.2%} by chance."
    )
    return Finding(NAME, METRIC, top1, 1 / count, words, details)
