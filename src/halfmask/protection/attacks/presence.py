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

and uses the discriminant or one of its quantities, whichever orders the known users' days best. The result is the share
of pairs of days, one empty and one not, in the right order (the area under the ROC curve); a coin has 1/2. Unmasked
reports give the readings, and so all of it.
"""

import numpy as np

from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.intervals import share
from halfmask.protection.attacks.known_users import Seen, cell_ratios
from halfmask.protection.attacks.report_days import PRESENT

NAME = "presence"
METRIC = "share of pairs of days, an empty one and another of the same user, that are put in the right order"
CHANCE = 0.5
EMPTY = 0.5
BASE = 10
"""Percentile of a day's readings that is its base load."""
FEWEST_USERS, FEWEST_DAYS = 4, 7
QUARTERS = 4
RIDGE = 1e-3


def presence(found: Seen, what: str) -> Finding:
    """Return how often an empty day is told from another day of the same user."""
    whole = np.isfinite(found.truth).mean(axis=2) >= PRESENT
    empty = empty_days(found.truth, whole)
    able = empty.any(axis=1) & (whole.sum(axis=1) >= FEWEST_DAYS)
    if able.sum() < FEWEST_USERS:
        why = f"Not measured: it takes {FEWEST_USERS} users with {FEWEST_DAYS} whole days, one of them empty."
        return not_applicable(NAME, METRIC, why)
    shares = np.ones(int(able.sum())) if found.exact else _ordered_by_attack(found, empty, whole, able)
    return _finding(shares, what, float(empty[able].sum() / whole[able].sum()))


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
    shares = np.full(len(empty), np.nan)
    for known, attacked in found.groups(able):
        ways = _ways(found, empty, whole, known, attacked)
        of_known = [all_ordered(way[0], empty[known], whole[known]).mean() for way in ways]
        shares[attacked] = all_ordered(ways[int(np.argmax(of_known))][1], empty[attacked], whole[attacked])
    return shares[able]


def _ways(
    found: Seen, empty: BoolArray, whole: BoolArray, known: IntArray, attacked: IntArray
) -> list[tuple[FloatArray, FloatArray]]:
    """Return scores of emptiness of known and attacked users' days (U, days), by each way."""
    features = [_features(found, empty, known, rows) for rows in (known, attacked)]
    label = empty[known] - empty[known].sum(axis=1, keepdims=True) / whole[known].sum(axis=1, keepdims=True)
    x, y = features[0][whole[known]], label[whole[known]]
    scale = np.sqrt((x**2).mean(axis=0)) + 1e-300
    x = x / scale
    factor = np.linalg.solve(x.T @ x + RIDGE * len(x) * np.eye(x.shape[1]), x.T @ y) / scale
    ways = [(features[0] @ factor, features[1] @ factor)]
    return ways + [(features[0][:, :, k], features[1][:, :, k]) for k in range(features[0].shape[2])]


def _features(found: Seen, empty: BoolArray, known: IntArray, rows: IntArray) -> FloatArray:
    """Return the quantities of each day (U, days, 5), larger if emptier, relative to the mean of the user's days."""
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
    features = np.stack([ratios, -report, -guess, -spread, -np.nan_to_num(activity(reports))], axis=2)
    mean = (features * held[:, :, None]).sum(axis=1) / np.maximum(held.sum(axis=1), 1)[:, None]
    return np.asarray(features - mean[:, None])


def all_ordered(score: FloatArray, empty: BoolArray, whole: BoolArray) -> FloatArray:
    """Return for each user the share of pairs in which the empty day has the higher score; ties count half."""
    gap = score[:, :, None] - score[:, None]
    pair = empty[:, :, None] & (whole & ~empty)[:, None]
    number = pair.sum(axis=(1, 2))
    right = (((gap > 0) + (gap == 0) / 2) * pair).sum(axis=(1, 2))
    return np.where(number > 0, right / np.maximum(number, 1), CHANCE)


def _finding(shares: FloatArray, what: str, often: float) -> Finding:
    at = share(shares)
    details = {"attacked": len(shares), "empty": often, "chance": CHANCE, "no_difference": at.high >= 1}
    told = "no different from unmasked, where all are" if at.high >= 1 else "unmasked all are"
    words = (
        f"Of an empty day and another one of the same user, the empty one is told from masked {what} in {at.value:.1%} "
        f"({at.low:.1%} to {at.high:.1%}) of cases ({len(shares)} users); {told}, and a coin is right in half of them."
    )
    return Finding(NAME, METRIC, at.value, 1.0, words, details, at.low, at.high)
