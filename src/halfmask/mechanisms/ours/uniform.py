"""Uniform noise."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.mechanism import Parameters
from halfmask.mechanisms.scaled_noise import ScaledNoise
from halfmask_device.laws.uniform import MECHANISM


class Uniform(ScaledNoise):
    """Uniform noise on [-a, a]: P(|psi| <= y) = min(y/a, 1), E|psi|^k = a^k / (k + 1)."""

    form = MECHANISM
    unit_moments = (1 / 2, 1 / 3, 1 / 4, 1 / 5)
    unit_support = 1.0
    proven = True
    falling = True

    def unit_cdf(self, z: FloatArray) -> FloatArray:
        return np.minimum(z, 1.0)

    def unit_sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        return 2 * rng.random(size) - 1

    def quantile(self, parameters: FloatArray, u: FloatArray) -> FloatArray:
        return np.asarray(parameters[0] * (2 * u - 1))

    def corners(self, parameters: Parameters, end: float) -> tuple[FloatArray, bool]:  # noqa: ARG002
        return np.array([0.0, end]), True
