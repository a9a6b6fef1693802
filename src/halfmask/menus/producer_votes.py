"""What each producer adds to the counts of the public summary: whole numbers, each within fixed bounds.

Two profiles are neighbouring if everything about one producer differs: all of its readings at all times, also whether
it has any. The producers' names, and so their number, are the same in both and are public. Period, bounds and epsilon
are public too.

Each function returns one row per row of the profile, and computes it from that row alone. A vote has `VOTE` parts, so
that all counts are whole numbers: floats are rounded, and clipped to the bounds, before anything is added up. Whatever
a producer's readings are, rounding errors and NaN included, its row stays within the bounds that the proof names.

All producers in a row of a bucketed profile share one vote. This protects each of them, because a change of one of them
changes that row only. The guarantee does not hold for a person whose readings are stored under several names.

Assumption: a row of the profile depends on the readings of the producers in it only.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.profiles.bins import BINS_PER_OCTAVE, centre
from halfmask.profiles.periods import SECOND
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from halfmask_device.setting import TOTAL

VOTE = 10**6
"""Number of parts of a vote."""
LOWEST, HIGHEST = -40, 40
"""Octaves of |s|, the same for every dataset: 2^-40 to 2^41 in the readings' unit. Others count as the nearest."""
APART = tuple(seconds * SECOND for seconds in (1, 10, 60, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400))
"""Usual intervals between readings."""
MORE = 1.1
"""A producer may have this many times as many readings as its interval's number."""
CALENDAR_DAYS = {"M": 30, "Y": 365}
MOST_SPREAD = 4.0
"""Variance of log2 |s| that counts as a whole vote: most readings then lie within a factor of 16."""
UNKNOWN_SPREAD = 1.0
"""Variance assumed for a producer without a reading that is not zero."""
EDGES = (0.0, 1 / 16, 1 / 8, 3 / 16, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 1.0, 1.5)
"""Edges of the bins of totals, as parts of the way from low to high. Totals below 0 and above 1 are clipped."""

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Count:
    """A count of the summary.

    ``weight``  its part of epsilon, relative to those of the other counts that are released with it
    ``change``  sensitivity: the most by which one producer changes it, added up over its cells, in parts of a vote
    ``votes``   each row's part, for a profile and the bounds of totals
    """

    weight: int
    change: int
    votes: Callable[[Profile, Bounds], IntArray]


