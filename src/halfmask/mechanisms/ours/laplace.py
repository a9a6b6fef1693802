"""Laplace noise, one of the paper's two mechanisms, and its relative form."""

import math

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.base import Parameters, RelativeNoise, Source
from halfmask.mechanisms.scaled import ScaledNoise


class Laplace(ScaledNoise):
    """P(|psi| <= y) = 1 - exp(-y/b), E|psi|^k = k! b^k; the sum of n draws is b (Gamma(n) - Gamma'(n))."""

    name = "laplace"
    parameter_names = ("b",)
    unit_moments = (1.0, 2.0, 6.0, 24.0)
    proven = True
    falling = True
    exact_sums = True
    fisher = 2.0

    def unit_cdf(self, z: FloatArray) -> FloatArray:
        result: FloatArray = -np.expm1(-z)
        return result

    def unit_sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        return rng.laplace(size=size)

    def fill(self, parameters: FloatArray, values: FloatArray, source: Source, out: FloatArray) -> None:
        from halfmask.mechanisms.draw_kernel import laplace  # imported here because numba is slow to import

        laplace(values, source.words, float(parameters[0]), self.kind == "relative", out)

    def sample_sum(self, parameters: FloatArray, n: IntArray, rng: np.random.Generator) -> FloatArray:
        with np.errstate(over="ignore"):
            draws: FloatArray = parameters[0] * (rng.standard_gamma(n) - rng.standard_gamma(n))
        return draws

    def standard_sums(self, n: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return (Gamma(n) - Gamma'(n)) / sqrt(2n).

        n need not be whole: a sum of unequal noises s psi has the variance and kurtosis of a sum of n equal ones, for
        some n.
        """
        unit = rng.standard_gamma(n) - rng.standard_gamma(n)
        return np.divide(unit, np.sqrt(2 * n), out=np.zeros(len(n)), where=n > 0)

    def quantile(self, parameters: FloatArray, u: FloatArray) -> FloatArray:
        centred = u - 0.5
        return np.asarray(-parameters[0] * np.sign(centred) * np.log(1 - 2 * np.abs(centred)))

    def tail(self, parameters: Parameters, y: FloatArray) -> FloatArray:
        """exp(-y/b)/2."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(np.exp(-np.divide(y, parameters[0])) / 2) if parameters[0] else np.zeros(np.shape(y))

    def pure_epsilon(self, parameters: Parameters, change: float) -> float | None:
        """d/b."""
        epsilon = change / parameters[0] if parameters[0] else math.inf
        return epsilon if math.isfinite(epsilon) else None

    def pmf(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:
        """tanh(x/2) exp(-|k| x) with x = step/b: the discrete law with the same epsilon."""
        x = step / parameters[0] if parameters[0] else math.inf
        if x == math.inf:
            return np.where(k == 0, 1.0, 0.0)
        return np.asarray(math.tanh(x / 2) * np.exp(-np.abs(k) * x))

    def lattice_tail(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:
        """exp(-k x) / (1 + exp(-x)) with x = step/b."""
        x = step / parameters[0] if parameters[0] else math.inf
        return np.asarray(np.exp(-k * x) / (1 + math.exp(-x)))

    def lattice_variance(self, parameters: Parameters, step: float) -> float:
        """step^2 / (2 sinh^2(x/2)) with x = step/b."""
        x = step / parameters[0] if parameters[0] else math.inf
        return float(step**2 / (2 * math.sinh(x / 2) ** 2)) if x < 700 else 0.0


class RelativeLaplace(RelativeNoise, Laplace):
    """m = s (1 + psi) with Laplace psi."""

    name = "relative-laplace"
