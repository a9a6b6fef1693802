"""Clipping, alone or before another setting."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import SettingError
from halfmask.mechanisms.mechanism import Mechanism, Parameters


class Clip(Mechanism):
    """Clip values to ``lo`` and ``hi``. In ``clip:lo,hi/inner``, the inner setting then masks the result."""

    name = "clip"
    kind = "direct"
    deterministic = True
    holds_inner = True
    parameter_names = ("lo", "hi")

    def check(self, parameters: Parameters) -> None:
        self.check_count(parameters)
        lo, hi = parameters
        if not -np.inf < lo <= hi < np.inf:
            raise SettingError(
                f"clip: lo {lo:g} and hi {hi:g} do not bound a range; both must be finite, lo <= hi", kind="range"
            )

    def mask(self, parameters: FloatArray, values: FloatArray, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        return np.clip(values, parameters[0], parameters[1])

    def width(self, parameters: Parameters) -> float:
        return parameters[1] - parameters[0]

    def grown(self, parameters: FloatArray, factor: float) -> FloatArray:
        return parameters * factor
