"""Peak: at what time of a day was a user's highest reading?

For each place k of the day, the attacker adds up log-likelihood ratios of "the peak is at k" to "it is elsewhere", of

    k itself, by the share of peaks there
    the report at k, the one before and the one after it
    the user's mean posterior mean at k, relative to its mean day

each by histograms that are counted on other users of similar level (`known_users`). A conditional logit
(`likely_choice`) starts from this sum and corrects it by

    report and posterior mean at k, and those of the places around it
    the user's posterior means at k on other days, near ones counted more
    everybody's mean at k on that day, which is published

each relative to the user's mean. The largest report, the sum, or the logit names the peak, whichever named more peaks
at a rehearsal, learned on one half of the known users for the other.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.intervals import share
from halfmask.protection.attacks.known_users import Seen, cell_ratios, mean_of, of_others
from halfmask.protection.attacks.likely_choice import learned_factors
from halfmask.protection.attacks.report_channel import Cells, cell_numbers
from halfmask.protection.attacks.report_days import PRESENT

NAME = "peak"
METRIC = "share of days whose highest reading is placed rightly in the day"
MOST_DAYS = 14
SIZES = 24
"""Sizes of a user's mean reading at a place, relative to its mean day, that are told apart."""
MOST_LEARNED = 28
"""Last days that habits are learned from."""
NEAR = (1.5, 7.0, 1e6)
"""Distances over which other days of the user are averaged, in days (`of_others`)."""
RIDGE = 1e-3
TIE = 1e-6
"""Weight of the report itself, so that of two places in one cell the larger report counts."""


def peak(found: Seen, what: str) -> Finding:
    """Return how often the time of a day's highest reading is named rightly."""
    places = found.truth.shape[2]
    if places == 1:
        return not_applicable(NAME, METRIC, "Does not apply: a day has one report.")
    truth = found.truth[:, -MOST_DAYS:]
    whole = np.isfinite(truth).mean(axis=2) >= PRESENT
    if not whole.any():
        return not_applicable(NAME, METRIC, "Not measured: no user has a whole day of reports.")
    hits = whole if found.exact else _hits(found, _highest(truth))
    of_users = np.array([row[held].mean() for row, held in zip(hits, whole, strict=True) if held.any()])
    at = share(of_users)
    details = {"attacked": len(of_users), "days": truth.shape[1], "no_difference": at.high >= 1, "chance": 1 / places}
    told = "no different from unmasked, where all are" if at.high >= 1 else "unmasked all are"
    words = (
        f"The time of a day's highest reading is named rightly on {at.value:.1%} ({at.low:.1%} to {at.high:.1%}) of "
        f"days from masked {what} ({len(of_users)} users); {told}, by chance {1 / places:.1%}."
    )
    return Finding(NAME, METRIC, at.value, 1.0, words, details, at.low, at.high)


def _hits(found: Seen, top: BoolArray) -> BoolArray:
    """Return for each user and day whether the named place has the highest reading."""
    data, days = _peaks(found), top.shape[1]
    rehearsed, hits = np.zeros(3), []
    for known, attacked in found.groups():
        halves = (known[::2], known[1::2])
        for one, other in (halves, halves[::-1]):
            rehearsed += [_right(way, top[other]).sum() for way in _ways(data, one, other, days)]
        hits.append((attacked, [_right(way, top[attacked]) for way in _ways(data, known, attacked, days)]))
    named, best = np.zeros(top.shape[:2], bool), int(np.argmax(rehearsed))
    for attacked, ways in hits:
        named[attacked] = ways[best]
    return named


@dataclass(frozen=True, eq=False)
class _Peaks:
    """What is known of days (U, days, places): reports, their cells, peaks, sizes of mean readings, and features."""

    reports: FloatArray
    cells: Cells
    top: BoolArray
    size: Cells
    features: FloatArray


