"""A privacy setting: one mechanism with its parameters, as a small frozen value."""

import math
from collections.abc import Iterable
from functools import total_ordering
from typing import Any

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import SettingError
from halfmask.mechanisms.base import Kind
from halfmask.mechanisms.mechanism import Mechanism, mechanism
from halfmask_device.decimals import number_text, parse_number


@total_ordering
class PrivacySetting:
    """A mechanism with valid parameters, f(eta, theta) in the paper: frozen, hashable, ordered.

    It prints as ``mechanism:p1,p2,...``. ``inner`` is for ``clip`` only: the setting that masks the clipped values, or
    None to share them as clipped. It is not a dataclass, so that files hold it as one text (`halfmask.plain`).
    """

    mechanism: str
    parameters: tuple[float, ...]
    inner: "PrivacySetting | None"

    def __init__(self, mechanism: str, parameters: Iterable[float] = (), inner: "PrivacySetting | None" = None) -> None:
        # + 0.0 turns -0.0 into 0.0, so that equal settings print alike.
        vars(self).update(mechanism=mechanism, parameters=tuple(float(p) + 0.0 for p in parameters), inner=inner)
        if self.inner is not None and not self.law.holds_inner:
            raise SettingError(f"{self.mechanism} cannot hold {self.inner}: only clip can, as in clip:0,10/laplace:1")
        if self.inner is not None and self.inner.law.holds_inner:
            raise SettingError(f"clip cannot hold {self.inner}: one clip does for both, with the narrower bounds")
        if not all(map(math.isfinite, self.parameters)):
            raise SettingError(f"{self}: parameters must be finite numbers")
        self.law.check(self.parameters)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name}: a privacy setting does not change; make another one")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrivacySetting) and self._order == other._order

    def __hash__(self) -> int:
        return hash(self._order)

    def __repr__(self) -> str:
        return f"PrivacySetting({str(self)!r})"

    @classmethod
    def parse(cls, text: str) -> "PrivacySetting":
        """Parse ``mechanism:p1,p2,...``, ``none`` or ``clip:lo,hi/inner``."""
        outer, slash, inner = text.strip().partition("/")
        if "/" in inner:
            raise SettingError(f"{text[:80]!r} holds more than one inner setting: write clip:lo,hi/inner")
        name, colon, numbers = outer.partition(":")
        law = mechanism(name.strip())
        if slash and not law.holds_inner:
            raise SettingError(f"{text[:80]!r}: only clip holds another setting, as in clip:0,10/laplace:0.5")
        if colon and not numbers.strip():
            raise SettingError(f"{text[:80]!r}: no parameter follows the colon")
        parameters = tuple(parse_number(number, text) for number in numbers.split(",")) if colon else ()
        return cls(law.name, parameters, cls.parse(inner) if slash else None)

    def __str__(self) -> str:
        numbers = ",".join(map(number_text, self.parameters))
        own = f"{self.mechanism}:{numbers}" if self.parameters else self.mechanism
        return own if self.inner is None else f"{own}/{self.inner}"

    def __lt__(self, other: object) -> bool:
        return self._order < other._order if isinstance(other, PrivacySetting) else NotImplemented

    @property
    def _order(self) -> tuple[Any, ...]:
        return self.mechanism, self.parameters, () if self.inner is None else self.inner._order

    @property
    def law(self) -> Mechanism:
        """The mechanism, which holds its methods for any parameters."""
        return mechanism(self.mechanism)

    @property
    def noise(self) -> "PrivacySetting":
        """The setting that draws noise: the inner setting if there is one, else the setting itself."""
        return self.inner or self

    @property
    def variance(self) -> float:
        """E psi^2 of a setting that has a noise law."""
        return float(self.law.moments(np.array([self.parameters]))[0, 1])

    @property
    def silent(self) -> bool:
        """Whether it leaves every value unchanged: it has a noise law, and P(psi = 0) = 1."""
        if self.kind == "direct":
            return False
        return bool(self.law.cdf(np.array([self.parameters]), np.zeros(1))[0, 0] >= 1)

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
        parameters = self.law.grown(np.array([self.parameters]), factor)
        if parameters is None:
            raise SettingError(f"{self.mechanism} does not say how its parameters grow its noise: state grown(...)")
        rounded = tuple(float(f"{each:.12g}") for each in parameters[0])
        return PrivacySetting(self.mechanism, rounded, None if self.inner is None else self.inner.grown(factor))

    @classmethod
    def of_deviation(cls, name: str, deviation: float) -> "PrivacySetting":
        """Return a mechanism's setting with this standard deviation, by scaling its `unit_parameters`."""
        law = mechanism(name)
        if law.unit_parameters is None:
            raise SettingError(f"{name} has no ordinary form to grow to a deviation: write its parameters out")
        unit = cls(name, law.unit_parameters)
        parameters = law.grown(np.array([unit.parameters]), deviation / math.sqrt(unit.variance))
        if parameters is None:
            raise SettingError(f"{name} does not say how its parameters grow its noise: state grown(...)")
        return cls(name, tuple(parameters[0].tolist()))

    def mask(self, values: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return the masked values, with the inner setting applied too."""
        masked = self.law.mask(np.array(self.parameters), values, rng)
        return masked if self.inner is None else self.inner.mask(masked, rng)
