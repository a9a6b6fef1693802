"""Normal noise and its relative form."""

import math

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.base import Parameters, RelativeNoise, Source
from halfmask.mechanisms.scaled import ScaledNoise


class Gaussian(ScaledNoise):
    """P(|psi| <= y) = erf(y / (sigma sqrt 2)); the sum of n draws is normal with variance n sigma^2."""

    name = "gaussian"
    parameter_names = ("sigma",)
    unit_moments = (math.sqrt(2 / math.pi), 1.0, 2 * math.sqrt(2 / math.pi), 3.0)
    proven = True
    falling = True
    exact_sums = True
    fisher = 1.0

    def unit_cdf(self, z: FloatArray) -> FloatArray:
        from scipy.special import erf  # imported here because SciPy is slow to import

        result: FloatArray = erf(z / math.sqrt(2))
        return result

    def unit_sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        return rng.standard_normal(size)

    def fill(self, parameters: FloatArray, values: FloatArray, source: Source, out: FloatArray) -> None:
        from halfmask.mechanisms.draw_kernel import scaled  # imported here because numba is slow to import

        draws = source.generator.standard_normal(len(values))
        scaled(values, draws, float(parameters[0]), self.kind == "relative", out)

    def sample_sum(self, parameters: FloatArray, n: IntArray, rng: np.random.Generator) -> FloatArray:
        with np.errstate(over="ignore"):
            draws: FloatArray = parameters[0] * (np.sqrt(n) * rng.standard_normal(len(n)))
        return draws

    def quantile(self, parameters: FloatArray, u: FloatArray) -> FloatArray:
        from scipy.special import ndtri

        return np.asarray(parameters[0] * ndtri(u))

    def tail(self, parameters: Parameters, y: FloatArray) -> FloatArray:
        from scipy.special import ndtr

        with np.errstate(over="ignore"):
            return np.asarray(ndtr(-np.divide(y, parameters[0]))) if parameters[0] else np.zeros(np.shape(y))

    def pmf(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:
        """exp(-k^2/(2 s^2)) / Z with s = sigma/step."""
        s = parameters[0] / step
        if not s:
            return np.where(k == 0, 1.0, 0.0)
        return np.asarray(np.exp(-((k / s) ** 2) / 2) / _sum_of_weights(s)[0])

    def lattice_tail(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:
        """P(K >= k), summed from k on; for sigma above 50 steps the integral from k - 1/2.

        The integral is right to 1e-4 in the far tail, and better elsewhere.
        """
        from scipy.special import ndtr

        s = parameters[0] / step
        if not s:
            return np.zeros(np.shape(k))
        if s > 50:
            return np.asarray(ndtr(-(k - 0.5) / s))
        chances = self.pmf(parameters, step, np.arange(math.ceil(40 * s) + 2))
        beyond = np.append(np.cumsum(chances[::-1])[::-1], 0.0)
        return np.asarray(beyond[np.minimum(np.asarray(k, np.int64), beyond.size - 1)])

    def lattice_variance(self, parameters: Parameters, step: float) -> float:
        s = parameters[0] / step
        return step**2 * _sum_of_weights(s)[1] if s else 0.0


def _sum_of_weights(s: float) -> tuple[float, float]:
    """Return Z, the sum over k of exp(-k^2/(2 s^2)), and the variance of k.

    For s >= 1 it uses Poisson's formula, Z = s sqrt(2 pi) (1 + 2 exp(-2 pi^2 s^2) + ...), whose next term is below
    1e-34, and variance = s^3 Z'/Z.
    """
    if s >= 1:
        wave = math.exp(-2 * math.pi**2 * s * s)
        return s * math.sqrt(2 * math.pi) * (1 + 2 * wave), s * s - 8 * math.pi**2 * s**4 * wave / (1 + 2 * wave)
    k = np.arange(-40, 41)
    with np.errstate(over="ignore"):
        weights = np.exp(-((k / s) ** 2) / 2)
    return float(weights.sum()), float((k**2 * weights).sum() / weights.sum())


class RelativeGaussian(RelativeNoise, Gaussian):
    """m = s (1 + psi) with normal psi."""

    name = "relative-gaussian"
