"""Re-identification: whose masked readings are these?

The attacker knows N users' true readings in the first half of the time, sees masked readings of the second half
without names, and gives each the name under which it is most likely: with f_u the known means by part of the day or
week and g the masked ones,

    log-likelihood of u = -1/2 sum_parts [ (g - f_u)^2 / v_u + log v_u ],
    v_u = what u's own readings vary by + 0.02 (u's level)^2 + what is left of the noise after averaging.

Known means are first multiplied by how much everybody's rose from half to half, which the totals tell. Parts are
twelfths of the day, or days of the week where totals are all there is. Parts, season and drift were chosen by how many
of 500 Swiss and 120 drawn households they name, so figures on those flatter the attack; knowing more than means
(appliances, holidays) would name more.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.periods import DAY, MONDAY, WEEK
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.masked import error_variance, masked_series, noise_part
from halfmask.protection.evidence import Evidence

NAME = "re-identification"
METRIC = "share of users linked to their past rightly at the first guess"
FEWEST = 5
FEWEST_TIMES = 8
PRESENT = 0.8
CONFIDENCE = 0.95
DRIFT = 0.02  # habits move by 14 % of their level from half to half
USUAL = 0.9  # the largest tenth of users do not count for the season


@dataclass(frozen=True)
class Shape:
    """Means of a series by part: ``mean``, ``occurrences`` and ``variance`` within the part, each (users, parts)."""

    mean: FloatArray
    occurrences: FloatArray
    variance: FloatArray


@dataclass(frozen=True, eq=False)
class Past:
    """The first half of the time, which the attacker knows, whatever the setting.

    ``parts`` and their ``name``: what means are by; ``half`` the column at which the second half begins; ``known`` the
    means before it; ``unmasked`` the ranks of users by their true readings after it; ``floor`` the least variance.
    """

    rows: IntArray
    parts: IntArray
    name: str
    half: int
    known: Shape
    unmasked: IntArray
    floor: float


def reidentification(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Finding:
    """Top-1 and top-5 rates among N users, against 1/N and against the same attack on unmasked readings."""
    if not evidence.single:
        return not_applicable(NAME, METRIC, "Not measured: rows of this profile are groups of users, not one.")
    masked = masked_series(setting, evidence, rng)
    if masked is None:
        return not_applicable(NAME, METRIC, "Not measured: a profile does not say what this rule makes of a total.")
    past = evidence.once(past_of)
    if past is None or not np.isfinite(error := error_variance(setting, evidence, masked)[past.rows]).all():
        return not_applicable(
            NAME, METRIC, f"Not measured: it takes {FEWEST} users with {FEWEST_TIMES} {evidence.what}."
        )
    seen, half, parts = masked[past.rows], past.half, past.parts
    ruled = noise_part(setting) is not setting  # a rule shifts readings, so the attacker applies it to what he knows
    known = shape(seen[:, :half], parts[:half]) if ruled else past.known
    rank = ranks(known, shape(seen[:, half:], parts[half:]), error * (not ruled), past.floor)
    return _finding(rank, past.unmasked, f"{evidence.what}, averaged {past.name}")


def past_of(evidence: Evidence) -> Past | None:
    """What is known of users with few gaps; None where there are too few of them, or too short a time."""
    rows = evidence.complete(PRESENT)
    truth = evidence.series[rows]
    if len(rows) < FEWEST or truth.shape[1] < FEWEST_TIMES:
        return None
    parts, name = parts_of(evidence)
    half, floor = truth.shape[1] // 2, (1e-3 * evidence.population.typical) ** 2
    known, later = shape(truth[:, :half], parts[:half]), shape(truth[:, half:], parts[half:])
    return Past(rows, parts, name, half, known, ranks(known, later, np.zeros(len(rows)), floor), floor)


def parts_of(evidence: Evidence) -> tuple[IntArray, str]:
    """The part of the day or week that each column falls in; one part for all where the time is too short for that."""
    span = evidence.step * evidence.series.shape[1]
    for name, length, width in (("by part of the day", DAY, DAY // 12), ("by day of the week", WEEK, DAY)):
        if span >= 4 * length and evidence.step <= width:
            return (evidence.times - MONDAY) % length // width, name
    return np.zeros(len(evidence.times), np.int64), "over all"


def shape(series: FloatArray, parts: IntArray) -> Shape:
    """Mean, number and variance of each user's numbers in each part; the variance is 0 where there is but one."""
    member = np.zeros((len(parts), int(parts.max(initial=0)) + 1))
    member[np.arange(len(parts)), parts] = 1
    present = np.isfinite(series)
    values = np.where(present, series, 0.0)
    count = present.astype(float) @ member
    mean = values @ member / np.maximum(count, 1)
    square = (values - np.where(present, mean[:, parts], 0.0)) ** 2 @ member
    return Shape(mean, count, square / np.maximum(count - 1, 1))


def ranks(known: Shape, seen: Shape, error: FloatArray, floor: float) -> IntArray:
    """How many of the N names are at least as likely as the true one, itself left out; row i of both is one user.

    Parts in which somebody has no number are left out; with none left, everybody is as likely.
    """
    held = np.flatnonzero((known.occurrences > 0).all(axis=0) & (seen.occurrences > 0).all(axis=0))
    f, g = known.mean[:, held], seen.mean[:, held]
    f = f * season(f, g)
    own = (2 * known.variance[:, held] / known.occurrences[:, held]).sum(axis=1) / max(len(held), 1)
    level = np.mean(f**2, axis=1) if len(held) else np.zeros(len(f))
    left = float(np.mean(1 / seen.occurrences[:, held])) if len(held) else 0.0
    variance = own + DRIFT * level + error * left + floor
    distance = np.sum(g**2, axis=1)[:, None] - 2 * g @ f.T + np.sum(f**2, axis=1)
    score = distance / variance + len(held) * np.log(variance)
    return np.asarray((score <= np.diag(score)[:, None]).sum(axis=1) - 1)


def season(f: FloatArray, g: FloatArray) -> float:
    """By how much everybody's means rose, between a half and double; the largest users are left out."""
    size = np.abs(f).sum(axis=1)
    usual = size <= np.quantile(size, USUAL)
    before, after = float(f[usual].sum()), float(g[usual].sum())
    return float(np.clip(after / before, 0.5, 2.0)) if before > 0 else 1.0


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
        "users": count,
        "features": features,
        "interval": [low, high],
        "top5": top5,
        "top5_chance": min(5 / count, 1.0),
        "unmasked_top1": bare,
        "unmasked_top5": float(np.mean(unmasked < 5)),
    }
    words = (
        f"Among {count} users whose past is known, {top1:.1%} ({low:.1%} to {high:.1%}) are linked to it rightly from "
        f"masked {features}; {bare:.1%} would be without the mask, and {1 / count:.2%} by chance."
    )
    return Finding(NAME, METRIC, top1, 1 / count, words, details)
