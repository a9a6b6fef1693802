"""Own totals: how well is one user's total of a day, a week or a month known from its masked reports?

The noise of many reports cancels in a total. The attacker estimates a period's mean reading by a regression on

    the mean report of the period            unbiased, with all of the noise
    the mean posterior mean of its readings  biased to the population, with less of the noise
    the same two of the user's whole time    the user's level, also times everybody's mean in the period
    the same two of the periods around it    near ones count more

learned on other users of similar level (`known_users`) for the least mean relative error. It uses the noise law, the
population and the user's own past reports, and it shrinks. If the report itself, or the middle total of the known
users, had a smaller error on those, the attacker uses that.

Everybody's mean in a period follows from the totals that are published.

The quietest week is the one with the smallest estimate, mixed with everybody's in parts that are learned too. Without
any report it is the one in which everybody uses least.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.intervals import IntervalEstimate, median, share
from halfmask.protection.attacks.known_users import Seen, mean_of, of_others
from halfmask.protection.attacks.report_days import PRESENT

PERIODS = {"day": 1, "week": 7, "month": 30}
"""Days in each period."""
TOTALS = {
    period: (
        f"own-total-{period}",
        f"relative error of the middle user's own total of a {period}, as estimated from its reports",
    )
    for period in PERIODS
}
QUIETEST = "quietest-week"
QUIETEST_METRIC = "share of users whose quietest week is named rightly"
FEWEST_WEEKS = 3
PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Parts of everybody's week that are mixed into the estimate of a week."""
LEAST = 0.05
"""Totals below this share of the middle one have the weight of that share."""
NEAR = (1.5, 6.0)
"""Distances over which other periods of the user are averaged, in periods (`of_others`)."""
RIDGE = 1e-9
REWEIGHTED = 5


@dataclass(frozen=True, eq=False)
class PeriodMeans:
    """Mean readings of users by period (U, periods), with those of reports and posterior means; NaN if incomplete."""

    truth: FloatArray
    report: FloatArray
    guess: FloatArray


def own_totals(found: Seen, what: str) -> tuple[Finding, ...]:
    """Return the relative error of own totals of a day, a week and a month."""
    return tuple(_of_period(found, period, days, what) for period, days in PERIODS.items())


def periods_of(found: Seen, days: int) -> PeriodMeans:
    """Return means over the last whole periods of so many days; NaN if too few readings are present."""
    places = found.truth.shape[2]
    count = found.truth.shape[1] // days
    shape = (len(found.truth), count, days * places)
    truth, report, guess = (
        each[:, each.shape[1] - count * days :].reshape(shape) for each in (found.truth, found.reports, found.guesses)
    )
    held = np.isfinite(truth)
    number = held.sum(axis=2)
    number = np.where(number >= PRESENT * days * places, number, np.nan)
    return PeriodMeans(*(np.where(held, each, 0.0).sum(axis=2) / number for each in (truth, report, guess)))


def estimated_totals(found: Seen, of: PeriodMeans) -> FloatArray:
    """Return the attacker's estimate of each user's mean reading in each period."""
    if found.exact:
        return of.truth
    features, estimate = _features(found, of), of.report.copy()
    for known, attacked in found.groups():
        held = np.isfinite(of.truth[known])
        truth, x = of.truth[known][held], features[known][held]
        if len(truth) < 2 * features.shape[2]:
            continue
        size = np.abs(truth)
        weight = 1 / np.maximum(size, max(LEAST * float(np.median(size)), 1e-300))
        factor, middle = _regression(x, truth, weight), np.median(truth)
        ways = (of.report[known][held], x @ factor, np.full(len(truth), middle))
        best = np.argmin([np.median(np.abs(each - truth) * weight) for each in ways])
        if best:
            estimate[attacked] = features[attacked] @ factor if best == 1 else middle
    return estimate


