"""Rounding to multiples of a step."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.mechanism import Mechanism


class Round(Mechanism):
    """The nearest multiple of ``step``, halves to the even multiple; step 0 leaves the value unchanged."""

    name = "round"
    kind = "direct"
    deterministic = True
    parameter_names = ("step",)

    def mask(self, parameters: FloatArray, values: FloatArray, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        step = parameters[0]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            steps = values / step
            multiple = step * np.rint(steps)
        # From 2^53 steps on every float counts as a multiple: floats there are at least a step apart.
        return np.where(np.abs(steps) < 2.0**53, multiple, values)

    def grown(self, parameters: FloatArray, factor: float) -> FloatArray:
        return parameters * factor
