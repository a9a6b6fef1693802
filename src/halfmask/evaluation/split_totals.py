"""Errors of a split total: nobody sees a producer's value, and each of two services adds one draw of noise to the sum.

    global error   |sum of `SERVICES` draws| / |total|, however many producers there are
    local error    that of the best guess without a report: each producer's total is taken to be the published total of
                   the period, divided by the number of producers

The second is not an error of a masked value. A score that is made of it only shows where the split setting lies among
the others.
"""

import numpy as np

from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.evaluation.aggregates import own_value
from halfmask.evaluation.metrics import ErrorFunction, summary
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.bins import edge
from halfmask.profiles.profile import Profile
from halfmask.streams import stream
from halfmask_device.setting import SPLIT

SERVICES = 2
"""Services that add up a split total; each adds one draw of noise."""
MOST_DRAWN = 2**17
"""Totals that are drawn from the histogram of hashed users, whose totals are not known one by one."""


def check_split(aggregate: str) -> None:
    """Raise an OptionError if the aggregate does not follow from a noisy sum."""
    if aggregate not in ("sum", "mean"):
        raise OptionError(
            f"a split total gives no {aggregate}: only the sum of everybody is seen; take sum or mean", kind="aggregate"
        )


def split_noise(setting: PrivacySetting, periods: int, rng: np.random.Generator) -> FloatArray:
    """Return the noise that the services add to each period's sum."""
    return np.asarray(setting.sample(SERVICES * periods, rng).reshape(SERVICES, periods).sum(axis=0))


def error_scale(sums: FloatArray, aggregate: str, error: str) -> tuple[BoolArray, FloatArray]:
    """Return which periods have a global error, and what the noise of their sum is divided by.

    ``sums``  (T, 3 or more) number of readings and power sums
    """
    n, s1, s2 = (sums[:, k] for k in range(3))
    held, count = n > 0, np.maximum(n, 1)
    size = np.abs(own_value(aggregate, np.stack([count, s1, s2], axis=1)))
    divisor = np.full(len(n), size[held].mean()) if error == "scaled" else size
    kept = held & (divisor > 0)
    if not kept.any():
        raise OptionError(f"every period's {aggregate} is zero: there is no global error; evaluate with `error=scaled`")
    return kept, divisor[kept] * (1 if aggregate == "sum" else count[kept])


def blind_errors(
    profile: Profile, rows: IntArray, everyone: IntArray, error: str, rng: np.random.Generator
) -> FloatArray:
    """Return local errors of the guess that the totals of these rows are the mean of everyone's in the same period.

    ``profile``  of the users' totals. Of hashed users, `MOST_DRAWN` totals are drawn from the histogram, the mean is
                 that of all periods, and the divisor of a scaled error is the bucket's
    """
    guess = _means(profile, everyone)
    divisor = profile.rows["sum_abs"] / np.maximum(profile.rows["readings"], 1)
    if profile.buckets:
        row, values = _drawn(profile, rows, rng)
        off = np.abs(values - guess.mean())
    else:
        held, of_rows = profile.cells[rows, :, 0] > 0, profile.cells[rows, :, 1]
        row, values = rows[np.nonzero(held)[0]], of_rows[held]
        off = np.abs(of_rows - guess)[held]
    size = divisor[row] if error == "scaled" else np.abs(values)
    return np.asarray(off[size > 0] / size[size > 0])


def _means(profile: Profile, rows: IntArray) -> FloatArray:
    """Return the mean total of each period, which is published; 0 in a period without any."""
    n, total = (profile.cells[rows, :, k].sum(axis=0) for k in range(2))
    return np.asarray(total / np.maximum(n, 1))


def _drawn(profile: Profile, rows: IntArray, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Return totals drawn from the histograms of these rows, with their rows; zeros are drawn too."""
    counts, zeros = profile.histogram.of(rows), profile.rows["zeros"][rows]
    weight = np.concatenate([counts.count, zeros]).astype(float)
    drawn = rng.choice(len(weight), min(int(weight.sum()), MOST_DRAWN), p=weight / weight.sum())
    bins = np.append(counts.bin, np.zeros(len(zeros), np.int64))[drawn]
    size = edge(bins + rng.random(len(drawn)))
    place = np.minimum(np.searchsorted(profile.bin_index, bins), len(profile.bin_index) - 1)
    below = (profile.bin_negatives / np.maximum(profile.bin_counts, 1))[place]
    values = np.where(rng.random(len(drawn)) < below, -size, size)
    at = np.concatenate([counts.row, np.arange(len(zeros))])[drawn]
    return rows[at], np.where(drawn < len(counts.count), values, 0.0)


def split_metrics(
    setting: PrivacySetting, profile: Profile, subsets: list[Subset], *, aggregate: str, error: ErrorFunction, seed: int
) -> FloatArray:
    """Return the six metrics of a split setting on each subset (S, 6); ``profile`` is that of the users' totals."""
    if setting.release != SPLIT:
        raise ValueError(f"{setting} is not split")
    check_split(aggregate)
    found = []
    for number, subset in enumerate(subsets):
        rng = stream(seed, "evaluation.split", number)
        kept, scale = error_scale(profile.cells[subset.rows].sum(axis=0), aggregate, error)
        local = blind_errors(profile, subset.rows, subset.rows, error, rng)
        noise = np.abs(split_noise(setting, int(kept.sum()), rng)) / scale
        found.append((*summary(local), *summary(noise)))
    return np.array(found)
