"""Totals: the sum of each user's readings in a period, treated like readings.

A setting that ends in ``@total`` masks one number per user and period: the sum of the readings. Evaluation, audit and
guarantee of such a setting refer to these totals. A user without a usable reading in a period has no total.

If readings have both signs, a sum that should be 0 may be a rounding error. So a total below `ROUNDING` times
sqrt(n sum s^2) counts as 0.
"""

from dataclasses import replace

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.profiles.bins import SMALLEST, bin_of
from halfmask.profiles.profile import ALWAYS, NEVER, ROW_COLUMNS, Counts, Profile
from halfmask.profiles.rounding import STEPS, steps_of
from halfmask_device.setting import READING

ROUNDING = 1e-9


def released(profile: Profile, release: str) -> Profile:
    """Return the profile of the numbers that a setting masks: readings, or users' totals per period.

    Its fingerprint is that of the readings.
    """
    if release == READING or "totals_of" in profile.about:
        return profile
    totals = profile.of_totals
    return replace(totals, about={**totals.about, "totals_of": profile.fingerprint()})


def without_rounding(n: FloatArray, total: FloatArray, squares: FloatArray) -> FloatArray:
    """Replace totals that are only rounding errors by 0.

    ``n``        the number of readings in each total
    ``squares``  the sum of their squares
    """
    with np.errstate(over="ignore", invalid="ignore"):
        least = np.maximum(ROUNDING * np.sqrt(n * squares), SMALLEST)
    return np.where(np.abs(total) < least, 0.0, total)


@np.errstate(over="ignore", invalid="ignore")  # a sum beyond the largest double is infinite, and says so
def total_profile(profile: Profile) -> Profile:
    """Return the profile of users' totals. The users must not be hashed into buckets."""
    if profile.buckets:
        raise OptionError(
            "this profile of hashed users does not hold the users' totals: make it again with 'halfmask profile'",
            kind="totals",
        )
    held = profile.cells[..., 0] > 0
    totals = without_rounding(*np.moveaxis(profile.cells[..., :3], -1, 0))
    cells = np.stack([held, totals, totals**2, totals**3, totals**4], axis=-1).astype(float)
    row, period = np.nonzero(totals)
    signed = totals[row, period]
    sizes = np.abs(signed)
    bins, steps = bin_of(sizes), steps_of(sizes, profile.grain or 1.0)
    rounded = (steps < STEPS) & bool(profile.grain)
    index, place = np.unique(bins, return_inverse=True)
    number, none = held.sum(axis=1), np.zeros(len(profile), np.int64)
    rows = {
        **dict.fromkeys(ROW_COLUMNS, none),
        "rows": number,
        "readings": number,
        "zeros": (held & (totals == 0)).sum(axis=1),
        "negatives": (totals < 0).sum(axis=1),
        "sum_abs": np.abs(totals).sum(axis=1),
        **{f"inverse{k}": np.bincount(row, sizes ** -float(k), len(profile)) for k in (1, 2, 3, 4)},
        "first": np.where(held, profile.periods, NEVER).min(axis=1, initial=NEVER),
        "last": np.where(held, profile.periods, ALWAYS).max(axis=1, initial=ALWAYS),
    }
    return Profile(
        period=profile.period,
        step=None if profile.period.calendar else profile.period.base,
        buckets=0,
        labels=profile.labels,
        rows=rows,
        periods=profile.periods,
        cells=cells,
        histogram=Counts.gather(row, bins, np.ones(len(row), np.int64)),
        scales=Counts.gather([], [], []),
        rounded=Counts.gather(row[rounded], steps[rounded], np.ones(rounded.sum(), np.int64)),
        grain=profile.grain,
        bin_index=index,
        bin_counts=np.bincount(place, minlength=len(index)),
        bin_sizes=np.asarray(np.bincount(place, sizes, len(index)), float),
        bin_negatives=np.bincount(place[signed < 0], minlength=len(index)),
        about={name: value for name, value in profile.about.items() if name in ("sources", "unit", "quantity")},
    ).with_users_derived()
