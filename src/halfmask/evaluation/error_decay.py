"""The decay of the global error with the number of users, which tests the theorem's condition."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfmask.arrays import IntArray
from halfmask.errors import OptionError
from halfmask.evaluation.aggregates import ANALYTIC
from halfmask.evaluation.metrics import GLOBAL_MEAN


class Decay(NamedTuple):
    """Slope of log error on log users, and its standard error (NaN if only two points define the line)."""

    exponent: float
    error: float


def decay_exponent(sizes: npt.ArrayLike, global_means: npt.ArrayLike) -> Decay:
    """Return the least-squares slope d of log E = c + d log N, over samples of N users with mean global error E.

    Independent noise of mean 0 cancels as N^(-1/2), so d is about -1/2 for sums, means and variances; if noise does not
    cancel, d is near 0. Errors of exactly 0 are left out. Samples have equal weight for any size, and the standard
    error assumes that they are independent.
    """
    users, errors = np.asarray(sizes, float), np.asarray(global_means, float)
    if users.shape != errors.shape:
        raise OptionError(f"{users.size} sizes and {errors.size} errors: give one error for each size", kind="lengths")
    held = (errors > 0) & np.isfinite(errors) & (users > 0)
    x, y = np.log(users[held]), np.log(errors[held])
    if len(np.unique(x)) < 2:
        raise OptionError(
            f"a decay needs errors above 0 at two sizes or more, not {len(np.unique(x))}: evaluate more sizes",
            kind="too-few-sizes",
        )
    x, y = x - x.mean(), y - y.mean()
    spread = float(x @ x)
    slope = float(x @ y) / spread
    residual = y - slope * x
    error = float(np.sqrt(residual @ residual / (len(x) - 2) / spread)) if len(x) > 2 else np.nan
    return Decay(slope, error)


def decay_of(metrics: npt.NDArray[np.floating[Any]], users: IntArray) -> Decay | None:
    """Return the exponent of a study, from the median of the mean errors of all settings with noise at each size.

    None if there are fewer than three sizes, or an error is 0 or not finite.
    """
    sizes = np.unique(users)
    noisy = metrics[..., GLOBAL_MEAN].max(axis=1) > 0
    if len(sizes) < 3 or not noisy.any():
        return None
    means = metrics[noisy][..., GLOBAL_MEAN].astype(float)
    by_size = np.array([np.median(means[:, users == size].mean(axis=1)) for size in sizes])
    return decay_exponent(sizes, by_size) if ((by_size > 0) & np.isfinite(by_size)).all() else None


def verdict(aggregate: str, exponent: float) -> str:
    """Return a sentence on what the exponent means for an aggregate.

    Noise cancels only in sums, means and variances. The error of another aggregate may also fall, if its true value
    grows with the number of users, as the maximum of a heavy-tailed panel does.
    """
    measured = f"global error of {aggregate} goes with the number of users to the power {exponent:.2f}"
    if aggregate not in ANALYTIC:
        helps = "the true value grows or settles with more users" if exponent <= -0.15 else "more users do not help"
        return f"{measured}: noise does not cancel in it, and {helps}."
    if exponent <= -0.35:
        return f"{measured}: noise cancels (-0.50 in theory), so more users make it more accurate."
    if exponent <= -0.15:
        return f"{measured}: noise cancels only in part (-0.50 would be full), so more users help little."
    return f"{measured}: noise does not cancel, so more users do not make it more accurate."
