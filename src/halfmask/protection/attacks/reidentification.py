"""Re-identification: to which user do masked readings belong?

The attacker knows N users' true readings in the first half of the time, sees masked readings of the second half without
names, and assigns the most likely name to each. With f_u the known means by part of the day or week, and g the masked
ones,

    log-likelihood of u = -1/2 sum_parts [ (g - f_u)^2 / v_u + log v_u ],
    v_u = variance of u's own readings + 0.02 (u's level)^2 + variance of the noise after averaging.

Known means are first multiplied by the growth of everybody's mean between the halves, which follows from the totals.
Parts are twelfths of the day, or days of the week if only totals are known.

Parts, season and drift were chosen to identify the most of 500 Swiss and 120 synthetic households, so results on those
data overstate the attack. Knowledge beyond means (appliances, holidays) would identify more.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.periods import DAY, MONDAY, WEEK
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.masked_series import error_variance, masked_series, noise_part
from halfmask.protection.evidence import Evidence

NAME = "re-identification"
METRIC = "share of users linked to their past rightly at the first guess"
FEWEST = 5
FEWEST_TIMES = 8
PRESENT = 0.8
CONFIDENCE = 0.95
DRIFT = 0.02
"""Squared change of habits between the halves, per squared level: 14 %."""
USUAL = 0.9
"""Share of users, the smallest ones, that the season is measured on."""


@dataclass(frozen=True)
class Shape:
    """Means of a series by part: ``mean``, ``occurrences`` and ``variance`` within the part, each (users, parts)."""

    mean: FloatArray
    occurrences: FloatArray
    variance: FloatArray


@dataclass(frozen=True, eq=False)
class Past:
    """The attacker's knowledge of the first half of the time, which does not depend on the setting.

    ``rows``             rows of the users with few gaps
    ``parts``, ``name``  part of each column, and a phrase that says what parts are
    ``half``             column at which the second half begins
    ``known``            means before that column
    ``unmasked``         ranks of users by their true readings after it
    ``floor``            least variance
    """

    rows: IntArray
    parts: IntArray
    name: str
    half: int
    known: Shape
    unmasked: IntArray
    floor: float


def reidentification(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Finding:
    """Return, among N users, the rate of right first guesses, and of right names among the first five guesses."""
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
    """Return the attacker's knowledge of users with few gaps; None if there are too few users or too short a time."""
    rows = evidence.complete(PRESENT)
    truth = evidence.series[rows]
    if len(rows) < FEWEST or truth.shape[1] < FEWEST_TIMES:
        return None
    parts, name = parts_of(evidence)
    half, floor = truth.shape[1] // 2, (1e-3 * evidence.population.typical) ** 2
    known, later = shape(truth[:, :half], parts[:half]), shape(truth[:, half:], parts[half:])
    return Past(rows, parts, name, half, known, ranks(known, later, np.zeros(len(rows)), floor), floor)


def parts_of(evidence: Evidence) -> tuple[IntArray, str]:
    """Return the part of the day or week of each column; one part for all if the time is too short for that."""
    span = evidence.step * evidence.series.shape[1]
    for name, length, width in (("by part of the day", DAY, DAY // 12), ("by day of the week", WEEK, DAY)):
        if span >= 4 * length and evidence.step <= width:
            return (evidence.times - MONDAY) % length // width, name
    return np.zeros(len(evidence.times), np.int64), "over all"


def shape(series: FloatArray, parts: IntArray) -> Shape:
    """Return mean, number and variance of each user's numbers in each part; the variance of a single one is 0."""
    member = np.zeros((len(parts), int(parts.max(initial=0)) + 1))
    member[np.arange(len(parts)), parts] = 1
    present = np.isfinite(series)
    values = np.where(present, series, 0.0)
    count = present.astype(float) @ member
    mean = values @ member / np.maximum(count, 1)
    square = (values - np.where(present, mean[:, parts], 0.0)) ** 2 @ member
    return Shape(mean, count, square / np.maximum(count - 1, 1))


def ranks(known: Shape, seen: Shape, error: FloatArray, floor: float) -> IntArray:
    """Return for each user how many other names are at least as likely as the true one; row i of both is one user.

    Parts in which a user has no number are left out. If none is left, all names are equally likely.
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
    """Return the growth factor of everybody's means, limited to between 0.5 and 2; the largest users are left out."""
    size = np.abs(f).sum(axis=1)
    usual = size <= np.quantile(size, USUAL)
    before, after = float(f[usual].sum()), float(g[usual].sum())
    return float(np.clip(after / before, 0.5, 2.0)) if before > 0 else 1.0


def interval(hits: int, tries: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the Clopper-Pearson interval for a share, from the number of hits and tries."""
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
