"""Global errors from a profile: one draw a period, however many readings it holds.

The error of a period's aggregate is |sqrt(sum_k a_k x_k,t) X_t - shift_t|: a_k come from the noise's moments, x_k,t
from the period's sums, and X_t is the standardised sum of the period's noise. With sigma^2 = E psi^2, mu4 = E psi^4 and
n, S_k, V, mean the number, power sums, variance and mean of the period's readings:

    aggregate   noise      a                                             x
    sum, mean   additive   sigma^2                                       n / S_1^2
    sum, mean   relative   sigma^2                                       S_2 / S_1^2
    variance    additive   4 sigma^2, mu4 - sigma^4                      1 / (n V), 1 / (n V^2)
    variance    relative   (4 sigma^2 + mu4 - sigma^4) / (1 + sigma^2)^2,
                           8 sigma^2 / (1 + sigma^2), 4 sigma^2          (S_4, -mean S_3, mean^2 S_2) / (n V)^2

X_t is exact where the mechanism knows its sums (Laplace, Gaussian), and normal otherwise where the period
holds `FEW_READINGS` or more; the noises of smaller periods are drawn one by one. The same X_t serve every setting.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.evaluation.analytic.denominators import ErrorKind
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.base import Mechanism
from halfmask.profiles.profile import Profile

FEW_READINGS = 64
MOST_NODES = 2048
BIN_WIDTH = 0.001
GUARD = 1e-9
_DENSE_BINS = 1 << 16


@dataclass(frozen=True)
class SubsetTotals:
    """One subset: what its periods' errors are made of, for one aggregate and kind of noise.

    ``x`` (terms, T), ``shift`` (T,) in units of the first term, ``n`` readings and ``effective`` number of equally
    large ones; ``excluded`` periods have a total of zero and no error.
    """

    subset: Subset
    x: FloatArray
    shift: FloatArray
    n: FloatArray
    effective: FloatArray
    excluded: int


def period_sums(profile: Profile, subsets: Sequence[Subset]) -> FloatArray:
    """Number of readings and sums of s^k of each period and subset: (subsets, periods, 5), one matrix product."""
    members = np.zeros((len(subsets), len(profile)))
    for index, subset in enumerate(subsets):
        members[index, subset.rows] = 1
    if not np.isfinite(profile.cells).all():  # 0 x infinity is no number: add up those alone that belong
        return np.stack([profile.cells[subset.rows].sum(axis=0) for subset in subsets])
    return np.stack([members @ profile.cells[..., k] for k in range(profile.cells.shape[2])], axis=-1)


def subset_totals(subset: Subset, sums: FloatArray, aggregate: str, noise: str, error: ErrorKind) -> SubsetTotals:
    """The periods of one subset that have an error, from its `period_sums`."""
    n, s1, s2, s3, s4 = np.moveaxis(sums, -1, 0)
    held = n > 0
    n, s1, s2, s3, s4 = n[held], s1[held], s2[held], s3[held], s4[held]
    mean = s1 / n
    true = {"sum": s1, "mean": mean, "variance": np.maximum(s2 / n - mean**2, 0)}[aggregate]
    if aggregate == "variance":
        true = np.where(true < 1e-12 * s2 / n, 0, true)  # what rounding leaves of equal readings
    divisor = np.abs(true) if error == "relative" else np.full(len(true), np.abs(true).mean() if len(true) else 0.0)
    kept = divisor > 0
    if not kept.any():
        raise OptionError(f"every period's {aggregate} is zero: no global error can be measured; try --error scaled")
    n, s1, s2, s3, s4, mean, divisor, true = (a[kept] for a in (n, s1, s2, s3, s4, mean, divisor, true))
    shift = np.zeros(len(n))
    if aggregate == "sum":
        x = np.stack([(n if noise == "additive" else s2) / divisor**2])
    elif aggregate == "mean":
        x = np.stack([(n if noise == "additive" else s2) / (n * divisor) ** 2])
    elif noise == "additive":
        x = np.stack([4 * true / (n * divisor**2), 1 / (n * divisor**2)])
        shift = 1 / (n * divisor)
    else:
        x = np.stack([s4, -mean * s3, mean**2 * s2]) / (n * divisor) ** 2
    effective = n if noise == "additive" else s2**2 / np.where(s4 > 0, s4, 1)
    return SubsetTotals(subset, x, shift, n, np.maximum(effective, 1), int((~kept).sum()))


def coefficients(moments: FloatArray, aggregate: str, noise: str) -> tuple[FloatArray, FloatArray]:
    """a (settings, terms) and the factor of the shift (settings,)."""
    variance, fourth = moments[:, 1], moments[:, 3]
    with np.errstate(over="ignore", invalid="ignore"):
        if aggregate != "variance":
            return variance[:, None], np.zeros(len(variance))
        spread = np.maximum(fourth - variance**2, 0)
        if noise == "additive":
            return np.stack([variance, spread], axis=1), variance
        a = [(4 * variance + spread) / (1 + variance) ** 2, 8 * variance / (1 + variance), 4 * variance]
        return np.stack(a, axis=1), np.zeros(len(variance))


def standard_sums(law: Mechanism, totals: SubsetTotals, aggregate: str, seed: int) -> FloatArray:
    """X_t: the sum of a period's noise, divided by its standard deviation."""
    rng = _rng(seed, totals.subset)
    if aggregate == "variance":
        return rng.standard_normal(len(totals.n))
    return law.standard_sums(totals.effective, rng)