def reading_votes(profile: Profile, _: Bounds = (0.0, 1.0)) -> IntArray:
    """Return each row's vote on the size of readings: "zero" first, then the octaves of |s|.

    A row divides one vote in proportion to its readings: floor(VOTE n/N) for n of N readings, in whole numbers.

    Proof. The parts of a row are at least 0 and add up to at most VOTE. Two rows therefore differ by at most 2 VOTE in
    the sum of absolute differences, and neighbouring profiles differ in one row. Noise of scale 2 VOTE/e on each cell
    is e-differentially private.
    """
    counts, octaves = profile.histogram, HIGHEST - LOWEST + 1
    octave = np.clip(counts.bin // BINS_PER_OCTAVE, LOWEST, HIGHEST) - LOWEST
    of_row = np.zeros((len(profile), octaves + 1), np.int64)
    np.add.at(of_row, (counts.row, octave + 1), counts.count)
    of_row[:, 0] = profile.rows["zeros"]
    return _divided(of_row)


def spread_votes(profile: Profile, _: Bounds = (0.0, 1.0)) -> IntArray:
    """Return each row's variance of log2 |s|, divided by `MOST_SPREAD` and clipped to one vote.

    Proof. Each entry is from 0 to VOTE, so one row changes the sum by at most VOTE. Noise of scale VOTE/e is
    e-differentially private.
    """
    counts = profile.histogram
    size = np.log2(centre(counts.bin))
    n, logs, squares = (np.bincount(counts.row, counts.count * size**k, len(profile)) for k in range(3))
    held = np.maximum(n, 1)
    spread = np.where(n > 0, squares / held - (logs / held) ** 2, UNKNOWN_SPREAD)
    return _parts(spread / MOST_SPREAD)[:, None]


def interval_votes(profile: Profile, _: Bounds = (0.0, 1.0)) -> IntArray:
    """Return each row's vote for one of the intervals `APART`.

    A row votes for the longest interval that has at least its own number of readings in a period, over periods with
    readings. So a period has no more readings than a promise about all of them counts. A tenth more than the interval's
    number, as on a day with 25 hours, still is the interval's.

    Proof. A row is one whole vote for one cell. Two rows differ by 2 VOTE at most. Noise of scale 2 VOTE/e on each cell
    is e-differentially private.
    """
    readings = profile.cells[..., 0]
    held = (readings > 0).sum(axis=1) * profile.rows["members"]
    own = np.maximum(readings.sum(axis=1) / np.maximum(held, 1), 1.0)
    enough = np.maximum((MORE * usual_counts(profile) >= own[:, None]).sum(axis=1) - 1, 0)
    found = np.zeros((len(profile), len(APART)), np.int64)
    found[np.arange(len(profile)), enough] = VOTE
    return found


def total_sums(profile: Profile, bounds: Bounds) -> IntArray:
    """Return each row's mean total of a period, each total clipped to the bounds; low is 0 and high is VOTE.

    The mean is over the row's periods with readings. A row without any counts as a total of 0, clipped.

    Proof. Each entry is a whole number from 0 to VOTE, so one row changes the sum by at most VOTE. Noise of scale
    VOTE/e is e-differentially private.
    """
    row, total, count = _totals(profile)
    sums = np.bincount(row, np.clip(_place(total, bounds), 0, 1) * count, len(profile))
    n, none = np.bincount(row, count, len(profile)), np.clip(_place(np.zeros(1), bounds), 0, 1)
    return _parts(np.where(n > 0, sums / np.maximum(n, 1), none))[:, None]


def total_votes(profile: Profile, bounds: Bounds) -> IntArray:
    """Return each row's vote on the size of its totals: below low, then the bins between `EDGES`, then above the last.

    A row divides one vote in proportion to its periods with readings.

    Proof. As of `reading_votes`: two rows differ by at most 2 VOTE, and noise of scale 2 VOTE/e on each cell is
    e-differentially private.
    """
    row, total, count = _totals(profile)
    place = _place(total, bounds)
    cell = np.searchsorted(EDGES, place, side="right") - (place == 1)  # a total at high is within the bounds
    return _voted(len(profile), len(EDGES) + 1, row, cell, count)


def size_votes(profile: Profile, _: Bounds = (0.0, 1.0)) -> IntArray:
    """Return each row's vote on the octave of its totals: below 0 first, then 0, then the octaves.

    Proof. As of `total_votes`.
    """
    row, total, count = _totals(profile)
    with np.errstate(divide="ignore", invalid="ignore"):
        octave = np.clip(np.nan_to_num(np.floor(np.log2(total))), LOWEST, HIGHEST).astype(np.int64) - LOWEST + 2
    cell = np.where(total > 0, octave, np.where(total < 0, 0, 1))
    return _voted(len(profile), HIGHEST - LOWEST + 3, row, cell, count)


COUNTS = {
    "readings": Count(10, 2 * VOTE, reading_votes),
    "spread": Count(2, VOTE, spread_votes),
    "apart": Count(4, 2 * VOTE, interval_votes),
    "mean": Count(14, VOTE, total_sums),
    "totals": Count(10, 2 * VOTE, total_votes),
    "sizes": Count(10, 2 * VOTE, size_votes),
}
"""The counts of a summary. The last one is released before the others, if it has to give the bounds."""


def usual_counts(profile: Profile) -> FloatArray:
    """Return the number of readings in a period for each interval of `APART`."""
    period = profile.period
    length = period.base * CALENDAR_DAYS.get(period.calendar or "", 1)
    return np.maximum(length / np.array(APART), 1.0)


def _divided(of_row: IntArray) -> IntArray:
    """Return counts as parts of one vote per row, rounded down, so that no row has more than one vote."""
    return np.asarray(VOTE * of_row // np.maximum(of_row.sum(axis=1, keepdims=True), 1))


def _parts(share: FloatArray) -> IntArray:
    """Return numbers as parts of a vote, rounded and clipped to 0 and 1; NaN counts as 0."""
    return np.rint(VOTE * np.clip(np.nan_to_num(share, nan=0.0), 0, 1)).astype(np.int64)


def _voted(rows: int, cells: int, row: IntArray, cell: IntArray, count: FloatArray) -> IntArray:
    """Return one vote per row, divided among cells in proportion to counts; in buckets these may be parts of one."""
    of_row = np.zeros((rows, cells))
    np.add.at(of_row, (row, cell), count)
    return _divided(np.rint(of_row * 1000).astype(np.int64))


def _place(total: FloatArray, bounds: Bounds) -> FloatArray:
    """Return where totals lie: 0 at low and 1 at high. NaN counts as low."""
    low, high = bounds
    return np.nan_to_num((total - low) / (high - low), nan=0.0)


def _totals(profile: Profile) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the totals of periods with readings: row, total, and how many there are.

    A bucketed profile has the sizes of totals only. A row's negative ones are then assumed to have the same sizes as
    its positive ones.
    """
    if not profile.buckets:
        row, period = np.nonzero(profile.cells[..., 0] > 0)
        return row, profile.cells[row, period, 1], np.ones(len(row))
    held = released(profile, TOTAL)
    sizes, zeros = held.histogram, np.asarray(held.rows["zeros"], float)
    n = np.bincount(sizes.row, sizes.count, len(profile))
    negative = (np.asarray(held.rows["negatives"], float) / np.maximum(n, 1))[sizes.row]
    size = centre(sizes.bin)
    row = np.concatenate([sizes.row, sizes.row, np.arange(len(zeros))])
    total = np.concatenate([size, -size, np.zeros(len(zeros))])
    return row, total, np.concatenate([sizes.count * (1 - negative), sizes.count * negative, zeros])
