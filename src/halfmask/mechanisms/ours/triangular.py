"""Triangular noise: bounded, and rarely close to its bound."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.scaled_noise import ScaledNoise
from halfmask_device.laws.triangular import MECHANISM


class Triangular(ScaledNoise):
    """Triangular noise: psi = a (U - V), P(|psi| <= y) = 1 - (1 - y/a)^2, E|psi|^k = 2 a^k / ((k + 1)(k + 2)).

    U and V are uniform. The density falls linearly to 0 at the bound a. So the range of readings that are consistent
    with n reports shrinks like n^-1/2; with uniform noise it shrinks like n^-1, with sine noise like n^-2.
    """

    form = MECHANISM
    unit_moments = (1 / 3, 1 / 6, 1 / 10, 1 / 15)
    unit_support = 1.0
    proven = True
    falling = True

    def unit_cdf(self, z: FloatArray) -> FloatArray:
        return 1 - np.maximum(1 - z, 0.0) ** 2

    def unit_sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        return np.asarray(rng.random(size) - rng.random(size))

    def quantile(self, parameters: FloatArray, u: FloatArray) -> FloatArray:
        return np.asarray(parameters[0] * np.where(u < 0.5, np.sqrt(2 * u) - 1, 1 - np.sqrt(2 * (1 - u))))
