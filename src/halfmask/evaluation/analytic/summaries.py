"""Mean, standard deviation and entropy of a sample's global errors, for many settings at once, in machine code."""

import numba
import numpy as np

from halfmask.arrays import FloatArray
from halfmask.evaluation.metrics import GUARD, WIDTH

_DENSE_BINS = 1 << 16


def scaled_summaries(unit: FloatArray, scale: FloatArray) -> FloatArray:
    """Summaries (scales, 3) of the errors scale x unit_t, where all settings share one law but for its scale.

    Mean and deviation are proportional to the scale. The entropy is computed for every scale by itself, so that a
    setting scores the same alone and in company: with the errors in ascending order a histogram is a count of runs.
    """
    ordered = np.sort(unit)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(ordered.mean()), float(ordered.std())
        result = np.stack([scale * mean, scale * deviation, _run_entropies(ordered, scale)], axis=1)
    return np.asarray(np.nan_to_num(result, nan=0.0, posinf=np.inf))


def linear_summaries(terms: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Summaries (settings, 3) of the errors |sum_k coefficient_k term_k,t|."""
    return np.asarray(_linear(np.ascontiguousarray(terms), np.ascontiguousarray(coefficients)))


@numba.njit(nogil=True, cache=True)
def _logs(periods):  # type: ignore[no-untyped-def]
    logs = np.zeros(periods + 1)
    for held in range(1, periods + 1):
        logs[held] = held * np.log2(held)
    return logs


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _run_entropies(ordered, scale):  # type: ignore[no-untyped-def]
    periods = ordered.size
    logs, out = _logs(periods), np.empty(scale.size)
    place = np.empty(periods)
    for s in range(scale.size):
        for t in range(periods):
            place[t] = np.floor(scale[s] * ordered[t] / WIDTH + GUARD)
        crowd, start = 0.0, 0
        for t in range(1, periods):
            if place[t] != place[t - 1]:
                crowd += logs[t - start]
                start = t
        crowd += logs[periods - start]
        out[s] = max(np.log2(periods) - crowd / periods, 0.0)
    return out


@numba.njit(nogil=True, cache=True)
def _linear(x, a):  # type: ignore[no-untyped-def]
    terms, periods = x.shape
    out = np.zeros((a.shape[0], 3))
    counts = np.zeros(_DENSE_BINS, np.int32)
    touched, beyond, errors = np.empty(periods, np.int64), np.empty(periods), np.empty(periods)
    logs = _logs(periods)
    for s in range(a.shape[0]):
        bins, far = 0, 0
        for t in range(periods):
            signed = 0.0
            for k in range(terms):
                signed += a[s, k] * x[k, t]
            errors[t] = abs(signed)
            place = np.floor(errors[t] / WIDTH + GUARD)
            if place < _DENSE_BINS:
                first = np.int64(place)
                if counts[first] == 0:
                    touched[bins] = first
                    bins += 1
                counts[first] += 1
            else:
                beyond[far] = place
                far += 1
        crowd = 0.0
        for b in range(bins):
            crowd += logs[counts[touched[b]]]
            counts[touched[b]] = 0
        if far:
            ordered = np.sort(beyond[:far])
            run = 1
            for k in range(1, far + 1):
                if k < far and ordered[k] == ordered[k - 1]:
                    run += 1
                else:
                    crowd += logs[run]
                    run = 1
        out[s, 0] = errors.mean()
        out[s, 1] = errors.std()
        out[s, 2] = max(np.log2(periods) - crowd / periods, 0.0)
    return out