def _peaks(found: Seen) -> _Peaks:
    """Return what is known of the last days."""
    truth, reports, guesses = (each[:, -MOST_LEARNED:] for each in (found.truth, found.reports, found.guesses))
    cells = found.cells[:, -MOST_LEARNED:]
    usual = mean_of(found.guesses, 1)
    usual = usual / np.maximum(np.abs(usual).mean(axis=1, keepdims=True), 1e-300)
    size = cell_numbers(usual, np.quantile(usual, np.arange(1, SIZES) / SIZES))
    level = np.maximum(np.abs(found.level), 1e-300)[:, None, None]
    guess, report = (np.where(np.isfinite(each), each, guesses) / level for each in (guesses, reports))
    guess, report = (np.where(np.isfinite(each), each, 1.0) for each in (guess, report))
    curve = mean_of(truth, 0)
    curve = curve / (float(np.abs(curve).mean()) or 1.0)
    others = [_of_other_days(guess, days) for days in NEAR]
    own = [report, _around(report, 1), guess, _around(guess, 1), _around(guess, 2), *others, _around(others[-1], 1)]
    features = np.stack([*own, np.broadcast_to(curve, truth.shape)], axis=3)
    return _Peaks(reports, cells, _highest(truth), np.broadcast_to(size[:, None], cells.shape), features)


def _of_other_days(values: FloatArray, days: float) -> FloatArray:
    """Return for each user, day and place the mean of the user's other days there."""
    users, count, places = values.shape
    flat = of_others(values.transpose(0, 2, 1).reshape(-1, count), days)
    return flat.reshape(users, places, count).transpose(0, 2, 1)


def _around(values: FloatArray, apart: int) -> FloatArray:
    """Return the sum of the values this many places before and after."""
    return np.asarray(np.roll(values, apart, axis=2) + np.roll(values, -apart, axis=2))


def _ways(data: _Peaks, known: IntArray, attacked: IntArray, days: int) -> list[FloatArray]:
    """Return scores of places on the attacked users' last days, by each way learned on the known users."""
    top, held = data.top[known], np.isfinite(data.reports[known])
    sums = [_sum_of_ratios(data, known, rows) for rows in (known, attacked)]
    x, seen = (
        np.concatenate([of[:, :, :, None], data.features[rows]], axis=3)
        for of, rows in zip(sums, (known, attacked), strict=True)
    )
    whole = top.any(axis=2)
    chosen = top[whole] / top[whole].sum(axis=1, keepdims=True)
    start = np.eye(x.shape[3])[0]
    factor = learned_factors(x[whole], chosen, held[whole] | top[whole], start, RIDGE)
    missing = np.isnan(data.reports[attacked])
    return [np.where(missing, np.nan, each)[:, -days:] for each in (data.reports[attacked], sums[1], seen @ factor)]


def _sum_of_ratios(data: _Peaks, known: IntArray, rows: IntArray) -> FloatArray:
    """Return the sum of log-likelihood ratios of each place, as counted on the known users."""
    top = data.top[known]
    scale = max(float(np.nanmax(np.abs(data.reports))), 1e-300)
    total = np.log(top.mean(axis=(0, 1)) + 1 / top.size) + TIE * np.nan_to_num(data.reports[rows]) / scale
    for shift in (-1, 0, 1):
        label = np.roll(top, shift, axis=2)
        total = total + np.roll(cell_ratios(data.cells[known], label)[data.cells[rows]], -shift, axis=2)
    return np.asarray(total + cell_ratios(data.size[known], top)[data.size[rows]])


def _highest(truth: FloatArray) -> BoolArray:
    """Return which readings are the highest of a whole day."""
    whole = np.isfinite(truth).mean(axis=2) >= PRESENT
    highest = np.where(np.isfinite(truth), truth, -np.inf).max(axis=2, keepdims=True)
    return np.asarray((truth == highest) & whole[:, :, None])


def _right(score: FloatArray, top: BoolArray) -> BoolArray:
    """Return whether the place with the highest score is one with the highest reading."""
    best = np.where(np.isnan(score), -np.inf, score).argmax(axis=2)
    return np.asarray(np.take_along_axis(top, best[:, :, None], axis=2)[:, :, 0])
