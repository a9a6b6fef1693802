"""No noise."""

import numpy as np

from halfmask.mechanisms.base import Floats, Integers, Noise, Parameters, Source


class NoNoise(Noise):
    """psi = 0: the value itself."""

    name = "none"
    exact_sums = True

    def cdf(self, parameters: Floats, y: Floats) -> Floats:
        row = np.where(np.asarray(y) >= 0, 1.0, 0.0)
        return np.broadcast_to(row, (len(parameters), row.shape[-1])).copy()

    def moments(self, parameters: Floats) -> Floats:
        return np.zeros((len(parameters), 4))

    def support(self, parameters: Floats) -> Floats:
        return np.zeros(len(parameters))

    def sample(self, parameters: Floats, size: int, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        return np.zeros(size)

    def sample_sum(self, parameters: Floats, n: Integers, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        return np.zeros(len(n))

    def fill(self, parameters: Floats, values: Floats, source: Source, out: Floats) -> None:  # noqa: ARG002
        out[:] = values

    def grown(self, parameters: Floats, factor: float) -> Floats:  # noqa: ARG002
        return parameters

    def pmf(self, parameters: Parameters, step: float, k: Floats | Integers) -> Floats:  # noqa: ARG002
        return np.where(k == 0, 1.0, 0.0)
