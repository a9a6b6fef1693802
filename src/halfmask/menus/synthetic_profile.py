"""A synthetic profile, made from the public summary alone: what is computed from it costs no more epsilon.

Its readings have the summary's shares by octave and of zeros, producers differ as the summary says, and readings are
scaled so that the mean total is the summary's:

    |s| = Q(Phi(sqrt(b) z_producer + sqrt(w) z_reading)),  w = strength/(1 + strength),  b = 1 - w

with Q the quantiles of the octaves and z standard normal. It knows no rhythm of days and no order of readings, so
nothing that rests on them follows from it: neither attacks nor how periods differ.
"""

import math

import numpy as np
import pyarrow as pa

from halfmask.arrays import FloatArray
from halfmask.data.open_panel import open_panel
from halfmask.menus.producer_votes import CALENDAR_DAYS
from halfmask.menus.public_summary import PublicSummary
from halfmask.profiles.bins import BINS_PER_OCTAVE
from halfmask.profiles.build import build_profile
from halfmask.profiles.periods import Period
from halfmask.profiles.profile import Profile
from halfmask.streams import stream

MOST_PRODUCERS, FEWEST_PRODUCERS = 1000, 20
MOST_READINGS = 10**6
MOST_PERIODS, FEWEST_PERIODS = 28, 7
SEED = 1
BEGINS = 978_307_200_000_000
"""2001-01-01, a Monday, in microseconds."""
USUAL_DEVIATION, USUAL_STRENGTH = 1.5, 1.0
"""Standard deviation of log2 |s|, and strength, if the octaves drown in the noise."""
ASSUMED = 0.25
"""Mean total as a part of the bound, if the summary cannot distinguish it from 0; no error is then published."""
MOST_FILLED = 0.9
"""Largest mean total as a part of high: at high itself, every total would be beyond it."""
MOST_ZEROS = 0.95


def synthetic_profile(summary: PublicSummary, producers: int, period: Period, unit: str | None) -> Profile:
    """Return a profile that follows from the summary. It has at most `MOST_PRODUCERS` producers.

    Equal summaries give equal profiles. If the octaves drown in the noise, sizes of readings are assumed to vary as
    `USUAL_DEVIATION` and `USUAL_STRENGTH` say. Readings are at least 0.
    """
    count = max(round(summary.a_period), 1)
    users = max(min(producers, MOST_PRODUCERS, MOST_READINGS // (FEWEST_PERIODS * count)), FEWEST_PRODUCERS)
    periods = max(min(MOST_READINGS // (users * count), MOST_PERIODS), FEWEST_PERIODS)
    values = _scaled(_readings(summary, users, periods, count), summary)
    length = period.base * CALENDAR_DAYS.get(period.calendar or "", 1)
    first = BEGINS + (period.origin - BEGINS) % length if not period.calendar else BEGINS
    times = first + np.arange(periods * count) * (length // count)
    names = np.array([f"synthetic {user:04d}" for user in range(users)])
    table = pa.table(
        {
            "user": pa.array(np.repeat(names, len(times)).tolist(), pa.string()),
            "time": pa.array(np.tile(times, users), pa.timestamp("us")),
            "value": values.ravel(),
        }
    )
    return build_profile(open_panel(table, unit=unit), period=period.text, buckets=0)


def _readings(summary: PublicSummary, users: int, periods: int, count: int) -> FloatArray:
    """Return readings of users (first axis), in order of time, before they are scaled."""
    from scipy.special import ndtr, ndtri  # here, because SciPy takes long to import

    rng = stream(SEED, "menus.synthetic")
    within = summary.strength / (1 + summary.strength) if summary.share else USUAL_STRENGTH / (1 + USUAL_STRENGTH)
    producer = rng.permutation(ndtri((np.arange(users) + 0.5) / users))
    z = math.sqrt(1 - within) * producer[:, None] + math.sqrt(within) * rng.standard_normal((users, periods * count))
    if summary.share:
        bins, share = summary.bins()
        edges = np.concatenate([bins, bins[-1:] + 1]) / BINS_PER_OCTAVE
        logs = np.interp(ndtr(z), np.concatenate([[0.0], np.cumsum(share) / share.sum()]), edges)
    else:
        logs = USUAL_DEVIATION * z
    zeros = min(summary.zeros, MOST_ZEROS) if summary.share else 0.0
    return np.where(rng.random(z.shape) < zeros, 0.0, np.exp2(logs))


def _scaled(values: FloatArray, summary: PublicSummary) -> FloatArray:
    """Return readings multiplied so that the mean total is the summary's, or `ASSUMED` if the noise covers it.

    The summary's is of clipped totals, so errors that are computed of the synthetic profile are relative to a total of
    clipped totals, as published ones are (`published_error`).
    """
    if summary.totals is None:
        return values
    low, high = summary.totals.low, summary.totals.high
    size = summary.totals.size().value if summary.totals.known else ASSUMED * (high if high >= -low else low)
    if size < 0:  # sizes of readings alone are known, so the same is done on the other side of 0
        high, size = -low, -size
    totals = values.reshape(len(values), -1, max(round(summary.a_period), 1)).sum(axis=2)
    return values * min(size, MOST_FILLED * high) / (float(totals.mean()) or 1.0)
