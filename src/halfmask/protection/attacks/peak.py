"""Peak: at what time of a day was a user's highest reading?

For each place k of the day, the attacker adds up log-likelihood ratios of "the peak is at k" to "it is elsewhere", of

    k itself, by the share of peaks there
    the report at k, the one before and the one after it
    the user's mean posterior mean at k, relative to its mean day

each by histograms that are counted on other users of similar level (`known_users`), and names the k with the largest
sum. If the largest report named more peaks of the known users, the attacker names that.
"""

import numpy as np

from halfmask.arrays import BoolArray, FloatArray
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.intervals import share
from halfmask.protection.attacks.known_users import Seen, cell_ratios, mean_of
from halfmask.protection.attacks.report_channel import cell_numbers
from halfmask.protection.attacks.report_days import PRESENT

NAME = "peak"
METRIC = "share of days whose highest reading is placed rightly in the day"
MOST_DAYS = 14
SIZES = 24
"""Sizes of a user's mean reading at a place, relative to its mean day, that are told apart."""
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
    highest = np.where(np.isfinite(truth), truth, -np.inf).max(axis=2, keepdims=True)
    top = (truth == highest) & whole[:, :, None]
    hits = whole if found.exact else _hits(found, top)
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
    days = top.shape[1]
    reports, cells = found.reports[:, -days:], found.cells[:, -days:]
    usual = mean_of(found.guesses, 1)
    usual = usual / np.maximum(np.abs(usual).mean(axis=1, keepdims=True), 1e-300)
    size = cell_numbers(usual, np.quantile(usual, np.arange(1, SIZES) / SIZES))
    of_usual = np.broadcast_to(size[:, None, :], cells.shape)
    scale, hits = max(float(np.nanmax(np.abs(reports))), 1e-300), np.zeros(top.shape[:2], bool)
    for known, attacked in found.groups():
        prior = np.log(top[known].mean(axis=(0, 1)) + 1 / top[known].size)
        sums = [prior + TIE * reports[rows] / scale for rows in (known, attacked)]
        for shift in (-1, 0, 1):
            label = np.roll(top[known], shift, axis=2)
            for total, rows in zip(sums, (known, attacked), strict=True):
                total += np.roll(cell_ratios(cells[known], label)[cells[rows]], -shift, axis=2)
        for total, rows in zip(sums, (known, attacked), strict=True):
            total += cell_ratios(of_usual[known], top[known])[of_usual[rows]]
        learned = _right(sums[0], top[known]).mean() > _right(reports[known], top[known]).mean()
        hits[attacked] = _right(sums[1] if learned else reports[attacked], top[attacked])
    return hits


def _right(score: FloatArray, top: BoolArray) -> BoolArray:
    """Return whether the place with the highest score is one with the highest reading."""
    best = np.where(np.isnan(score), -np.inf, score).argmax(axis=2)
    return np.asarray(np.take_along_axis(top, best[:, :, None], axis=2)[:, :, 0])
