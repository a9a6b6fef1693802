"""Noise that is a scale times a fixed distribution."""

import math
from abc import abstractmethod

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.mechanism import Noise, Parameters, in_scales, powers


class ScaledNoise(Noise):
    """psi = scale * Z, where Z has a fixed symmetric distribution. Scale 0 means no noise."""

    unit_moments: tuple[float, float, float, float]
    unit_support: float = math.inf
    unit_parameters = (1.0,)
    steepest: float = math.inf
    """Largest slope of the logarithm of Z's density."""

    @abstractmethod
    def unit_cdf(self, z: FloatArray) -> FloatArray:
        """Return P(|Z| <= z) for z >= 0, including infinity."""

    @abstractmethod
    def unit_sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return ``size`` draws of Z."""

    def cdf(self, parameters: FloatArray, y: FloatArray) -> FloatArray:
        return self.unit_cdf(in_scales(y, parameters[:, :1]))

    def moments(self, parameters: FloatArray) -> FloatArray:
        """Return scale^k E|Z|^k for k = 1..4."""
        with np.errstate(over="ignore"):
            return np.asarray(powers(parameters[:, 0]) * np.array(self.unit_moments))

    def support(self, parameters: FloatArray) -> FloatArray:
        scale = parameters[:, 0]
        return np.where(scale > 0, np.maximum(scale, np.finfo(float).tiny) * self.unit_support, 0.0)

    def sample(self, parameters: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(parameters[0] * self.unit_sample(size, rng))

    def pure_epsilon(self, parameters: Parameters, change: float) -> float | None:
        """Return the steepest slope of Z's log density times change/scale; None if it is not finite."""
        epsilon = self.steepest * (change / parameters[0]) if parameters[0] else math.inf
        return epsilon if math.isfinite(epsilon) else None

    def grown(self, parameters: FloatArray, factor: float) -> FloatArray:
        return parameters * factor
