"""The entropy of local errors at full resolution, where the grid of `log_grid` is not enough.

That grid takes the errors of a cell as evenly spread. It is wrong where the noise piles up at its bound (sine) and z
takes few values (readings of few decimals), and where z has hardly any values at all. Two remedies:

`exactly`      for a handful of values of z: the probability of every 0.001-wide bin, from the law itself
`corrections`  for many: what a grid 128 times as fine adds to the average subset's entropy. It is computed for
               `SAMPLED` settings; those between are interpolated along the noise's size and shape.

Lattice noise (geometric) falls on few fractions, which are counted (`lattice`).
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft

from halfmask.arrays import FloatArray
from halfmask.evaluation.analytic.decimals import values_in
from halfmask.evaluation.analytic.denominators import Denominators
from halfmask.evaluation.analytic.expected_entropy import EXCESS, SCORE, expected_entropies, expected_entropy, lookup
from halfmask.evaluation.analytic.lattice import countable, counted, few_fractions
from halfmask.evaluation.analytic.log_grid import BIN_WIDTH
from halfmask.mechanisms.base import Mechanism
from halfmask.profiles.bins import bin_of

HANDFUL = 8
PER_OCTAVE = 2048
MOST_BINS = 2**17
SAMPLED = 96
TRIED = 12
LEVELS = np.arange(1, 16) / 16
ALLOWED = 0.02  # bits that the correction of a setting may be off
MOST_LOOKED_AT = 2**16


def bins_of(z: Denominators, reach: float) -> int:
    """Bins of the histogram that errors of noise up to ``reach`` fall into, as far as each is looked at."""
    return int(min(np.ceil(reach / z.size[0] / BIN_WIDTH) + 1, MOST_BINS))


def exactly(
    z: Denominators, keep: FloatArray, law: Mechanism, parameters: FloatArray, reach: float
) -> tuple[FloatArray, FloatArray]:
    """Where z has few values: expected entropy (settings, subsets), and n times the variance of the entropy
    and its covariances with mean and mean square (settings, subsets, 3), as `local_kernel` has them.
    """
    bins = bins_of(z, reach)
    near = np.arange(bins + 1) * BIN_WIDTH
    edges = np.concatenate([near, near[-1] * np.exp2(np.arange(1, 64 * 64 + 1) / 64)])
    holds = np.concatenate([np.ones(bins), np.diff(edges[bins:]) / BIN_WIDTH])
    middle = (edges[1:] + edges[:-1]) / 2
    moments = law.moments(parameters)
    entropy, noise = np.empty((len(parameters), len(z.n))), np.empty((len(parameters), len(z.n), 3))
    for row, setting in enumerate(parameters):
        # an atom on an edge belongs to the bin it opens
        of_value = np.stack([np.diff(law.cdf(setting[None], edges * (size * (1 - 1e-10)))[0]) for size in z.size])
        of_value[:, 0] += float(law.cdf(setting[None], np.zeros(1))[0, 0])
        for subset, (share, kept, n) in enumerate(zip(z.share, keep, z.n, strict=True)):
            alone = share @ of_value
            p = kept * alone
            p[0] += 1 - kept
            entropy[row, subset] = expected_entropy(p, n, holds)
            lam = n * p / holds
            score = lookup(SCORE, lam)
            given = of_value @ score
            of_zeros = (1 - kept) * score[0] ** 2
            noise[row, subset] = (
                p @ (score**2 + lookup(EXCESS, lam)) - kept * (share @ given**2) - of_zeros,
                -kept * (alone @ (middle * score) - moments[row, 0] * share @ (given / z.size)),
                -kept * (alone @ (middle**2 * score) - moments[row, 1] * share @ (given / z.size**2)),
            )
    return entropy, noise


Correction = Callable[[FloatArray], FloatArray]
"""fine - coarse entropy (settings, nodes), as a function of the settings' parameters."""


