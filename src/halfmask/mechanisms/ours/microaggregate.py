"""Microaggregation: each value is replaced by the mean of its cluster."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import SettingError
from halfmask.mechanisms.mechanism import Mechanism, Parameters


class Microaggregate(Mechanism):
    """Replace each value by the centroid of its cluster, in the best k clusters of one user's values.

    The best clusters have the least sum of squared distances. They are found exactly, by dynamic programming, so the
    result is not random. If a user has at most k distinct values, they do not change.
    """

    name = "microaggregate"
    kind = "direct"
    deterministic = True
    parameter_names = ("k",)
    per_user = True

    def check(self, parameters: Parameters) -> None:
        super().check(parameters)
        if parameters[0] < 1 or parameters[0] % 1:
            raise SettingError(
                f"microaggregate: k is {parameters[0]:g}; it counts clusters: write 1, 2, 3, ...",
                kind="range",
                field="k",
            )

    def mask(self, parameters: FloatArray, values: FloatArray, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        present = np.isfinite(values)
        distinct, place, counts = np.unique(values[present], return_inverse=True, return_counts=True)
        if len(distinct) <= parameters[0]:
            return values.copy()
        from halfmask.mechanisms.cluster_kernel import centroids  # imported here because numba is slow to import

        unit = np.abs(distinct).max()  # so that squares of huge values stay finite
        scaled = distinct / unit
        centre = scaled[len(scaled) // 2]
        found = (centroids(scaled - centre, counts.astype(np.float64), int(parameters[0])) + centre) * unit
        masked = values.copy()
        masked[present] = found[place]
        return masked

    def grown(self, parameters: FloatArray, factor: float) -> FloatArray:  # noqa: ARG002
        """Return the parameters unchanged, because clusters scale with the readings."""
        return parameters
