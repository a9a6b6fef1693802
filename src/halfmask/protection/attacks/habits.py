"""Models of what each user's known days are like, and the log-likelihood of reports under them.

Three models are added, because each sees what the others do not:

    histograms   readings of a slot of the day are independent draws from the user's histogram of that slot; the
                 likelihood of a report is this histogram through the channel (`report_channel`)
    mean days    days are normal around the user's mean day, with the user's variances along the eigenvectors of the
                 covariance that all users share
    nearest day  the day is like the most similar known day of the user

Habits drift, so known days near in time to the attacked ones count more in the first two models, and so does the same
day of the week if one day is attacked (`day_weights`).

The last two work on normal scores of readings. Reports enter as posterior means of these scores, so that far noise is
discounted. Their noise has the variance of the posterior mean given the reading, averaged over readings.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.protection.attacks.report_channel import (
    MISSING,
    Cells,
    Float32,
    ReadingCells,
    ReportChannel,
    reading_cells,
)

MOST_SLOTS = 48
NEIGHBOURS = (0.6, 0.3)
"""Weights of the next slot and of the one after it in a slot's histogram, on either side."""
OWN, COMMON = 4.0, 0.5
"""Readings by which a user's histogram of all slots, and everybody's of the slot, are added to a slot's histogram."""
NEAR, NEAR_DAYS, SAME_WEEKDAY = 10.0, 4.0, 2.0
"""Weight of a known day just before or after the attacked ones, the days after which it is e times less, and the weight
of one on the same day of the week; every known day has a weight of 1 besides."""
SHRINK = 6.0
"""Days by which a user's variances are shrunk to those that all users share."""
SPREAD = 0.6
"""Variance of a day around the nearest known day, per variance of a day."""
MOST_DAYS = 48
LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class KnownDays:
    """The attacker's knowledge: readings of N users on some days, as cells.

    ``cells``       cells of readings
    ``index``       (N, days, places) cell of each reading
    ``histograms``  (slots, N, reading cells) probabilities
    """

    cells: ReadingCells
    index: Cells
    histograms: Float32


def known_days(
    readings: FloatArray,
    weekdays: IntArray,
    factors: Sequence[float] = (1.0,),
    weight: FloatArray | None = None,
) -> KnownDays:
    """Return what an attacker learns from readings (N, days, places).

    The histograms are means over those of the readings times each factor; ``weight`` (days,) is how much days count.
    """
    cells, slots = reading_cells(readings), slots_of(readings.shape[2], weekdays)
    all_of = [_histograms(cells.of(factor * readings), slots, len(cells.share), weight) for factor in factors]
    return KnownDays(cells, cells.of(readings), np.mean(all_of, axis=0, dtype=np.float32))


def day_weights(apart: IntArray, same_weekday: BoolArray | bool = False) -> FloatArray:
    """Return how much days count, for their distance in days from the attacked or known ones; 1 on average."""
    weight = 1 + NEAR * np.exp(-np.abs(apart) / NEAR_DAYS) + SAME_WEEKDAY * np.asarray(same_weekday)
    return np.asarray(weight / weight.mean())


def effective(weight: FloatArray) -> float:
    """Return how many equally weighted days vary as much as the mean of days with these weights."""
    return float(weight.sum() ** 2 / (weight**2).sum())


def near_histograms(known: KnownDays, slots: IntArray, weight: FloatArray) -> KnownDays:
    """Return the same knowledge with histograms in which known days have these weights."""
    return replace(known, histograms=_histograms(known.index, slots, len(known.cells.share), weight))