def corrections(parameters: FloatArray, law: Mechanism, exact: Correction, most: int) -> Correction | None:
    """The correction of any of these settings: ``exact`` for up to `SAMPLED`, and interpolated in size and shape for
    more. The `TRIED` settings of which size and shape tell least are computed both ways. Where they differ, more are
    sampled, and none is interpolated where there are no more than ``most``. None where none of it does.
    """
    exact = _remembered(exact)
    looked_at = parameters[:: -(-len(parameters) // MOST_LOOKED_AT)]
    ordered = looked_at[np.lexsort(_features(law, looked_at).T)]
    sampled = SAMPLED
    while sampled < min(len(parameters), most):
        chosen = ordered[np.linspace(0, len(ordered) - 1, sampled).astype(int)]
        between, law_between = (_interpolated(law, chosen, of) for of in (exact, lambda some: _chances(law, some)))
        untold = np.abs(law_between(looked_at) - _chances(law, looked_at)).max(axis=1)
        tried = looked_at[np.argsort(untold)[-TRIED:]]
        if np.abs(between(tried) - exact(tried)).max() < ALLOWED:
            return between
        sampled *= 4
    return exact if len(parameters) <= max(most, SAMPLED) else None


def sampled_corrections(parameters: FloatArray, law: Mechanism, exact: Correction, most: int) -> Correction:
    """Interpolated from so many settings, however good that is."""
    ordered = parameters[np.lexsort(_features(law, parameters).T)]
    return _interpolated(law, ordered[np.linspace(0, len(ordered) - 1, most).astype(int)], exact)


def _remembered(of: Correction) -> Correction:
    """The same, each setting once."""
    held: dict[bytes, FloatArray] = {}

    def found(some: FloatArray) -> FloatArray:
        keys = [row.tobytes() for row in some]
        new = [place for place, key in enumerate(keys) if key not in held]
        if new:
            held.update(zip([keys[place] for place in new], of(some[new]), strict=True))
        return np.array([held[key] for key in keys])

    return found


def _interpolated(law: Mechanism, sample: FloatArray, exact: Correction) -> Correction:
    """What is exact for the sample, as a function of size and shape of any setting."""
    place, known = _features(law, sample), exact(sample)
    varied = np.flatnonzero(np.ptp(place, axis=0) > 1e-6)
    if not len(varied):
        return lambda some: np.tile(known.mean(axis=0), (len(some), 1))
    points, first = np.unique(place[:, varied], axis=0, return_index=True)
    if len(varied) == 1:

        def on_a_line(some: FloatArray) -> FloatArray:
            own = _features(law, some)[:, varied[0]]
            return np.stack([np.interp(own, points[:, 0], node) for node in known[first].T], axis=1)

        return on_a_line
    from scipy.interpolate import RBFInterpolator

    between = RBFInterpolator(points, known[first], kernel="linear", degree=0, smoothing=1e-3)
    return lambda some: np.asarray(between(_features(law, some)[:, varied]))


def _chances(law: Mechanism, parameters: FloatArray) -> FloatArray:
    """What a setting's law looks like: P(|psi| <= y) at some parts of its bound, or of its mean where it has none."""
    support = law.support(parameters)
    unit = np.where(np.isfinite(support), support, 4 * law.moments(parameters)[:, 0])
    return law.cdf(parameters, unit[:, None] * LEVELS)


def _features(law: Mechanism, parameters: FloatArray) -> FloatArray:
    """Size and shape of the noise: log of its bound and of the mass near it; of its mean and spread where unbounded."""
    support, tiny = law.support(parameters), 1e-300
    if np.isfinite(support).all() and (support > 0).all():
        near = 1 - law.cdf(parameters, 0.99 * support[:, None])[:, 0]
        return np.stack([np.log(support), 4 * np.log(np.maximum(near, 1e-9))], axis=1)
    moments = law.moments(parameters)
    size = np.log(np.maximum(moments[:, 0], tiny))
    shape = np.log(np.maximum(moments[:, 1], tiny)) - 2 * size
    return np.stack([size, np.round(shape, 9)], axis=1)


def fine_entropy(
    z: Denominators,
    base: FloatArray,
    n: FloatArray,
    keep: float,
    law: Mechanism,
    parameters: FloatArray,
    grid: "FineGrid | None" = None,
) -> FloatArray:
    """Expected entropy of each setting and number of errors under one law of z, on the fine grid: (settings, n).

    ``keep`` is the share of errors that are not 0 whatever the noise. ``grid`` is that of z and ``base``, where it
    serves several calls. Settings are dealt to two threads.
    """
    grid = grid or FineGrid.of(z, base)
    average = replace(z, share=np.repeat(base[None], len(n), axis=0), n=n)

    def one(setting: FloatArray) -> FloatArray:
        if few_fractions(average, law, setting[None]):
            return np.asarray(counted(average, np.full(len(n), keep), law, setting[None])[0][0])
        p, holds = grid.law(law, setting[None])
        p = keep * p
        p[0] += 1 - keep
        return np.asarray(expected_entropies(p, n, holds))

    if len(parameters) == 1:
        return one(parameters[0])[None]
    with ThreadPoolExecutor(2) as pool:
        return np.array(list(pool.map(one, parameters)))


def all_at_full_resolution(z: Denominators, law: Mechanism, setting: FloatArray, grid: "FineGrid") -> float:
    """Expected entropy of one setting (1, parameters) on the first subset, whose fine grid is given."""
    if countable(z, law, setting):
        return float(counted(z, 1 - z.zero, law, setting)[0][0, 0])
    if len(z.size) <= HANDFUL and z.steps is None:
        return float(exactly(z, 1 - z.zero, law, setting, _reach(law, setting))[0][0, 0])
    return float(fine_entropy(z, z.share[0], z.n[:1], float(1 - z.zero[0]), law, setting, grid)[0, 0])


class FineGrid:
    """One law of z on a grid of `PER_OCTAVE` places; what settings share is computed once."""

    @classmethod
    def of(cls, z: Denominators, base: FloatArray) -> "FineGrid":
        """The law ``base`` over the sizes of z, with readings where they lie in their bins."""
        if z.steps is None:
            return cls(z.size, base)
        place, values, weight = values_in(bin_of(z.size), z.steps)
        return cls(values, base[place] * weight)

    def __init__(self, size: FloatArray, base: FloatArray) -> None:
        position = PER_OCTAVE * np.log2(size)
        below = np.floor(position).astype(int)
        self.low = int(below.min())
        self.share = np.zeros(int(below.max()) + 2 - self.low)
        np.add.at(self.share, below - self.low, (1 - (position - below)) * base)
        np.add.at(self.share, below - self.low + 1, (position - below) * base)
        self.first = int(np.floor(PER_OCTAVE * np.log2(BIN_WIDTH / 2)))
        self._transforms: dict[int, npt.NDArray[np.complex128]] = {}

    def law(self, law: Mechanism, setting: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities of the bins of 0.001, then of the cells above them, and how many bins each holds."""
        reach = int(np.ceil(PER_OCTAVE * np.log2(max(_reach(law, setting), 1e-300)))) - self.low - self.first + 1
        cells = max(-(-reach // PER_OCTAVE) * PER_OCTAVE, PER_OCTAVE)  # whole octaves, so that transforms are shared
        cdf = law.cdf(setting, _powers(self.low + self.first, cells + len(self.share)))[0]
        p = self._correlated(np.diff(cdf), cells)
        edges = _powers(self.first, cells + 1)
        start = float(self.share @ cdf[: len(self.share)])
        below = np.concatenate([[start], start + np.cumsum(p)])
        dense = int(np.searchsorted(np.diff(edges), BIN_WIDTH))
        bins = int(np.ceil(edges[min(dense, cells)] / BIN_WIDTH))
        at = np.interp(np.arange(1, bins + 1) * BIN_WIDTH, edges, below)
        tail = np.searchsorted(edges, bins * BIN_WIDTH)
        between = below[tail] - (at[-1] if bins else 0.0) if tail < len(below) else 0.0
        probabilities = np.concatenate([np.diff(at, prepend=0.0), [max(between, 0.0)], p[tail:]])
        holds = np.concatenate([np.ones(bins), [1.0], np.diff(edges)[tail:] / BIN_WIDTH])
        return probabilities, np.maximum(holds, 1.0)

    def _correlated(self, step: FloatArray, cells: int) -> FloatArray:
        """P[j] = sum_i share[i] step[i + j]."""
        size = next_fast_len(cells + len(self.share), real=True)
        if size not in self._transforms:
            self._transforms[size] = np.conj(rfft(self.share, size))
        found: FloatArray = irfft(rfft(step, size) * self._transforms[size], size)[:cells]
        return np.maximum(found, 0)


@lru_cache(16)
def _powers(first: int, count: int) -> FloatArray:
    """2^(k / PER_OCTAVE) for k = first, first + 1, ..."""
    return np.exp2((first + np.arange(count)) / PER_OCTAVE)


def _reach(law: Mechanism, setting: FloatArray) -> float:
    support = float(law.support(setting)[0])
    if np.isfinite(support):
        return support
    reach = max(float(law.moments(setting)[0, 0]), 1e-300)
    while reach < 1e300 and law.cdf(setting, np.array([reach]))[0, 0] < 1 - 1e-12:
        reach *= 2
    return reach
