"""Noise that is a scale times one fixed law: none, laplace, gaussian, uniform, and relative forms of them."""

import math
from abc import abstractmethod

import numpy as np

from halfmask.mechanisms.base import Floats, Integers, Noise, in_scales, powers


class ScaledNoise(Noise):
    """psi = scale * Z for a fixed symmetric law of Z; scale 0 means no noise."""

    unit_moments: tuple[float, float, float, float]
    unit_support: float = math.inf

    @abstractmethod
    def unit_cdf(self, z: Floats) -> Floats:
        """P(|Z| <= z) for z >= 0, inf included."""

    @abstractmethod
    def unit_sample(self, size: int, rng: np.random.Generator) -> Floats:
        """Draws of Z."""

    def cdf(self, parameters: Floats, y: Floats) -> Floats:
        return self.unit_cdf(in_scales(y, parameters[:, :1]))

    def moments(self, parameters: Floats) -> Floats:
        """scale^k E|Z|^k."""
        with np.errstate(over="ignore"):
            result: Floats = powers(parameters[:, 0]) * np.array(self.unit_moments)
        return result

    def support(self, parameters: Floats) -> Floats:
        scale = parameters[:, 0]
        return np.where(scale > 0, np.maximum(scale, np.finfo(float).tiny) * self.unit_support, 0.0)

    def sample(self, parameters: Floats, size: int, rng: np.random.Generator) -> Floats:
        with np.errstate(over="ignore"):
            draws: Floats = parameters[0] * self.unit_sample(size, rng)
        return draws


class NoNoise(Noise):
    """psi = 0: the value itself."""

    name = "none"

    def cdf(self, parameters: Floats, y: Floats) -> Floats:
        return self._rows(parameters, np.where(np.asarray(y) >= 0, 1.0, 0.0))

    def moments(self, parameters: Floats) -> Floats:
        return np.zeros((len(parameters), 4))

    def support(self, parameters: Floats) -> Floats:
        return np.zeros(len(parameters))

    def sample(self, parameters: Floats, size: int, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        return np.zeros(size)

    def sample_sum(self, parameters: Floats, n: Integers, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        return np.zeros(len(n))

    @staticmethod
    def _rows(parameters: Floats, row: Floats) -> Floats:
        return np.broadcast_to(row, (len(parameters), row.shape[-1])).copy()


class Laplace(ScaledNoise):
    """P(|psi| <= y) = 1 - exp(-y/b), E|psi|^k = k! b^k; the sum of n is b (Gamma(n) - Gamma'(n))."""

    name = "laplace"
    parameter_names = ("b",)
    unit_moments = (1.0, 2.0, 6.0, 24.0)

    def unit_cdf(self, z: Floats) -> Floats:
        result: Floats = -np.expm1(-z)
        return result

    def unit_sample(self, size: int, rng: np.random.Generator) -> Floats:
        return rng.laplace(size=size)

    def sample_sum(self, parameters: Floats, n: Integers, rng: np.random.Generator) -> Floats:
        with np.errstate(over="ignore"):
            draws: Floats = parameters[0] * (rng.standard_gamma(n) - rng.standard_gamma(n))
        return draws


class Gaussian(ScaledNoise):
    """P(|psi| <= y) = erf(y / (sigma sqrt 2)); the sum of n is normal with variance n sigma^2."""

    name = "gaussian"
    parameter_names = ("sigma",)
    unit_moments = (math.sqrt(2 / math.pi), 1.0, 2 * math.sqrt(2 / math.pi), 3.0)

    def unit_cdf(self, z: Floats) -> Floats:
        from scipy.special import erf  # here, because SciPy takes long to import

        result: Floats = erf(z / math.sqrt(2))
        return result

    def unit_sample(self, size: int, rng: np.random.Generator) -> Floats:
        return rng.standard_normal(size)

    def sample_sum(self, parameters: Floats, n: Integers, rng: np.random.Generator) -> Floats:
        with np.errstate(over="ignore"):
            draws: Floats = parameters[0] * (np.sqrt(n) * rng.standard_normal(len(n)))
        return draws


class Uniform(ScaledNoise):
    """psi uniform on [-a, a]: P(|psi| <= y) = min(y/a, 1), E|psi|^k = a^k / (k + 1)."""

    name = "uniform"
    parameter_names = ("a",)
    unit_moments = (1 / 2, 1 / 3, 1 / 4, 1 / 5)
    unit_support = 1.0

    def unit_cdf(self, z: Floats) -> Floats:
        return np.minimum(z, 1.0)

    def unit_sample(self, size: int, rng: np.random.Generator) -> Floats:
        return 2 * rng.random(size) - 1


class RelativeLaplace(Laplace):
    """m = s (1 + psi) with Laplace psi; the law is psi's, so the local error is |psi| whatever s is."""

    name = "relative-laplace"
    kind = "relative"


class RelativeGaussian(Gaussian):
    """m = s (1 + psi) with normal psi; the law is psi's, so the local error is |psi| whatever s is."""

    name = "relative-gaussian"
    kind = "relative"
