# ruff: noqa: ARG002 - the defaults here need not look at what they are given
"""What every masking mechanism is: a name, checked parameters, a way to mask, and where there is one a noise law.

A law works on arrays of parameters, one row a setting, because a grid holds a million of them:

    parameters  (S, P)   S settings of P parameters each
    y           (J,) or (S, J)   values of |psi|, shared by all settings or each its own
"""

import math
from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from halfmask.errors import SettingError
from halfmask_device.decimals import number_text

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Kind = Literal["additive", "relative", "direct"]


class Mechanism(ABC):
    """One masking mechanism, for all of its parameters; it holds no state.

    ``kind``             "additive": m = s + psi; "relative": m = s (1 + psi); "direct": its own rule, no law
    ``parameter_names``  what the parameters are called, in their order
    ``estimated``        the law is estimated from a sample, not known: say so beside results
    ``per_user``         ``mask`` must see all values of one user together
    """

    name: str
    kind: Kind = "additive"
    parameter_names: tuple[str, ...] = ()
    estimated: bool = False
    per_user: bool = False

    def names(self, count: int) -> tuple[str, ...]:
        """Names of the parameters when ``count`` are given; of another length where that many do not fit."""
        return self.parameter_names

    def check(self, parameters: tuple[float, ...]) -> None:
        """Raise a SettingError with the reason unless the parameters are as many as named, finite and not negative."""
        self.check_count(parameters)
        for name, value in zip(self.names(len(parameters)), parameters, strict=True):
            if not 0 <= value < math.inf:
                raise SettingError(f"{self.name}: {name} is {number_text(value)}; it must be finite, 0 or above")

    def check_count(self, parameters: tuple[float, ...]) -> None:
        """Raise a SettingError unless there are as many parameters as the mechanism has names."""
        names = self.names(len(parameters))
        if len(names) != len(parameters):
            form = f"{self.name}:{','.join(names)}".removesuffix(":")
            raise SettingError(f"{self.name} takes {len(names)} parameter(s), {len(parameters)} given: write {form}")

    @abstractmethod
    def mask(self, parameters: Floats, values: Floats, rng: np.random.Generator) -> Floats:
        """Masked values under one setting (parameters of shape (P,)); NaN stays NaN."""

    def cdf(self, parameters: Floats, y: Floats) -> Floats:
        """P(|psi| <= y), shape (S, J)."""
        raise self._no_law()

    def moments(self, parameters: Floats) -> Floats:
        """E|psi|^k for k = 1..4, shape (S, 4); inf where the value is beyond the largest float."""
        raise self._no_law()

    def support(self, parameters: Floats) -> Floats:
        """sup |psi|, shape (S,); inf where unbounded or unknown."""
        raise self._no_law()

    def sample(self, parameters: Floats, size: int, rng: np.random.Generator) -> Floats:
        """``size`` independent draws of psi, signed, under one setting (parameters of shape (P,))."""
        raise self._no_law()

    def sample_sum(self, parameters: Floats, n: Integers, rng: np.random.Generator) -> Floats | None:
        """For each n_t one exact draw of the sum of n_t independent psi, or None where no closed form is known."""
        return None

    def _no_law(self) -> SettingError:
        return SettingError(f"{self.name} has no noise law: evaluate it with the direct engine")


class Noise(Mechanism):
    """A mechanism that draws psi independently of the value; subclasses give its law and its sampler."""

    @abstractmethod
    def sample(self, parameters: Floats, size: int, rng: np.random.Generator) -> Floats: ...

    def mask(self, parameters: Floats, values: Floats, rng: np.random.Generator) -> Floats:
        """s + psi, or s (1 + psi) where the kind is relative."""
        psi = self.sample(parameters, values.size, rng).reshape(values.shape)
        with np.errstate(over="ignore"):
            return values * (1 + psi) if self.kind == "relative" else values + psi


def in_scales(y: Floats, scale: Floats) -> Floats:
    """y / scale for y (J,) or (S, J) and scale (S, 1), made fit for a distribution function.

    Negative y give 0, where a continuous law has no mass below. Scale 0 means no noise: all mass at 0, so
    y >= 0 counts as infinitely many scales.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio: Floats = np.maximum(y, 0.0) / scale
    still = scale == 0
    if still.any():
        ratio = np.where(still, np.where(np.asarray(y) >= 0, np.inf, 0.0), ratio)
    return ratio


def powers(scale: Floats) -> Floats:
    """scale^k for k = 1..4, shape (S, 4), overflowing to inf."""
    with np.errstate(over="ignore"):
        result: Floats = scale[:, None] ** np.arange(1, 5)
    return result


def signs(size: int, rng: np.random.Generator) -> Floats:
    """Fair coins, -1 or 1."""
    return np.where(rng.random(size) < 0.5, -1.0, 1.0)
