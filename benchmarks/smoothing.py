"""How much closer published totals come to the truth by the other periods, and how often their intervals hold it.

Homes of a synthetic panel share every half-hour of a year's days under one setting; the raw sum of a day and the
smoothed one are compared with the true sum. ``HALFMASK_BENCH_USERS`` and ``HALFMASK_BENCH_DAYS`` make it smaller.
"""

import os

import numpy as np

from benchmarks.profile import panel

USERS, DAYS = 300, 360
SCALES = (0.5, 2, 5, 20)


def run() -> None:
    """Print a row for each scale of Laplace noise."""
    import polars as pl

    from halfmask.service.estimates import NORMAL
    from halfmask.service.smoothing import Known, best_sums, blocks

    users, days = (
        int(os.environ.get(f"HALFMASK_BENCH_{name}", size)) for name, size in (("USERS", USERS), ("DAYS", DAYS))
    )
    day = pl.col("time").dt.date().alias("day")
    rows = pl.read_parquet(panel(users, days)).drop_nulls()
    daily = rows.group_by(day).agg(pl.len().alias("n"), pl.col("value").sum().alias("s")).sort("day")
    number, count, truth = (daily[name].to_numpy() for name in ("day", "n", "s"))
    number, rng = number.astype("datetime64[D]").astype(int), np.random.default_rng(1)
    print(f"smoothing, {users:,} homes x {days} days: mean error of a day's total, and intervals that hold it")
    print(f"{'setting':14}{'raw sum':>10}{'smoothed':>10}{'hold':>8}{'width, of the raw one':>24}")
    for scale in SCALES:
        error = scale * np.sqrt(2 * count)
        seen = truth + np.array([rng.laplace(0, scale, n).sum() for n in count])
        columns = (number, seen, error, seen - NORMAL * error, seen + NORMAL * error, count)
        points = [Known(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
        found = best_sums({each.number: each for each in points}, 7, blocks(number.tolist()))
        near, low, high = (np.array([found[t][name] for t in number]) for name in ("estimate", "low", "high"))
        raw, better = (np.mean(np.abs(each - truth) / truth) for each in (seen, near))
        hold, width = np.mean((low <= truth) & (truth <= high)), np.mean((high - low) / (2 * NORMAL * error))
        print(f"{f'laplace:{scale}':14}{raw:>10.1%}{better:>10.1%}{hold:>8.1%}{width:>24.0%}")
