"""A privacy setting: one mechanism with its parameters, as a small frozen value."""

import math
from collections.abc import Iterable

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import SettingError
from halfmask.mechanisms.mechanism import Kind, Mechanism
from halfmask.mechanisms.mechanism_registry import mechanism
from halfmask_device.setting import READING, TOTAL, Setting


class PrivacySetting(Setting):
    """A setting of any mechanism, f(eta, theta) in the paper, with its law and its sampler."""

    def _check(self) -> None:
        law = self.law
        if self.inner is not None and not law.holds_inner:
            raise SettingError(
                f"{self.mechanism} cannot hold {self.inner}: only clip can, as in clip:0,10/laplace:1", kind="inner"
            )
        if self.inner is not None and self.inner.law.holds_inner:
            raise SettingError(
                f"clip cannot hold {self.inner}: one clip does for both, with the narrower bounds", kind="inner"
            )
        law.check(self.parameters)

    @property
    def law(self) -> Mechanism:
        """The mechanism, with its methods for any parameters."""
        return mechanism(self.mechanism)

    @property
    def noise(self) -> "PrivacySetting":
        """The setting that draws noise: the inner setting if there is one, else the setting itself."""
        return self.inner or self

    @property
    def variance(self) -> float:
        """E psi^2 of a setting that has a noise law."""
        return float(self.moments[1])

    @property
    def deviation(self) -> float:
        """sqrt(E psi^2) of a setting that has a noise law."""
        return float(np.sqrt(self.moments[1]))

    @property
    def moments(self) -> FloatArray:
        """E|psi|^k for k = 1..4 of a setting that has a noise law."""
        return np.asarray(self.law.moments(np.array([self.parameters]))[0])

    @property
    def support(self) -> float:
        """sup |psi| of a setting that has a noise law; infinite if unbounded or unknown."""
        return float(self.law.support(np.array([self.parameters]))[0])

    def cdf(self, y: FloatArray) -> FloatArray:
        """P(|psi| <= y) of a setting that has a noise law, for y (J,)."""
        return np.asarray(self.law.cdf(np.array([self.parameters]), y)[0])

    def pure_epsilon(self, change: float) -> float | None:
        """Return sup |log p(x)/p(x - d)| over changes d up to ``change``; None if infinite or unknown."""
        return self.law.pure_epsilon(self.parameters, change)

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return ``size`` independent draws of psi."""
        return self.law.sample(np.array(self.parameters), size, rng)

    @property
    def silent(self) -> bool:
        """Whether it leaves every value unchanged: it has a noise law, and P(psi = 0) = 1."""
        if self.kind == "direct":
            return False
        return bool(self.cdf(np.zeros(1))[0] >= 1)

    @property
    def kind(self) -> Kind:
        """The kind of masking; "direct" settings do not have a noise law."""
        return self.law.kind

    @property
    def per_user(self) -> bool:
        """Whether ``mask`` needs all values of one user together."""
        return self.law.per_user or (self.inner is not None and self.inner.per_user)

    def grown(self, factor: float) -> "PrivacySetting":
        """Return the setting with ``factor`` times the noise, parameters rounded to 12 digits."""
        parameters = self.law.surely_grown(np.array([self.parameters]), factor)[0]
        rounded = tuple(float(f"{each:.12g}") for each in parameters)
        inner = None if self.inner is None else self.inner.grown(factor)
        return PrivacySetting(self.mechanism, rounded, inner, self.release)

    @classmethod
    def of_deviation(cls, name: str, deviation: float) -> "PrivacySetting":
        """Return a mechanism's setting with this standard deviation, by scaling its `unit_parameters`."""
        law = mechanism(name)
        if law.unit_parameters is None:
            raise SettingError(
                f"{name} has no ordinary form to grow to a deviation: write its parameters out", kind="grown"
            )
        unit = cls(name, law.unit_parameters)
        parameters = law.surely_grown(np.array([unit.parameters]), deviation / math.sqrt(unit.variance))
        return cls(name, parameters[0].tolist())

    def mask(self, values: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return the masked values, with the inner setting applied too."""
        masked = self.law.mask(np.array(self.parameters), values, rng)
        return masked if self.inner is None else self.inner.mask(masked, rng)


def release_of(settings: Iterable[PrivacySetting]) -> str:
    """Return what all these settings release; raise a SettingError if some release readings and others totals.

    Totals that are masked and totals that are split can be offered together: both are then `TOTAL`.
    """
    first: PrivacySetting | None = None
    found = READING
    for each in settings:
        first = first or each
        if (each.release == READING) != (first.release == READING):
            raise SettingError(
                f"{first} masks each {first.release} and {each} each {each.release}: their errors and promises are "
                "about different things, so put them into two menus",
                kind="release",
            )
        found = each.release if each is first or each.release == found else TOTAL
    return found