def slots_of(places: int, weekdays: IntArray) -> IntArray:
    """Return the slot (days, places) of each report: a part of the day, or the day of the week if a day has one."""
    if places == 1:
        return weekdays[:, None]
    count = slot_count(places)
    return np.asarray(np.broadcast_to(np.arange(places) * count // places, (len(weekdays), places)))


def slot_count(places: int) -> int:
    """Return the largest number of slots, up to `MOST_SLOTS`, that divides the readings of a day evenly."""
    return max(each for each in range(1, MOST_SLOTS + 1) if places % each == 0)


def _histograms(index: Cells, slots: IntArray, width: int, by_day: FloatArray | None = None) -> Float32:
    """Return users' histograms by slot, smoothed with neighbouring slots, the user's other slots and other users.

    ``by_day``  weight of each day (days,)
    """
    users, count = len(index), 7 if index.shape[2] == 1 else int(slots.max()) + 1
    user = np.arange(users, dtype=np.int32)[:, None, None]
    place = (slots.astype(np.int32) * users + user) * width + index
    held = index != MISSING
    of_days = None if by_day is None else np.broadcast_to(by_day[:, None], index.shape)[held]
    counts = np.bincount(place[held], of_days, minlength=count * users * width)
    raw: Float32 = counts.reshape(count, users, width).astype(np.float32)
    histograms = raw.copy()
    for step, weight in enumerate(NEIGHBOURS if index.shape[2] > 1 else (), 1):
        histograms += np.float32(weight) * (np.roll(raw, step, axis=0) + np.roll(raw, -step, axis=0))
    own, common = raw.sum(axis=0) + 0.5, raw.sum(axis=1) + 1
    histograms += np.float32(OWN) * own / own.sum(axis=1, keepdims=True)
    histograms += np.float32(COMMON) * (common / common.sum(axis=1, keepdims=True))[:, None]
    return np.asarray(histograms / histograms.sum(axis=2, keepdims=True), np.float32)


def slot_likelihoods(known: KnownDays, channel: ReportChannel) -> Float32:
    """Return the log-likelihood (slots, report cells, N) of a report in each cell, by slot and user."""
    seen = channel.matrix.T.astype(np.float32) @ known.histograms.transpose(0, 2, 1)
    return np.asarray(np.log(np.maximum(seen, np.float32(LEAST))), np.float32)


def of_one_day(likelihoods: Float32, cells: Cells, slots: IntArray) -> Float32:
    """Return the log-likelihood (V, N) of one day's reports, cells (V, places) in slots (places,), per user."""
    total = np.zeros((len(cells), likelihoods.shape[2]), np.float32)
    for place, slot in enumerate(slots):
        held = np.flatnonzero(cells[:, place] != MISSING)
        total[held] += likelihoods[slot, cells[held, place]]
    return total


def of_many_days(likelihoods: Float32, cells: Cells, slots: IntArray) -> Float32:
    """Return the log-likelihood (V, N) of many days' reports, cells (V, days, places), per user."""
    count, width, _ = likelihoods.shape
    place = (np.arange(len(cells))[:, None, None] * count + slots) * width + cells
    counts = np.bincount(place[cells != MISSING], minlength=len(cells) * count * width).astype(np.float32)
    return counts.reshape(len(cells), -1) @ likelihoods.reshape(count * width, -1)


@dataclass(frozen=True, eq=False)
class Scores:
    """Known days and reports as normal scores by slot, and the variance of a report's noise in a slot.

    ``known``  (N, known days, slots) expected posterior scores of the known readings
    ``seen``   (V, seen days, slots) posterior scores of the reports; NaN if missing
    """

    known: Float32
    seen: Float32
    noise: float


def scores(known: KnownDays, channel: ReportChannel, cells: Cells) -> Scores:
    """Return scores of the known days and of reports in these cells (V, days, places)."""
    posterior = channel.posterior(known.cells.normal_scores)
    expected = channel.matrix @ posterior
    variance = float(known.cells.share @ np.maximum(channel.matrix @ posterior**2 - expected**2, 0.0))
    places = cells.shape[2]
    slots = slot_count(places)
    return Scores(_by_slot(expected, known.index, slots), _by_slot(posterior, cells, slots), variance * slots / places)


def _by_slot(values: FloatArray, cells: Cells, slots: int) -> Float32:
    """Return the mean value of the cells in each slot; NaN if all are missing."""
    found = np.append(values, np.nan).astype(np.float32)[cells]  # MISSING is -1, the last
    if slots == cells.shape[2]:
        return found
    parts = found.reshape(*cells.shape[:2], slots, -1)
    held = np.isfinite(parts)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(held, parts, 0).sum(axis=3) / held.sum(axis=3), np.float32)


@dataclass(frozen=True, eq=False)
class MeanDays:
    """Users' mean days along common eigenvectors.

    ``mean``      (N, slots) mean day of each user
    ``own``       (N, slots) variances of a user's days, shrunk to the common ones
    ``common``    (N, slots) the common eigenvalues times the size of the user's variance
    ``vectors``   (slots, slots) eigenvectors
    ``rotated``   (N, days, slots) the days
    """

    mean: Float32
    own: Float32
    common: Float32
    vectors: Float32
    rotated: Float32


def mean_days(known: Float32) -> MeanDays:
    """Return mean days and variances of known days (N, days, slots); a missing score counts as the mean."""
    users, days, slots = known.shape
    missing = np.isnan(known)
    count = np.maximum(days - missing.sum(axis=1), 1)
    mean = np.where(missing, 0, known).sum(axis=1) / count
    off = np.where(missing, 0, known - mean[:, None]).astype(np.float32)
    size = np.sqrt((off**2).mean(axis=(1, 2))) + np.float32(1e-3)
    even = (off / size[:, None, None]).reshape(-1, slots)
    values, vectors = np.linalg.eigh(even.T @ even / np.float32(users * days))
    rotated = (off.reshape(-1, slots) @ vectors).reshape(off.shape)
    turned = (mean @ vectors).astype(np.float32)
    common = size[:, None] ** 2 * np.maximum(values, 1e-4)
    own = ((rotated**2).sum(axis=1) + SHRINK * common) / (max(days - 1, 1) + SHRINK)
    return MeanDays(turned, own.astype(np.float32), common.astype(np.float32), vectors, rotated + turned[:, None])


def near_mean_days(found: MeanDays, weight: FloatArray) -> MeanDays:
    """Return mean days in which known days have these weights."""
    mean = (found.rotated * weight.astype(np.float32)[:, None]).mean(axis=1)  # weights are 1 on average
    return replace(found, mean=mean.astype(np.float32))


def by_mean_day(found: MeanDays, day: Float32, variance: FloatArray) -> Float32:
    """Return the log-likelihood (V, N) of rotated days (V, slots) around mean days, with variances (N, slots)."""
    weight = (1 / variance).astype(np.float32)
    distance = day**2 @ weight.T - 2 * day @ (found.mean * weight).T + (found.mean**2 * weight).sum(axis=1)
    return np.asarray(-0.5 * (distance + np.log(variance).sum(axis=1)), np.float32)


def by_nearest_day(found: MeanDays, day: Float32, noise: float) -> Float32:
    """Return the log-likelihood (V, N) of rotated days (V, slots) around the nearest known day of each user."""
    days = found.rotated.shape[1]
    some = found.rotated[:, np.unique(np.linspace(0, days - 1, min(days, MOST_DAYS)).round().astype(np.int64))]
    variance = np.float32(SPREAD) * found.common + np.float32(noise + 1e-6)
    weighted = some / variance[:, None]
    users, count, slots = some.shape
    close = (day @ weighted.reshape(-1, slots).T).reshape(len(day), users, count)
    close -= 0.5 * (weighted * some).sum(axis=2)
    best = close.max(axis=2)
    return np.asarray(best - 0.5 * (day**2 @ (1 / variance).T) - 0.5 * np.log(variance).sum(axis=1), np.float32)


def filled(seen: Float32) -> Float32:
    """Return scores with missing ones replaced by everybody's mean, 0 on the scale of normal scores."""
    return np.where(np.isfinite(seen), seen, np.float32(0))
