"""Select the usable readings of a panel, by expressions for DuckDB and Spark."""

from typing import Any

import narwhals as nw
import numpy as np

from halfmask.profiles.bins import SMALLEST
from halfmask.profiles.tally import Plan

Frame = nw.LazyFrame[Any]
LARGEST = float(np.finfo(np.float64).max)


def usable(plan: Plan) -> nw.Expr:
    """Return an expression that is true if the value is finite and within the plan's bounds.

    Both engines order NaN above every number, so the comparison with the largest double excludes NaN too.
    """
    finite = nw.col("value").abs() <= LARGEST
    return finite & (nw.col("value") >= max(plan.low, -LARGEST)) & (nw.col("value") <= min(plan.high, LARGEST))


def plain(value: nw.Expr) -> nw.Expr:
    """Return an expression that replaces values smaller than `SMALLEST` by 0."""
    return nw.when(value.abs() < SMALLEST).then(nw.lit(0.0)).otherwise(value)


def placed(frame: Frame, plan: Plan) -> Frame:
    """Keep the rows that have a user and a time, and add the number of their chunk of time."""
    frame = frame.filter(~nw.col("user").is_null() & ~nw.col("time").is_null())
    return frame.with_columns(chunk=((nw.col("time") - plan.origin) // plan.chunk).cast(nw.Int64))