def _regression(x: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the factors f that make the sum of weight |x f - y| small, by reweighted least squares."""
    scale = np.sqrt(((x * weight[:, None]) ** 2).mean(axis=0)) + 1e-300
    x, weights = x / scale, weight**2
    for _ in range(REWEIGHTED):
        weighted = x * weights[:, None]
        gram = weighted.T @ x
        factor = np.linalg.solve(gram + RIDGE * np.trace(gram) * np.eye(len(gram)), weighted.T @ y)
        off = np.abs(x @ factor - y) * weight
        weights = weight**2 / np.maximum(off, max(1e-3 * float(np.median(off)), 1e-6))
    return np.asarray(factor / scale)


def _features(found: Seen, of: PeriodMeans) -> FloatArray:
    """Return what the regression uses, (U, periods, features)."""
    shape, last = of.truth.shape, of.truth.shape[1] - 1
    whole = (mean_of(each, (1, 2))[:, None] for each in (found.reports, found.guesses))
    report, guess = (np.broadcast_to(each, shape) for each in whole)
    parts = [np.ones(shape), of.report, of.guess, report, guess]
    if last:
        season = mean_of(of.truth, 0) / (float(mean_of(of.truth, (0, 1))) or 1.0)
        at = np.arange(last + 1)
        around = (of.guess[:, np.maximum(at - 1, 0)] + of.guess[:, np.minimum(at + 1, last)]) / 2
        parts += [np.where(np.isfinite(around), around, guess), report * season, guess * season]
        parts += [of_others(each, periods) for periods in NEAR for each in (of.report, of.guess)]
    return np.stack(parts, axis=2)


def _of_period(found: Seen, period: str, days: int, what: str) -> Finding:
    name, metric = TOTALS[period]
    if found.truth.shape[1] < days:
        return not_applicable(name, metric, f"Not measured: the reports cover less than a {period}.")
    of = periods_of(found, days)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.abs(estimated_totals(found, of) / of.truth - 1)
    errors = np.where(of.truth != 0, errors, np.nan)
    users = errors[np.isfinite(errors).any(axis=1)]
    if not len(users):
        return not_applicable(name, metric, "Not measured: no user has a whole period with a total other than 0.")
    at = median(np.nanmedian(users, axis=1))
    blind = of.truth[np.isfinite(of.truth)]
    prior = float(np.median(np.abs(np.median(blind) / blind[blind != 0] - 1)))
    details = {"attacked": len(users), "no_difference": at.low <= 0, "without_reports": prior}
    told = (
        "no different from unmasked, where it is known exactly"
        if at.low <= 0
        else f"unmasked it is known exactly, and without any report to within {prior:.0%}"
    )
    words = (
        f"The middle user's own total of a {period} is known to within {_percent(at)} from masked {what} "
        f"({len(users)} users); {told}."
    )
    return Finding(name, metric, at.value, 0.0, words, details, at.low, at.high)


def quietest_week(found: Seen, what: str) -> Finding:
    """Return how often the week with the smallest total is named rightly."""
    of = periods_of(found, PERIODS["week"])
    rows = np.flatnonzero(np.isfinite(of.truth).sum(axis=1) >= FEWEST_WEEKS)
    if not len(rows):
        why = f"Not measured: no user has {FEWEST_WEEKS} whole weeks of reports."
        return not_applicable(QUIETEST, QUIETEST_METRIC, why)
    truth, guess, everybody = (
        np.where(np.isfinite(of.truth), each, np.inf)[rows]
        for each in (of.truth, _likely_weeks(found, of), mean_of(of.truth, 0))
    )
    at = share(_quietest(guess, truth))
    blind = float(_quietest(everybody, truth).mean())
    chance = max(blind, float(np.mean(1 / np.isfinite(truth).sum(axis=1))))
    details = {"attacked": len(rows), "no_difference": at.high >= 1, "chance": chance}
    told = "no different from unmasked, where all are" if at.high >= 1 else "unmasked all are"
    words = (
        f"The quietest week of {_percent(at)} of users is named rightly from masked {what} ({len(rows)} users, "
        f"{of.truth.shape[1]} weeks); {told}, without a report of theirs {chance:.0%}."
    )
    return Finding(QUIETEST, QUIETEST_METRIC, at.value, 1.0, words, details, at.low, at.high)


def _likely_weeks(found: Seen, of: PeriodMeans) -> FloatArray:
    """Return the estimate of each week, mixed with everybody's week in the parts that name most known users' weeks."""
    if found.exact:
        return of.truth
    estimate, everybody = estimated_totals(found, of), mean_of(of.truth, 0)
    size = np.maximum(np.abs(mean_of(estimate, 1)), 1e-300)[:, None]
    mixed = [(1 - part) * estimate / size + part * everybody / (everybody.mean() or 1.0) for part in PARTS]
    best = np.empty(of.truth.shape)
    held = np.where(np.isfinite(of.truth), of.truth, np.inf)
    for known, attacked in found.groups():
        named = [_quietest(np.where(np.isfinite(of.truth), each, np.inf)[known], held[known]).mean() for each in mixed]
        best[attacked] = mixed[int(np.argmax(named))][attacked]
    return best


def _quietest(guess: FloatArray, truth: FloatArray) -> FloatArray:
    """Return 1 for each user whose smallest truth is where the guess is smallest, 0 for others."""
    return np.asarray(truth[np.arange(len(truth)), guess.argmin(axis=1)] <= truth.min(axis=1), float)


def _percent(at: IntervalEstimate) -> str:
    return f"{at.value:.1%} ({at.low:.1%} to {at.high:.1%})"
