"""Laws of plug-ins that do not state them: estimated from a sample, or integrated from a distribution function."""

import zlib
from functools import lru_cache

import numpy as np

from halfmask.errors import SettingError
from halfmask.settings.base import Floats, Mechanism, Noise

DRAWS = 2**20
SEED = 20_210_501  # fixed: the same plug-in has the same estimated law wherever it runs
ROWS_AT_ONCE = 256


class SampledNoise(Noise):
    """Noise of which only a sampler is known.

    Its law is that of 2^20 draws with a fixed seed: the distribution function is off by about 0.001 at most, moments by
    about 0.1 % of their spread. A law without finite moments is not noticed. Symmetry is not assumed.
    """

    estimated = True

    def cdf(self, parameters: Floats, y: Floats) -> Floats:
        rows = np.broadcast_to(y, (len(parameters), np.shape(y)[-1]))
        out = np.empty(rows.shape)
        for s, setting in enumerate(parameters):
            out[s] = np.searchsorted(sorted_sizes(self, tuple(setting.tolist())), rows[s], side="right") / DRAWS
        return out

    def moments(self, parameters: Floats) -> Floats:
        result = np.empty((len(parameters), 4))
        with np.errstate(over="ignore"):
            for s, setting in enumerate(parameters):
                sizes = sorted_sizes(self, tuple(setting.tolist()))
                result[s] = [np.mean(sizes**k) for k in range(1, 5)]
        return result

    def support(self, parameters: Floats) -> Floats:
        return np.full(len(parameters), np.inf)


@lru_cache(maxsize=8)
def sorted_sizes(mechanism: Mechanism, parameters: tuple[float, ...]) -> Floats:
    """|psi| of the draws that estimate a law, sorted; the last few laws are kept, 8 MB each."""
    rng = np.random.default_rng([SEED, zlib.crc32(mechanism.name.encode())])
    draws = np.asarray(mechanism.sample(np.array(parameters), DRAWS, rng), dtype=np.float64)
    if draws.shape != (DRAWS,) or np.isnan(draws).any():
        raise SettingError(
            f"mechanism {mechanism.name}: sample(parameters, size, rng) must return shape (size,) without NaN;"
            f" asked for ({DRAWS},) it gave {draws.shape}"
        )
    return np.sort(np.abs(draws))


class StatedNoise(Noise):
    """Noise of which a sampler and a distribution function are known; moments come by quadrature."""

    def moments(self, parameters: Floats) -> Floats:
        pieces = [parameters[i : i + ROWS_AT_ONCE] for i in range(0, len(parameters), ROWS_AT_ONCE)]
        return np.concatenate([integrate_moments(self, piece) for piece in pieces]) if pieces else np.empty((0, 4))

    def support(self, parameters: Floats) -> Floats:
        return np.full(len(parameters), np.inf)


def integrate_moments(mechanism: Mechanism, parameters: Floats) -> Floats:
    """E|psi|^k = integral of k y^(k-1) (1 - F(y)) dy, over y = (median of the moved part) 2^t, -40 <= t <= 40.

    Gauss-Legendre of 8 points on pieces of a quarter octave: about 1e-9 where F is smooth within octaves, less near
    jumps. Where the last octaves still add (a tail like y^-a, a <= k), the moment is taken as infinite.
    """
    still = mechanism.cdf(parameters, np.zeros(1))[:, 0]
    scale = _median(mechanism, parameters, (1 + still) / 2)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = np.arange(-40, 40, 0.25)
    t = (edges[:, None] + (nodes + 1) / 8).ravel()
    step = np.tile(weights / 8, len(edges)) * np.log(2)
    beyond = 1 - mechanism.cdf(parameters, scale[:, None] * 2.0**t)
    result = np.empty((len(parameters), 4))
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(1, 5):
            parts = k * 2.0 ** (k * t) * step * beyond
            unit, tail = parts.sum(axis=1), parts[:, t > 38].sum(axis=1)
            result[:, k - 1] = np.where(tail > 1e-6 * unit, np.inf, unit * scale**k)
    result[still >= 1] = 0.0
    return result


def _median(mechanism: Mechanism, parameters: Floats, share: Floats) -> Floats:
    """Where F reaches ``share``, to within 2^(1/8), by halving the exponents of all floats."""
    low, high = np.full(len(parameters), -1000.0), np.full(len(parameters), 980.0)
    for _ in range(14):
        middle = (low + high) / 2
        reached = mechanism.cdf(parameters, 2.0 ** middle[:, None])[:, 0] >= share
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return np.asarray(2.0**high)
