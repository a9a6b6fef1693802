"""The correction of the local errors' entropy by a finer grid, for bounded noise.

`log_grid` assumes that errors are even within a cell. This is wrong for noise that is dense at its bound (sine), and
matters if z takes few values or readings have few decimals. `FineGrid` has 64 times as many cells per octave. It is
used for the average subset, and separately for subsets with few values of z.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft

from halfmask.arrays import FloatArray
from halfmask.evaluation.analytic.denominators import Denominators
from halfmask.evaluation.analytic.expected_entropy import expected_entropies
from halfmask.evaluation.analytic.log_grid import BIN_WIDTH, largest_noise
from halfmask.mechanisms.mechanism import Mechanism

PER_OCTAVE = 1024
SAMPLED = 256
"""Largest number of settings whose correction is computed; for more settings, the others are interpolated."""

Correction = Callable[[FloatArray], FloatArray]
"""Function of the settings' parameters that returns the addition to the entropy (settings, laws of z)."""


def interpolated(parameters: FloatArray, law: Mechanism, exact: Correction) -> Correction:
    """Return ``exact`` for up to `SAMPLED` settings; for more, an interpolation by size and shape of the noise."""
    if len(parameters) <= SAMPLED:
        return exact
    from scipy.interpolate import RBFInterpolator  # here, because SciPy takes long to import

    ordered = parameters[np.lexsort(_features(law, parameters).T)]
    sample = ordered[np.linspace(0, len(ordered) - 1, SAMPLED).astype(int)]
    place, first = np.unique(_features(law, sample), axis=0, return_index=True)
    between = RBFInterpolator(place, exact(sample[first]), kernel="linear", degree=0, smoothing=1e-3)
    return lambda some: np.asarray(between(_features(law, some)))


def _features(law: Mechanism, parameters: FloatArray) -> FloatArray:
    """Return size and shape of bounded noise: the logarithms of its bound and of the mass near it."""
    support = np.maximum(law.support(parameters), 1e-300)
    near = 1 - law.cdf(parameters, 0.99 * support[:, None])[:, 0]
    return np.stack([np.log(support), 4 * np.log(np.maximum(near, 1e-9))], axis=1)


class FineGrid:
    """One law of z on a grid of `PER_OCTAVE` cells per octave; what settings share is computed once."""

    def __init__(self, z: Denominators, share: FloatArray, steps: FloatArray) -> None:
        """Take the law of z with these shares of sizes and of steps."""
        values, base = z.law(share, steps)
        position = PER_OCTAVE * np.log2(values)
        below = np.floor(position).astype(int)
        self.low = int(below.min())
        self.share = np.zeros(int(below.max()) + 2 - self.low)
        np.add.at(self.share, below - self.low, (1 - (position - below)) * base)
        np.add.at(self.share, below - self.low + 1, (position - below) * base)
        self.first = int(np.floor(PER_OCTAVE * np.log2(BIN_WIDTH / 2)))
        self._transforms: dict[int, npt.NDArray[np.complex128]] = {}

    def entropies(self, law: Mechanism, setting: FloatArray, n: FloatArray, keep: float) -> FloatArray:
        """Return the expected entropy for each number of errors ``n``.

        ``keep`` is the share of errors that the noise can change; the others are always 0.
        """
        p, holds = self.law(law, setting)
        p = keep * p
        p[0] += 1 - keep
        return np.asarray(expected_entropies(p, n, holds))

    def law(self, law: Mechanism, setting: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities of the bins of 0.001 and of the cells above them, and the number of bins in each."""
        reach = int(np.ceil(PER_OCTAVE * np.log2(max(largest_noise(law, setting), 1e-300)))) - self.low - self.first + 1
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
        """Return P[j] = sum_i share[i] step[i + j]."""
        size = next_fast_len(cells + len(self.share), real=True)
        if size not in self._transforms:
            self._transforms[size] = np.conj(rfft(self.share, size))
        found: FloatArray = irfft(rfft(step, size) * self._transforms[size], size)[:cells]
        return np.maximum(found, 0)


@lru_cache(16)
def _powers(first: int, count: int) -> FloatArray:
    """Return 2^(k / PER_OCTAVE) for k = first, first + 1, ..."""
    return np.exp2((first + np.arange(count)) / PER_OCTAVE)
