"""Presence: was anybody at home? The attack separates quiet days from others by what was reported of them.

Single readings are not needed for that: a day has many, and their noise averages out. A user's quiet days are the fifth
with the lowest mean reading. The attacker sees all masked readings of a day and orders the user's days by

    the mean of the day's reports, or
    sum over reports m of log P(m | quiet day) / P(m | other day)        (the likelihood ratio of independent readings)

with m relative to the user's own mean of reports. Both laws of m are counted on half of the users, whose readings the
attacker is assumed to know and to mask himself (as for `smoothing`), so any setting can be attacked. The better of both
ways on those users is applied to the other half.

The result is the share of pairs of days, one quiet and one not, in the right order (the area under the ROC curve).
Homes are not labelled: a day away with the heating on does not count as quiet. Knowledge of habits or appliances would
reveal more.
"""

from dataclasses import replace

import numpy as np

from halfmask.arrays import BoolArray, FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.periods import DAY
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.masked_series import masked_series
from halfmask.protection.evidence import Evidence

NAME = "presence"
METRIC = "share of pairs of days, a quiet one and another, that are put in the right order"
CHANCE = 0.5
QUIET = 0.2
MOST_USERS, MOST_DAYS = 96, 28
FEWEST_USERS, FEWEST_DAYS = 4, 10
PRESENT = 0.8
CELLS = 64
"""Equally likely ranges of reports in which the laws of m are counted."""


def presence(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Finding:
    """Return how often an attacker with masked readings distinguishes a quiet day from another day of the same user."""
    if not evidence.single:
        return not_applicable(NAME, METRIC, "Not measured: rows of this profile are groups of users, not one.")
    some = evidence.once(whole_days)
    if some is None:
        return not_applicable(
            NAME, METRIC, f"Not measured: it takes {FEWEST_USERS} users with readings or totals of {FEWEST_DAYS} days."
        )
    masked = masked_series(setting, some, rng)
    if masked is None:
        return not_applicable(NAME, METRIC, "Not measured: a profile does not say what this rule makes of a total.")
    if not np.isfinite(masked[np.isfinite(some.series)]).all():
        return not_applicable(NAME, METRIC, "Not measured: the noise is beyond all numbers.")
    a_day = DAY // some.step
    truth, seen = (series.reshape(len(series), -1, a_day) for series in (some.series, masked))
    level = np.nanmean(truth, axis=2)
    quiet = level <= np.quantile(level, QUIET, axis=1, keepdims=True)
    seen = seen - np.nanmean(seen, axis=(1, 2), keepdims=True)
    known, attacked = slice(0, None, 2), slice(1, None, 2)
    ways = {"by the mean of its reports": -np.nanmean(seen, axis=2)}
    if a_day > 1:
        ways["by their likelihood"] = likelihood(seen, quiet, known)
    how = max(ways, key=lambda name: ordered(ways[name][known], quiet[known]).mean())
    return _finding(ordered(ways[how][attacked], quiet[attacked]), how, some.what, level.shape[1])


def whole_days(evidence: Evidence) -> Evidence | None:
    """Return the evidence of users with few gaps over the last whole days; None if there are too few of either."""
    a_day, rest = divmod(DAY, evidence.step)
    if rest or not a_day:
        return None
    first = -int(evidence.times[0] // evidence.step) % a_day  # days begin at midnight
    days = min((len(evidence.times) - first) // a_day, MOST_DAYS)
    last = first + (len(evidence.times) - first) // a_day * a_day
    columns = slice(last - days * a_day, last)
    present = np.isfinite(evidence.series[:, columns]).reshape(len(evidence.series), -1, a_day).mean(axis=2)
    rows = np.flatnonzero((present >= PRESENT).all(axis=1))
    if days < FEWEST_DAYS or len(rows) < FEWEST_USERS:
        return None
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(MOST_USERS, len(rows))).round().astype(np.int64))]
    series, counts, squares = (each[rows][:, columns] for each in (evidence.series, evidence.counts, evidence.squares))
    return replace(evidence, series=series, counts=counts, squares=squares, times=evidence.times[columns])


def likelihood(seen: FloatArray, quiet: BoolArray, known: slice) -> FloatArray:
    """Return the log-likelihood ratio of each day, with laws that are counted on the known users."""
    held = np.isfinite(seen)
    cuts = np.unique(np.quantile(seen[known][held[known]], np.arange(1, CELLS) / CELLS))
    cell = np.searchsorted(cuts, np.where(held, seen, 0.0))
    of_quiet = np.broadcast_to(quiet[:, :, None], cell.shape)[known][held[known]]
    counts = [
        np.bincount(cell[known][held[known]][of_quiet == which], minlength=len(cuts) + 1) + 1.0
        for which in (True, False)
    ]
    ratio = np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum())
    return np.asarray(np.where(held, ratio[cell], 0.0).sum(axis=2))


def ordered(score: FloatArray, quiet: BoolArray) -> FloatArray:
    """Return for each user the share of pairs in which the quiet day has the higher score; ties count half."""
    shares = []
    for of_days, which in zip(score, quiet, strict=True):
        gap = of_days[which][:, None] - of_days[~which]
        shares.append(float(np.mean((gap > 0) + (gap == 0) / 2)) if gap.size else CHANCE)
    return np.array(shares)


def _finding(shares: FloatArray, how: str, what: str, days: int) -> Finding:
    value = float(shares.mean())
    error = float(shares.std(ddof=1) / np.sqrt(len(shares)))
    details = {"users_attacked": len(shares), "days": days, "series": what, "way": how, "standard_error": error}
    words = (
        f"Of a quiet day and another one of the same user, the quiet one is told from masked {what} {how} in "
        f"{value:.1%} of cases ({len(shares)} users, give or take {1.96 * error:.1%}); a coin is right in half of them."
    )
    return Finding(NAME, METRIC, value, CHANCE, words, details)