def needs_single_draws(law: Mechanism, totals: SubsetTotals, aggregate: str) -> bool:
    """Whether some period is too small for the central limit theorem, and no exact sum is known."""
    if law.exact_sums or law.kind != "additive" or aggregate == "variance":
        return False
    return bool((totals.n < FEW_READINGS).any())


def sums_one_by_one(law: Mechanism, parameters: FloatArray, totals: SubsetTotals, seed: int) -> FloatArray:
    """X_t of one setting, with the noises of small periods drawn and added."""
    rng = _rng(seed, totals.subset)
    x = rng.standard_normal(len(totals.n))
    small = np.flatnonzero(totals.n < FEW_READINGS)
    counts = totals.n[small].astype(np.int64)
    sigma = np.sqrt(law.moments(parameters[None])[0, 1])
    if sigma > 0:
        exact = law.sample_sum(parameters, counts, rng)
        if exact is None:
            noise = law.sample(parameters, int(counts.sum()), rng)
            exact = np.add.reduceat(noise, np.concatenate([[0], np.cumsum(counts)[:-1]]))
        x[small] = exact / (sigma * np.sqrt(counts))
    return x


def summarise(totals: SubsetTotals, x: FloatArray, a: FloatArray, shift: FloatArray) -> FloatArray:
    """Mean, standard deviation and entropy of the global errors: (settings, 3).

    With one term the errors are proportional to sqrt(a), so mean and deviation are computed once; and of more than
    `MOST_NODES` different a, the entropy is that of the nearest of as many nodes (within 0.25 % for 13 octaves).
    """
    if a.shape[1] > 1:
        return np.asarray(_summaries(totals.x, x, totals.shift, a, shift))
    scale, place = np.unique(np.sqrt(a[:, 0]), return_inverse=True)
    nodes, node = scale, np.arange(len(scale))
    positive = scale[(scale > 0) & np.isfinite(scale)]
    if len(scale) > MOST_NODES and len(positive):
        nodes = np.concatenate([[0.0], np.geomspace(positive[0], positive[-1], MOST_NODES)])
        step = np.log(positive[-1] / positive[0]) / (MOST_NODES - 1)
        with np.errstate(divide="ignore"):
            log = np.log(scale / positive[0]) / step
        node = np.where(scale > 0, 1 + np.clip(np.round(log), 0, MOST_NODES - 1), 0).astype(np.int64)
    of_nodes = _summaries(totals.x, np.abs(x), totals.shift, (nodes**2)[:, None], np.zeros(len(nodes)))
    unit = _summaries(totals.x, np.abs(x), totals.shift, np.ones((1, 1)), np.zeros(1))[0]
    with np.errstate(over="ignore", invalid="ignore"):
        result = np.stack([scale * unit[0], scale * unit[1], of_nodes[node, 2]], axis=1)
    return np.asarray(np.nan_to_num(result, nan=0.0, posinf=np.inf)[place])


@numba.njit(nogil=True, cache=True)
def _summaries(x, sums, shift, a, shift_factor):  # type: ignore[no-untyped-def]
    """Mean, standard deviation and entropy (bins of 0.001) of sqrt(a . x_t) |X_t| - shift, for each row of a."""
    terms, periods = x.shape
    out = np.zeros((a.shape[0], 3))
    counts = np.zeros(_DENSE_BINS, np.int32)
    touched = np.empty(periods, np.int64)
    beyond = np.empty(periods)
    logs = np.zeros(periods + 1)
    for held in range(1, periods + 1):
        logs[held] = held * np.log2(held)
    for s in range(a.shape[0]):
        total, squares, bins, far = 0.0, 0.0, 0, 0
        for t in range(periods):
            variance = 0.0
            for k in range(terms):
                variance += a[s, k] * x[k, t]
            error = abs(np.sqrt(max(variance, 0.0)) * sums[t] - shift_factor[s] * shift[t])
            total += error
            squares += error * error
            place = np.floor(error / BIN_WIDTH + GUARD)
            if place < _DENSE_BINS:
                first = np.int64(place)
                if counts[first] == 0:
                    touched[bins] = first
                    bins += 1
                counts[first] += 1
            else:
                beyond[far] = place
                far += 1
        mean = total / periods
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
        out[s, 0] = mean
        out[s, 1] = np.sqrt(max(squares / periods - mean * mean, 0.0))
        out[s, 2] = max(np.log2(periods) - crowd / periods, 0.0)
    return out


def _rng(seed: int, subset: Subset) -> np.random.Generator:
    stream = np.random.SeedSequence(seed, spawn_key=(2, subset.size, subset.repeat))
    return np.random.Generator(np.random.PCG64DXSM(stream))
