"""Noise distributions of plug-ins that do not define them: estimated from a sample, or integrated numerically."""

import zlib
from functools import lru_cache

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import SettingError
from halfmask.mechanisms.mechanism import Mechanism, Noise
from halfmask.streams import stream

DRAWS = 2**20
SEED = 20_210_501  # fixed, so that a plug-in has the same estimated law on every machine
ROWS_AT_ONCE = 256


class SampledNoise(Noise):
    """Noise for which only a sampler is known.

    Its distribution is estimated from 2^20 draws with a fixed seed, without assuming symmetry. The error of the
    distribution function is at most about 0.001. The standard error of a moment E|psi|^k is about 0.1 % of the standard
    deviation of |psi|^k. Infinite moments are not detected.
    """

    estimated = True

    def cdf(self, parameters: FloatArray, y: FloatArray) -> FloatArray:
        rows = np.broadcast_to(y, (len(parameters), np.shape(y)[-1]))
        out = np.empty(rows.shape)
        for s, setting in enumerate(parameters):
            out[s] = np.searchsorted(sorted_sizes(self, tuple(setting.tolist())), rows[s], side="right") / DRAWS
        return out

    def moments(self, parameters: FloatArray) -> FloatArray:
        result = np.empty((len(parameters), 4))
        with np.errstate(over="ignore"):
            for s, setting in enumerate(parameters):
                sizes = sorted_sizes(self, tuple(setting.tolist()))
                result[s] = [np.mean(sizes**k) for k in range(1, 5)]
        return result

    def support(self, parameters: FloatArray) -> FloatArray:
        return np.full(len(parameters), np.inf)


@lru_cache(maxsize=8)
def sorted_sizes(mechanism: Mechanism, parameters: tuple[float, ...]) -> FloatArray:
    """Return the sorted sizes |psi| of the draws that estimate a distribution. The last 8 results (8 MB each) are
    cached.
    """
    rng = stream(SEED, "mechanisms.estimated", zlib.crc32(mechanism.name.encode()))
    draws = np.asarray(mechanism.sample(np.array(parameters), DRAWS, rng), dtype=np.float64)
    if draws.shape != (DRAWS,) or np.isnan(draws).any():
        raise SettingError(
            f"mechanism {mechanism.name}: sample(parameters, size, rng) must return shape (size,) without NaN;"
            f" asked for ({DRAWS},) it gave {draws.shape}",
            kind="sampler",
        )
    return np.sort(np.abs(draws))


class StatedNoise(Noise):
    """Noise for which a sampler and a distribution function are known. Moments are integrated numerically."""

    def moments(self, parameters: FloatArray) -> FloatArray:
        pieces = [parameters[i : i + ROWS_AT_ONCE] for i in range(0, len(parameters), ROWS_AT_ONCE)]
        return np.concatenate([integrate_moments(self, piece) for piece in pieces]) if pieces else np.empty((0, 4))

    def support(self, parameters: FloatArray) -> FloatArray:
        return np.full(len(parameters), np.inf)


def integrate_moments(mechanism: Mechanism, parameters: FloatArray) -> FloatArray:
    """Return the moments E|psi|^k, by integrating k y^(k-1) (1 - F(y)) with F the distribution function of |psi|.

    The integral ends at the y at which F first rounds to 1. Gauss-Legendre quadrature is used on pieces that shrink
    towards both ends, where F may be steep. The error is about 1e-9 if F is smooth, and 1e-3 if it jumps.

    A heavy tail, such as y^-6, may be lost in the rounding of F. So a moment is taken as infinite if 1 - F is below
    1e-12 at a quarter of the range, yet the part beyond contributes more than 1e-6 of the moment.
    """
    end = reach(mechanism, parameters)
    share, weight = _nodes()
    beyond = 1 - mechanism.cdf(parameters, end[:, None] * share)
    hidden = 1 - mechanism.cdf(parameters, end[:, None] / 4)[:, 0] < 1e-12
    result = np.empty((len(parameters), 4))
    for k in range(1, 5):
        parts = k * share ** (k - 1) * weight * beyond
        unit, late = parts.sum(axis=1), parts[:, share > 1 / 4].sum(axis=1)
        with np.errstate(over="ignore"):
            result[:, k - 1] = np.where(hidden & (late > 1e-6 * unit), np.inf, unit * end**k)
    result[mechanism.cdf(parameters, np.zeros(1))[:, 0] >= 1] = 0.0
    return result


def _nodes() -> tuple[FloatArray, FloatArray]:
    """Return Gauss-Legendre points and weights on pieces of (0, 1).

    The pieces shrink by quarter octaves towards 0, and by octaves towards 1.
    """
    below = 2.0 ** np.arange(-60, -1, 0.25)
    above = 1 - 2.0 ** np.arange(-2, -48, -1)
    edges = np.concatenate([[0.0], below, [0.5], above, [1.0]])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    width = np.diff(edges)[:, None]
    return (edges[:-1, None] + width * (nodes + 1) / 2).ravel(), (width * weights / 2).ravel()


def reach(mechanism: Mechanism, parameters: FloatArray, share: float = 1.0) -> FloatArray:
    """Return the least y with F(y) >= ``share``, by bisection; F is the distribution function of |psi|."""
    low, high = np.full(len(parameters), -1000.0), np.full(len(parameters), 1000.0)
    for _ in range(60):
        middle = (low + high) / 2
        reached = mechanism.cdf(parameters, 2.0 ** middle[:, None])[:, 0] >= share
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return np.asarray(2.0**high)
