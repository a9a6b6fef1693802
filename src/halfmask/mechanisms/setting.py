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
    """A setting of any mechanism (f(eta, theta) in the paper).

    Properties of the noise psi, such as `variance`, need a mechanism with a noise law (not of kind "direct").
    """

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
        """The mechanism, whose methods take parameters."""
        return mechanism(self.mechanism)

    @property
    def noise(self) -> "PrivacySetting":
        """The setting that draws noise: the inner setting if there is one, else the setting itself."""
        return self.inner or self

    @property
    def variance(self) -> float:
        """The variance E psi^2 of the noise."""
        return float(self.moments[1])

    @property
    def deviation(self) -> float:
        """The standard deviation sqrt(E psi^2) of the noise."""
        return float(np.sqrt(self.moments[1]))

    @property
    def moments(self) -> FloatArray:
        """The moments E|psi|^k of the noise for k = 1..4."""
        return np.asarray(self.law.moments(np.array([self.parameters]))[0])

    @property
    def support(self) -> float:
        """The least upper bound of |psi|; infinite if unbounded or unknown."""
        return float(self.law.support(np.array([self.parameters]))[0])

    def cdf(self, y: FloatArray) -> FloatArray:
        """Return P(|psi| <= y) for y (J,)."""
        return np.asarray(self.law.cdf(np.array([self.parameters]), y)[0])

    def pure_epsilon(self, change: float) -> float | None:
        """Return epsilon for changes of a reading up to ``change``, for delta = 0; None if infinite or unknown."""
        return self.law.pure_epsilon(self.parameters, change)

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return ``size`` independent draws of psi."""
        return self.law.sample(np.array(self.parameters), size, rng)

    @property
    def silent(self) -> bool:
        """Whether the setting leaves every value unchanged."""
        if self.kind == "direct":
            return False
        return bool(self.cdf(np.zeros(1))[0] >= 1)

    @property
    def kind(self) -> Kind:
        """The kind of masking: "additive", "relative" or "direct" (without a noise law)."""
        return self.law.kind

    @property
    def per_user(self) -> bool:
        """Whether ``mask`` needs all values of one user together."""
        return self.law.per_user or (self.inner is not None and self.inner.per_user)

    def grown(self, factor: float) -> "PrivacySetting":
        """Multiply the noise by ``factor``, and round parameters to 12 digits."""
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
        """Mask values; the inner setting is applied too."""
        masked = self.law.mask(np.array(self.parameters), values, rng)
        return masked if self.inner is None else self.inner.mask(masked, rng)


def release_of(settings: Iterable[PrivacySetting]) -> str:
    """Return the release that all settings share. Raise a SettingError if some mask readings and others totals.

    Masked totals and split totals may be combined; the result is then `TOTAL`.
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
