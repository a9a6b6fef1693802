"""Rounding to multiples of a step."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.mechanism import Mechanism


class Round(Mechanism):
    """Round to the nearest multiple of ``step``; halves go to the even multiple. Step 0 changes nothing."""

    name = "round"
    kind = "direct"
    deterministic = True
    parameter_names = ("step",)

    def mask(self, parameters: FloatArray, values: FloatArray, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        step = parameters[0]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            steps = values / step
            multiple = step * np.rint(steps)
        # Beyond 2^53 steps, floats are at least a step apart, so every float counts as a multiple.
        return np.where(np.abs(steps) < 2.0**53, multiple, values)

    def grown(self, parameters: FloatArray, factor: float) -> FloatArray:
        return parameters * factor
