"""The six metrics of a sample, as functions of arrays: mean, standard deviation and entropy of local and global errors.

There are two error functions. ``relative`` is the paper's: |(m - s)/s|, for s != 0. ``scaled`` divides by a typical
size instead, so that zeros are included: by the user's mean |s| for the local error, and by the mean |g(S_t)| over
periods for the global error.
"""

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError

ErrorFunction = Literal["relative", "scaled"]
ERROR_FUNCTIONS = ("relative", "scaled")
METRICS = ("local_mean", "local_std", "local_entropy", "global_mean", "global_std", "global_entropy")
LOCAL_MEAN, LOCAL_STD, LOCAL_ENTROPY, GLOBAL_MEAN, GLOBAL_STD, GLOBAL_ENTROPY = range(len(METRICS))
"""Columns of arrays of metrics, in the order of `METRICS`."""
LOCAL, GLOBAL = slice(LOCAL_MEAN, GLOBAL_MEAN), slice(GLOBAL_MEAN, len(METRICS))

WIDTH = 0.001
GUARD = 1e-9
"""Share of a bin by which its edges are moved down. An error of 0.029 thus belongs to the bin that begins there,
although 0.029/0.001 in floating point may be slightly below 29.
"""


class Summary(NamedTuple):
    """Mean, population standard deviation and entropy of errors."""

    mean: float
    std: float
    entropy: float


def check_error_function(name: str) -> None:
    """Raise an OptionError unless the name is one of the two error functions."""
    if name not in ERROR_FUNCTIONS:
        raise OptionError(
            f"error '{name}' is not an error function: use {' or '.join(ERROR_FUNCTIONS)}", kind="error-function"
        )


def local_error(masked: npt.ArrayLike, readings: npt.ArrayLike, scale: npt.ArrayLike | None = None) -> FloatArray:
    """Return |m - s| / |s| of the readings that are present and not zero; with ``scale``, |m - s| / scale if scale is
    not 0.

    ``scale`` is each reading's divisor, or one number for all. Readings without an error are left out of the result.
    """
    values = np.asarray(readings, float)
    divisor = np.abs(values) if scale is None else np.broadcast_to(np.asarray(scale, float), values.shape)
    return _ratio(np.asarray(masked, float), values, divisor)


def global_error(masked: npt.ArrayLike, true: npt.ArrayLike, scale: float | None = None) -> FloatArray:
    """Return |g(M_t) - g(S_t)| / |g(S_t)| of each period whose aggregate is not zero; with ``scale``, divided by it
    instead.

    A period without readings has a NaN aggregate, and no error. Periods without an error are left out of the result.
    """
    totals = np.asarray(true, float)
    divisor = np.abs(totals) if scale is None else np.full(totals.shape, float(scale))
    return _ratio(np.asarray(masked, float), totals, divisor)


def global_scale(true: npt.ArrayLike) -> float:
    """Return the divisor of global errors for ``scaled``: mean |g(S_t)| over the periods that have an aggregate."""
    totals = np.abs(np.asarray(true, float))
    return float(totals[np.isfinite(totals)].mean()) if np.isfinite(totals).any() else 0.0


def _ratio(masked: FloatArray, true: FloatArray, divisor: FloatArray) -> FloatArray:
    """Return the errors; infinite, never NaN, if a masked value is beyond the largest float."""
    held = np.isfinite(true) & np.isfinite(divisor) & (divisor > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        ratio: FloatArray = np.abs(masked[held] - true[held]) / divisor[held]
    ratio[np.isnan(ratio)] = np.inf
    return ratio


def bins_of(errors: npt.ArrayLike, width: float = WIDTH) -> FloatArray:
    """Return the number k of the bin [k width, (k+1) width) of each error, as a float, which is large
    enough for any error.
    """
    with np.errstate(over="ignore"):
        return np.floor(np.asarray(errors, float) / width + GUARD)


def entropy(errors: npt.ArrayLike, width: float = WIDTH) -> float:
    """Return the plug-in Shannon entropy in bits, -sum p_k log2 p_k, of the errors' histogram with bins [k width, (k+1)
    width).

    It is biased low if there are fewer errors than bins, as in the paper. An OptionError is raised if there is no
    error.
    """
    _, counts = np.unique(bins_of(errors, width), return_counts=True)
    return entropy_of_counts(counts)


def entropy_of_counts(counts: npt.ArrayLike) -> float:
    """Return log2 n - (1/n) sum_k n_k log2 n_k for the bins' counts n_k.

    Equal counts are added up first, so that the result does not depend on the order of bins, to the last bit.
    """
    filled = np.asarray(counts, np.int64)
    return entropy_of_spectrum(*np.unique(filled[filled > 0], return_counts=True))


def entropy_of_spectrum(count: IntArray, bins: IntArray) -> float:
    """Return `entropy_of_counts` from the number of ``bins`` with each ``count``; counts ascend."""
    total = int((count * bins).sum())
    if not total:
        raise OptionError(
            "no errors, so no entropy: the sample has no present, non-zero reading; try the scaled error", kind="empty"
        )
    held = count.astype(float)
    return max(0.0, float(np.log2(total) - (bins * held * np.log2(held)).sum() / total))


def summary(errors: npt.ArrayLike, width: float = WIDTH) -> Summary:
    """Return mean, population standard deviation (divisor n) and entropy of errors."""
    held = np.asarray(errors, float)
    if not held.size:
        raise OptionError("no errors to sum up: no reading or period has one; try the scaled error", kind="empty")
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = float(held.mean()), float(held.std())
    return Summary(mean, std if np.isfinite(std) else np.inf, entropy(held, width))
