"""Logistic noise: pure epsilon like Laplace noise, with a density that is smooth at 0."""

import math

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.mechanism import Parameters
from halfmask.mechanisms.scaled_noise import ScaledNoise
from halfmask_device.laws.logistic import MECHANISM

APERY = 1.2020569031595942
"""zeta(3)."""


class Logistic(ScaledNoise):
    """Logistic noise: psi = s log(U/(1 - U)), P(|psi| <= y) = tanh(y/(2s)), E|psi|^k = 2 k! eta(k) s^k.

    U is uniform and eta is Dirichlet's eta function. The slope of the log density is 0 at psi = 0 and tends to 1/s in
    the tails. So epsilon is change/s, but only very rare reports have a loss near it. At equal variance, epsilon is
    1.28 times that of Laplace noise, and the tails are lighter (kurtosis 4.2 instead of 6).
    """

    form = MECHANISM
    unit_moments = (2 * math.log(2), math.pi**2 / 3, 9 * APERY, 7 * math.pi**4 / 15)
    proven = True
    falling = True
    fisher = math.pi**2 / 9
    steepest = 1.0  # the slope is tanh(x/(2s))/s, which is below 1/s and tends to it in the tails

    def unit_cdf(self, z: FloatArray) -> FloatArray:
        return np.tanh(z / 2)

    def unit_sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        return rng.logistic(size=size)

    def quantile(self, parameters: FloatArray, u: FloatArray) -> FloatArray:
        return np.asarray(parameters[0] * np.log(u / (1 - u)))

    def tail(self, parameters: Parameters, y: FloatArray) -> FloatArray:
        """Return P(psi > y) = 1 / (1 + exp(y/s))."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(1 / (1 + np.exp(np.divide(y, parameters[0])))) if parameters[0] else np.zeros(np.shape(y))
