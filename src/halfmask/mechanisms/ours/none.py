"""No noise."""

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.mechanism import Noise, Parameters, Source
from halfmask_device.laws.none import MECHANISM


class NoNoise(Noise):
    """No noise: psi = 0."""

    form = MECHANISM
    exact_sums = True

    def cdf(self, parameters: FloatArray, y: FloatArray) -> FloatArray:
        row = np.where(np.asarray(y) >= 0, 1.0, 0.0)
        return np.broadcast_to(row, (len(parameters), row.shape[-1])).copy()

    def moments(self, parameters: FloatArray) -> FloatArray:
        return np.zeros((len(parameters), 4))

    def support(self, parameters: FloatArray) -> FloatArray:
        return np.zeros(len(parameters))

    def sample(self, parameters: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        return np.zeros(size)

    def sample_sum(self, parameters: FloatArray, n: IntArray, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        return np.zeros(len(n))

    def fill(self, parameters: FloatArray, values: FloatArray, source: Source, out: FloatArray) -> None:  # noqa: ARG002
        out[:] = values

    def grown(self, parameters: FloatArray, factor: float) -> FloatArray:  # noqa: ARG002
        return parameters

    def pmf(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:  # noqa: ARG002
        return np.where(k == 0, 1.0, 0.0)
