"""Microaggregation: each value becomes the middle of its cluster."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import SettingError
from halfmask.mechanisms.base import Mechanism, Parameters


class Microaggregate(Mechanism):
    """Each value becomes the centroid of its cluster, in the best k clusters of the user's own values.

    Best means least sum of squared distances (k-means in one dimension), found exactly by dynamic programming, so
    the outcome does not depend on chance. At most k distinct values are left as they are.
    """

    name = "microaggregate"
    kind = "direct"
    deterministic = True
    parameter_names = ("k",)
    per_user = True

    def check(self, parameters: Parameters) -> None:
        super().check(parameters)
        if parameters[0] < 1 or parameters[0] % 1:
            raise SettingError(f"microaggregate: k is {parameters[0]:g}; it counts clusters: write 1, 2, 3, ...")

    def mask(self, parameters: FloatArray, values: FloatArray, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        present = np.isfinite(values)
        distinct, place, counts = np.unique(values[present], return_inverse=True, return_counts=True)
        if len(distinct) <= parameters[0]:
            return values.copy()
        from halfmask.mechanisms.cluster_kernel import centroids  # here, because numba takes long to import

        unit = np.abs(distinct).max()  # so that squares of huge values stay finite
        scaled = distinct / unit
        centre = scaled[len(scaled) // 2]
        found = (centroids(scaled - centre, counts.astype(np.float64), int(parameters[0])) + centre) * unit
        masked = values.copy()
        masked[present] = found[place]
        return masked

    def grown(self, parameters: FloatArray, factor: float) -> FloatArray:  # noqa: ARG002
        """The clusters are the readings' own, so they grow with them."""
        return parameters
