"""Mean, standard deviation and entropy of a sample's global errors, for many settings at once, in machine code."""

import numba
import numpy as np

from halfmask.arrays import FloatArray
from halfmask.evaluation.metrics import GUARD, WIDTH

_DENSE_BINS = 1 << 16
MANY_SCALES = 4096
TOGETHER = 32
SURE = 1 - 1e-12  # far more than products are rounded by


class ScaledErrors:
    """Errors scale x unit_t, where all settings share one law but for its scale."""

    def __init__(self, unit: FloatArray) -> None:
        self.ordered = np.sort(unit)
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean, self.deviation = float(self.ordered.mean()), float(self.ordered.std())

    def summaries(self, scale: FloatArray) -> FloatArray:
        """Mean, standard deviation and entropy under each scale: (scales, 3).

        Mean and deviation are proportional to the scale. The entropy is that of every scale by itself, so that a
        setting scores the same alone and in company.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            result = np.stack([scale * self.mean, scale * self.deviation, self._entropies(scale)], axis=1)
        return np.asarray(np.nan_to_num(result, nan=0.0, posinf=np.inf))

    def _entropies(self, scale: FloatArray) -> FloatArray:
        """With the errors in ascending order a histogram is a count of runs. Of very many scales, in ascending order,
        few errors change their bin from one to the next, and the counts are kept.
        """
        most = float(scale.max(initial=0.0)) * self.ordered[-1] / WIDTH
        if len(scale) < MANY_SCALES or not most < _DENSE_BINS:
            return np.asarray(_run_entropies(self.ordered, scale))
        order = np.argsort(scale)
        found = np.empty(len(scale))
        found[order] = _swept_entropies(self.ordered, scale[order])
        return found


def linear_summaries(terms: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Summaries (settings, 3) of the errors |sum_k coefficient_k term_k,t|."""
    return np.asarray(_linear(np.ascontiguousarray(terms), np.ascontiguousarray(coefficients)))


@numba.njit(nogil=True, cache=True)
def _logs(periods):  # type: ignore[no-untyped-def]
    """k log2 k as whole numbers of the smallest unit that a sum over all periods leaves room for, so that sums are the
    same in any order; and the unit.
    """
    unit = 2.0 ** np.ceil(np.log2(max(periods * np.log2(periods), 1.0)) - 62)
    logs = np.zeros(periods + 1, np.int64)
    for held in range(1, periods + 1):
        logs[held] = np.int64(np.rint(held * np.log2(held) / unit))
    return logs, unit


@numba.njit(nogil=True, cache=True, inline="always")
def _entropy(crowd, periods, unit):  # type: ignore[no-untyped-def]
    return max(np.log2(periods) - crowd * unit / periods, 0.0)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _run_entropies(ordered, scale):  # type: ignore[no-untyped-def]
    periods = ordered.size
    (logs, unit), out = _logs(periods), np.empty(scale.size)
    place = np.empty(periods)
    for s in range(scale.size):
        for t in range(periods):
            place[t] = np.floor(scale[s] * ordered[t] / WIDTH + GUARD)
        crowd, start = 0, 0
        for t in range(1, periods):
            if place[t] != place[t - 1]:
                crowd += logs[t - start]
                start = t
        crowd += logs[periods - start]
        out[s] = _entropy(crowd, periods, unit)
    return out


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _swept_entropies(ordered, scale):  # type: ignore[no-untyped-def]
    """The same for ascending scales.

    Below the scale ``until[t]`` error t is sure to stay in its bin, however the product is rounded; from there on its
    bin is computed. So most errors cost a comparison, and most of them one for `TOGETHER` scales.
    """
    periods = ordered.size
    (logs, unit), out = _logs(periods), np.empty(scale.size)
    counts = np.zeros(_DENSE_BINS + 1, np.int64)
    place, moving = np.empty(periods, np.int64), np.empty(periods, np.int64)
    until, crowd = np.empty(periods), 0
    for t in range(periods):
        place[t] = np.int64(np.floor(scale[0] * ordered[t] / WIDTH + GUARD))
        until[t] = (place[t] + 1 - GUARD) * WIDTH / ordered[t] * SURE
        crowd += logs[counts[place[t]] + 1] - logs[counts[place[t]]]
        counts[place[t]] += 1
    for first in range(0, scale.size, TOGETHER):
        last = min(first + TOGETHER, scale.size)
        movers = 0
        for t in range(periods):
            moving[movers] = t
            movers += until[t] <= scale[last - 1]
        for s in range(first, last):
            for m in range(movers):
                t = moving[m]
                if until[t] > scale[s]:
                    continue
                now, old = np.int64(np.floor(scale[s] * ordered[t] / WIDTH + GUARD)), place[t]
                if now != old:
                    crowd += logs[counts[old] - 1] - logs[counts[old]] + logs[counts[now] + 1] - logs[counts[now]]
                    counts[old] -= 1
                    counts[now] += 1
                    place[t] = now
                    until[t] = (now + 1 - GUARD) * WIDTH / ordered[t] * SURE
            out[s] = _entropy(crowd, periods, unit)
    return out


@numba.njit(nogil=True, cache=True)
def _linear(x, a):  # type: ignore[no-untyped-def]
    terms, periods = x.shape
    out = np.zeros((a.shape[0], 3))
    counts = np.zeros(_DENSE_BINS, np.int32)
    touched, beyond, errors = np.empty(periods, np.int64), np.empty(periods), np.empty(periods)
    logs, unit = _logs(periods)
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
        crowd = 0
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
        out[s, 2] = _entropy(crowd, periods, unit)
    return out
