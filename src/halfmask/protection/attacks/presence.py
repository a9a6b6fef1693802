"""Presence: was anybody at home? The attack finds empty days by their reports.

Homes are not labelled, so a day counts as empty by its readings:

    activity of a day   mean reading above the day's base load, which is its reading at the 10th percentile
    empty               activity below `EMPTY` times the user's middle activity

so heating that runs as usual does not make a day occupied, and a day away with a timer switch may not count as empty.
If a day has one report, its activity is its total above the user's smallest.

The attacker orders each user's days by how empty they look. For that he learns on other users of similar level
(`known_users`) a linear discriminant of these quantities of a day's reports, each relative to the user's other days:

    sum of log-likelihood ratios of single reports, empty to other days, by quarter of the day
    mean report; mean posterior mean of the readings; spread of the posterior means; activity of the reports

    the same of the days around it, near ones count more; everybody's mean on that day, which is published; the share of
    known users whose day is empty

and uses this discriminant, one of the day's reports alone, a single quantity, or a conditional logit of which day is
the empty one (`likely_choice`), whichever orders days best at a rehearsal, learned on one half of the known users for
the other. The result is the share of pairs of days, one empty and
one not, in the right order (the area under the ROC curve); a coin has 1/2, and without any report of the user
everybody's mean may have more, since people are away at the same times. Unmasked reports give the readings, and so all
of it.
"""

import numpy as np

from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.intervals import share
from halfmask.protection.attacks.known_users import Seen, cell_ratios, mean_of, of_others
from halfmask.protection.attacks.likely_choice import learned_factors
from halfmask.protection.attacks.report_days import PRESENT

NAME = "presence"
METRIC = "share of pairs of days, an empty one and another of the same user, that are put in the right order"
CHANCE = 0.5
EMPTY = 0.5
BASE = 10
"""Percentile of a day's readings that is its base load."""
FEWEST_USERS, FEWEST_DAYS = 4, 7
QUARTERS = 4
RIDGE, CHOICE_RIDGES = 1e-3, (0.1, 0.001)
OWN_FEATURES = 5
"""Quantities of a day's own reports; they come first."""
FEATURES = 3 * OWN_FEATURES + 2
WAYS = FEATURES + 2 + len(CHOICE_RIDGES)
NEAR = (0.7, 3.0)
"""Distances over which other days of the user are averaged, in days (`of_others`)."""


def presence(found: Seen, what: str) -> Finding:
    """Return how often an empty day is told from another day of the same user."""
    whole = np.isfinite(found.truth).mean(axis=2) >= PRESENT
    empty = empty_days(found.truth, whole)
    able = empty.any(axis=1) & (whole.sum(axis=1) >= FEWEST_DAYS)
    if able.sum() < FEWEST_USERS:
        why = f"Not measured: it takes {FEWEST_USERS} users with {FEWEST_DAYS} whole days, one of them empty."
        return not_applicable(NAME, METRIC, why)
    shares = np.ones(int(able.sum())) if found.exact else _ordered_by_attack(found, empty, whole, able)
    blind = all_ordered(np.broadcast_to(-everybody(found), empty.shape), empty, whole)[able]
    chance = max(CHANCE, float(blind.mean()))
    return _finding(shares, what, float(empty[able].sum() / whole[able].sum()), chance)


