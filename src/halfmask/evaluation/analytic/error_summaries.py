"""Mean, standard deviation and entropy of a sample's global errors, for many settings at once, in compiled code."""

import numba
import numpy as np

from halfmask.arrays import FloatArray
from halfmask.evaluation.metrics import GUARD, WIDTH

_DENSE_BINS = 1 << 16
_THINNED = 64
MANY_SCALES = 4096
TOGETHER = 32
SURE = 1 - 1e-12  # far more than products are rounded by


class ScaledErrors:
    """Errors scale x unit_t, for settings that differ only in the scale of the noise."""

    def __init__(self, unit: FloatArray) -> None:
        self.ordered = np.sort(unit)
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean, self.deviation = float(self.ordered.mean()), float(self.ordered.std())

    def summaries(self, scale: FloatArray) -> FloatArray:
        """Return mean, standard deviation and entropy for each scale, (scales, 3).

        Mean and deviation are proportional to the scale. The entropy is computed for each scale separately, so that a
        setting's score does not depend on the other settings.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            result = np.stack([scale * self.mean, scale * self.deviation, self._entropies(scale)], axis=1)
        return np.asarray(np.nan_to_num(result, nan=0.0, posinf=np.inf))

    def _entropies(self, scale: FloatArray) -> FloatArray:
        """Return the entropy for each scale.

        With errors in ascending order, a histogram counts runs. For very many scales in ascending order, few errors
        change their bin from one scale to the next, so the counts are updated instead.
        """
        most = float(scale.max(initial=0.0)) * self.ordered[-1] / WIDTH
        if len(scale) < MANY_SCALES or not most < _DENSE_BINS:
            return np.asarray(_run_entropies(self.ordered, scale))
        order = np.argsort(scale)
        found = np.empty(len(scale))
        found[order] = _swept_entropies(self.ordered, scale[order])
        return found


@numba.njit(nogil=True, cache=True)
def _logs(periods):  # type: ignore[no-untyped-def]
    """Return k log2 k for k = 0..periods as whole multiples of a unit, and the unit.

    Sums of whole numbers do not depend on their order. The unit is the smallest for which a sum over all periods does
    not overflow.
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
    """Return the entropies for ascending scales.

    Below the scale ``until[t]``, error t certainly stays in its bin, whatever the rounding. From there on its bin is
    computed. Most errors therefore cost one comparison, and most of them only one per `TOGETHER` scales.
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
def _crowd(errors, counts, logs, thinned, lost):  # type: ignore[no-untyped-def]
    """Return the sum of ``logs`` over the bins of the errors, by the number of errors in each bin.

    ``lost`` receives the sums of ``thinned``. ``counts`` is all 0, before and after.
    """
    touched, beyond = np.empty(errors.size, np.int64), np.empty(errors.size)
    bins, far, crowd = 0, 0, 0
    for t in range(errors.size):
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
    lost[:] = 0.0
    for b in range(bins):
        held = counts[touched[b]]
        crowd += logs[held]
        lost += thinned[:, min(held, thinned.shape[1] - 1)]
        counts[touched[b]] = 0
    ordered, held = np.sort(beyond[:far]), 0
    for k in range(far):
        held += 1
        if k + 1 == far or ordered[k + 1] != ordered[k]:
            crowd += logs[held]
            lost += thinned[:, min(held, thinned.shape[1] - 1)]
            held = 0
    return crowd


@numba.njit(nogil=True, cache=True)
def _summary(errors, counts, logs, unit, out):  # type: ignore[no-untyped-def]
    """Write mean, standard deviation and entropy of the errors to ``out``. ``counts`` is all 0, before and after."""
    crowd = _crowd(errors, counts, logs, np.zeros((0, 1)), np.zeros(0))
    out[0], out[1], out[2] = errors.mean(), errors.std(), _entropy(crowd, errors.size, unit)


@numba.njit(nogil=True, cache=True)
def _thinned(most):  # type: ignore[no-untyped-def]
    """Return E K log2 K / p - c log2(p c) with K ~ Binomial(c, p), for p = 1/2, 1/4, 1/8 and c = 0, 1, ....

    It is nearly constant for large c. If each of m errors is kept with probability p, the entropy falls by the sum of
    this over c, divided by m.
    """
    out = np.zeros((3, most))
    for row in range(3):
        p = 0.5 ** (row + 1)
        for c in range(1, most):
            weight, mean = (1 - p) ** c, 0.0
            for k in range(1, c + 1):
                weight *= (c - k + 1) / k * p / (1 - p)
                mean += weight * k * np.log2(k)
            out[row, c] = mean / p - c * np.log2(p * c)
    return out


@numba.njit(nogil=True, cache=True)
def _extended(errors, counts, logs, unit, thinned, n):  # type: ignore[no-untyped-def]
    """Return the estimated entropy of n errors, from a histogram of fewer.

    From an eighth to a quarter, a half and all of the errors, entropy grows by d3, d2 and d1. Growth slows down: d1 /
    d2 is smaller than d2 / d3, and in the end at least 1/2. Each further doubling continues this pattern.
    """
    lost = np.empty(3)
    entropy = _entropy(_crowd(errors, counts, logs, thinned, lost), errors.size, unit)
    doublings = np.log2(n / errors.size)
    lost /= errors.size
    growth, before, first = lost[0], lost[1] - lost[0], lost[2] - lost[1]
    if doublings <= 0 or min(growth, before, first) <= 0:
        return entropy
    ratio = min(growth / before, 1.0)
    slowing = min(ratio / min(before / first, 1.0), 1.0)
    while doublings > 0:
        ratio = max(ratio * slowing, 0.5)
        growth *= ratio
        entropy += growth * min(doublings, 1.0)
        doublings -= 1
    return min(entropy, np.log2(n))


@numba.njit(nogil=True, cache=True)
def row_summaries(errors):  # type: ignore[no-untyped-def]
    """Return mean, standard deviation and entropy (rows, 3) of each row of errors."""
    out, counts = np.empty((len(errors), 3)), np.zeros(_DENSE_BINS, np.int32)
    logs, unit = _logs(errors.shape[1])
    for r in range(len(errors)):
        _summary(errors[r], counts, logs, unit, out[r])
    return out


@numba.njit(nogil=True, cache=True)
def linear_summaries(terms, coefficients):  # type: ignore[no-untyped-def]
    """Return mean, standard deviation and entropy (settings, 3) of the errors |sum_k coefficient_k term_k,t|."""
    out, counts = np.empty((len(coefficients), 3)), np.zeros(_DENSE_BINS, np.int32)
    logs, unit = _logs(terms.shape[1])
    for s in range(len(coefficients)):
        signed = np.zeros(terms.shape[1])
        for k in range(len(terms)):
            signed += coefficients[s, k] * terms[k]
        _summary(np.abs(signed), counts, logs, unit, out[s])
    return out


@numba.njit(nogil=True, cache=True)
def product_entropies(noise, start, inverse, n):  # type: ignore[no-untyped-def]
    """Return, for each row s, the estimated entropy of n errors, a sample of which is noise[s, start + t] inverse[t].

    After the last noise, the first is used again.
    """
    out, counts, thinned = np.empty(len(noise)), np.zeros(_DENSE_BINS, np.int32), _thinned(_THINNED)
    errors, (logs, unit) = np.empty(inverse.size), _logs(inverse.size)
    for s in range(len(noise)):
        at = start
        for t in range(inverse.size):
            errors[t] = noise[s, at] * inverse[t]
            at += 1
            if at == noise.shape[1]:
                at = 0
        out[s] = _extended(errors, counts, logs, unit, thinned, n)
    return out


@numba.njit(nogil=True, cache=True)
def mixed_entropies(errors, ends, choice, n):  # type: ignore[no-untyped-def]
    """Return, for each row r, the estimated entropy of n[r] errors, a sample of which is a mix of ``errors``.

    ``errors`` are (settings, errors). The mix contains, for each group u, the errors of setting ``choice[r, u]`` in the
    columns of the group, which end before ``ends[u]``.
    """
    out, counts, thinned = np.empty(len(choice)), np.zeros(_DENSE_BINS, np.int32), _thinned(_THINNED)
    mixed, (logs, unit) = np.empty(errors.shape[1]), _logs(errors.shape[1])
    for r in range(len(choice)):
        start = 0
        for u in range(ends.size):
            mixed[start : ends[u]] = errors[choice[r, u], start : ends[u]]
            start = ends[u]
        out[r] = _extended(mixed, counts, logs, unit, thinned, n[r])
    return out
