"""Mechanisms that act on the value itself and have no noise law: round, microaggregate, clip."""

import numpy as np

from halfmask.errors import SettingError
from halfmask.mechanisms.base import Floats, Mechanism


class Round(Mechanism):
    """The nearest multiple of ``step``, halves to the even multiple; step 0 leaves the value as it is."""

    name = "round"
    kind = "direct"
    parameter_names = ("step",)

    def mask(self, parameters: Floats, values: Floats, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        step = parameters[0]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            steps = values / step
            multiple = step * np.rint(steps)
        # From 2^53 steps on every float is a multiple already, as far as floats can tell.
        return np.where(np.abs(steps) < 2.0**53, multiple, values)


class Microaggregate(Mechanism):
    """Each value becomes the centroid of its cluster, in the best k clusters of the user's own values.

    Best means least sum of squared distances (k-means in one dimension), found exactly by dynamic programming, so
    the outcome does not depend on chance. At most k distinct values are left as they are.
    """

    name = "microaggregate"
    kind = "direct"
    parameter_names = ("k",)
    per_user = True

    def check(self, parameters: tuple[float, ...]) -> None:
        super().check(parameters)
        if parameters[0] < 1 or parameters[0] % 1:
            raise SettingError(f"microaggregate: k is {parameters[0]:g}; it counts clusters: write 1, 2, 3, ...")

    def mask(self, parameters: Floats, values: Floats, rng: np.random.Generator) -> Floats:  # noqa: ARG002
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


class Clip(Mechanism):
    """Values held between ``lo`` and ``hi``. Written ``clip:lo,hi/inner``, the inner setting masks the result."""

    name = "clip"
    kind = "direct"
    parameter_names = ("lo", "hi")

    def check(self, parameters: tuple[float, ...]) -> None:
        self.check_count(parameters)
        lo, hi = parameters
        if not -np.inf < lo <= hi < np.inf:
            raise SettingError(f"clip: lo {lo:g} and hi {hi:g} do not bound a range; both must be finite, lo <= hi")

    def mask(self, parameters: Floats, values: Floats, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        return np.clip(values, parameters[0], parameters[1])