def activity(readings: FloatArray) -> FloatArray:
    """Return the activity of each day (U, days); NaN if a day has no reading."""
    if readings.shape[2] == 1:
        of_days = readings[:, :, 0]
        lowest = np.where(np.isfinite(of_days), of_days, np.inf).min(axis=1, keepdims=True)
        return np.asarray(of_days - lowest)
    count = np.isfinite(readings).sum(axis=2)
    at = np.maximum(BASE * (count - 1) // 100, 0)
    base = np.take_along_axis(np.sort(readings, axis=2), at[:, :, None], axis=2)[:, :, 0]  # NaN comes last
    return np.asarray(np.nansum(readings, axis=2) / np.maximum(count, 1) - base)


def empty_days(truth: FloatArray, whole: BoolArray) -> BoolArray:
    """Return which whole days (U, days) count as empty."""
    active = np.where(whole, activity(truth), np.nan)
    usual = np.array([np.median(row[mine]) if mine.any() else 0.0 for row, mine in zip(active, whole, strict=True)])
    return np.asarray(whole & (np.nan_to_num(active, nan=np.inf) < EMPTY * usual[:, None]))


def _ordered_by_attack(found: Seen, empty: BoolArray, whole: BoolArray, able: BoolArray) -> FloatArray:
    """Return for each able user the share of pairs of days that the attack orders rightly."""
    rehearsed, found_by = np.zeros(WAYS), np.full((len(empty), WAYS), np.nan)
    for known, attacked in found.groups(able):
        halves = (known[::2], known[1::2])
        for one, other in (halves, halves[::-1]):
            ways = _ways(found, empty, whole, one, other)
            rehearsed += [all_ordered(way, empty[other], whole[other]).sum() for way in ways]
        ways = _ways(found, empty, whole, known, attacked)
        found_by[attacked] = np.stack([all_ordered(way, empty[attacked], whole[attacked]) for way in ways], axis=1)
    return np.asarray(found_by[able, int(np.argmax(rehearsed))])


def _ways(found: Seen, empty: BoolArray, whole: BoolArray, known: IntArray, attacked: IntArray) -> list[FloatArray]:
    """Return scores of emptiness of the attacked users' days (U, days), by each way learned on the known users."""
    features = [_features(found, empty, known, rows) for rows in (known, attacked)]
    label = empty[known] - empty[known].sum(axis=1, keepdims=True) / whole[known].sum(axis=1, keepdims=True)
    x, y = features[0][whole[known]], label[whole[known]]
    count = x.shape[1]
    factors = [_discriminant(x, y), np.pad(_discriminant(x[:, :OWN_FEATURES], y), (0, count - OWN_FEATURES))]
    factors += [_by_choices(features[0], empty[known], whole[known], ridge) for ridge in CHOICE_RIDGES]
    return [features[1] @ factor for factor in (*factors, *np.eye(count))]


def _discriminant(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the factors of the quantities (days, n) that tell the label best, by least squares."""
    scale = np.sqrt((x**2).mean(axis=0)) + 1e-300
    x = x / scale
    return np.asarray(np.linalg.solve(x.T @ x + RIDGE * len(x) * np.eye(x.shape[1]), x.T @ y) / scale)


def _by_choices(x: FloatArray, empty: BoolArray, whole: BoolArray, ridge: float) -> FloatArray:
    """Return the factors of the quantities that tell each empty day best among the days of its user that are not."""
    user, day = np.nonzero(empty)
    chosen = np.eye(empty.shape[1])[day]
    held = (whole & ~empty)[user] | (chosen > 0)
    return learned_factors(x[user], chosen, held, np.zeros(x.shape[2]), ridge)


def _features(found: Seen, empty: BoolArray, known: IntArray, rows: IntArray) -> FloatArray:
    """Return the quantities of each day (U, days, n), larger if emptier, relative to the mean of the user's days."""
    reports, guesses = found.reports[rows], found.guesses[rows]
    ratios = np.zeros(reports.shape[:2])
    for part in np.array_split(np.arange(reports.shape[2]), min(QUARTERS, reports.shape[2])):
        of_cell = cell_ratios(found.cells[known][:, :, part], empty[known][:, :, None])
        ratios += of_cell[found.cells[rows][:, :, part]].sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        number = np.maximum(np.isfinite(reports).sum(axis=2), 1)
        report, guess = np.nansum(reports, axis=2) / number, np.nansum(guesses, axis=2) / number
        spread = np.sqrt(np.maximum(np.nansum(guesses**2, axis=2) / number - guess**2, 0.0))
    held = np.isfinite(reports).mean(axis=2) >= PRESENT
    own = (ratios, -report, -guess, -spread, -np.nan_to_num(activity(reports)))
    near = (of_others(np.where(held, each, np.nan), days) for days in NEAR for each in own)
    own_day = empty[rows] * np.isin(rows, known)[:, None]  # a known user does not count for itself
    away = (empty[known].sum(axis=0) - own_day) / (len(known) - np.isin(rows, known)[:, None])
    features = np.stack([*own, *near, np.broadcast_to(-everybody(found), ratios.shape), away], axis=2)
    mean = (features * held[:, :, None]).sum(axis=1) / np.maximum(held.sum(axis=1), 1)[:, None]
    return np.asarray(features - mean[:, None])


def everybody(found: Seen) -> FloatArray:
    """Return everybody's mean reading on each day."""
    return mean_of(found.truth, (0, 2))


def all_ordered(score: FloatArray, empty: BoolArray, whole: BoolArray) -> FloatArray:
    """Return for each user the share of pairs in which the empty day has the higher score; ties count half."""
    gap = score[:, :, None] - score[:, None]
    pair = empty[:, :, None] & (whole & ~empty)[:, None]
    number = pair.sum(axis=(1, 2))
    right = (((gap > 0) + (gap == 0) / 2) * pair).sum(axis=(1, 2))
    return np.where(number > 0, right / np.maximum(number, 1), CHANCE)


def _finding(shares: FloatArray, what: str, often: float, chance: float) -> Finding:
    at = share(shares)
    details = {"attacked": len(shares), "empty": often, "chance": chance, "no_difference": at.high >= 1}
    told = "no different from unmasked, where all are" if at.high >= 1 else "unmasked all are"
    words = (
        f"Of an empty day and another one of the same user, the empty one is told from masked {what} in {at.value:.1%} "
        f"({at.low:.1%} to {at.high:.1%}) of cases ({len(shares)} users); {told}, and without a "
        f"report of theirs it is {chance:.1%}."
    )
    return Finding(NAME, METRIC, at.value, 1.0, words, details, at.low, at.high)
