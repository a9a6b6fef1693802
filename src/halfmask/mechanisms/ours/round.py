"""Rounding."""

import numpy as np

from halfmask.mechanisms.base import Floats, Mechanism


class Round(Mechanism):
    """The nearest multiple of ``step``, halves to the even multiple; step 0 leaves the value as it is."""

    name = "round"
    kind = "direct"
    deterministic = True
    parameter_names = ("step",)

    def mask(self, parameters: Floats, values: Floats, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        step = parameters[0]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            steps = values / step
            multiple = step * np.rint(steps)
        # From 2^53 steps on every float is a multiple already, as far as floats can tell.
        return np.where(np.abs(steps) < 2.0**53, multiple, values)

    def grown(self, parameters: Floats, factor: float) -> Floats:
        return parameters * factor
