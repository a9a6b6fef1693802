"""Parse a privacy setting, and find the law of its noise on a lattice.

Only this module parses the text of settings. `halfmask.mechanisms.setting.PrivacySetting` adds what needs numpy, and
the mechanisms that devices cannot draw.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property, lru_cache, total_ordering
from typing import Any, NamedTuple, Self

from halfmask_device.decimals import number_text, parse_number
from halfmask_device.errors import SettingError
from halfmask_device.law import DeviceMechanism, Law
from halfmask_device.laws import MECHANISMS
from halfmask_device.laws.none import Silence

FURTHEST = 2**63
MOST_UNMASKED = 0.9
"""Largest accepted P(k = 0), the probability that noise leaves the reading unchanged."""
WARN_UNMASKED = 0.5
"""Largest P(k = 0) without a warning."""
READING, TOTAL, SPLIT = "reading", "total", "split"
"""What a setting masks: each reading, the device's total of a period, or the total over all devices."""


@total_ordering
class Setting(ABC):
    """A mechanism with valid parameters. It is immutable and hashable, and is ordered by mechanism, then by numbers.

    Its text is ``mechanism:p1,p2,...``, or ``clip:lo,hi/inner`` with an ``inner`` setting that masks the clipped
    values. A suffix names its `release`: ``laplace:2.5@total`` masks the total of a period. Without a suffix, each
    reading is masked. It is not a dataclass, so that files contain it as text (`halfmask.plain`).
    """

    mechanism: str
    parameters: tuple[float, ...]
    inner: Self | None
    release: str

    def __init__(
        self, mechanism: str, parameters: Iterable[float] = (), inner: Self | None = None, release: str = READING
    ) -> None:
        # + 0.0 turns -0.0 into 0.0, so that equal settings print alike.
        numbers = tuple(float(p) + 0.0 for p in parameters)
        vars(self).update(mechanism=mechanism, parameters=numbers, inner=inner, release=release)
        if not all(map(math.isfinite, self.parameters)):
            raise SettingError(f"{self}: parameters must be finite numbers", kind="range")
        self._check()

    @abstractmethod
    def _check(self) -> None:
        """Raise a SettingError if the mechanism is unknown or does not accept the parameters or the inner setting."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name}: a privacy setting does not change; make another one")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``mechanism:p1,p2,...``, ``none`` or ``clip:lo,hi/inner``, with or without ``@total`` or ``@split``."""
        part = split_setting(text)
        inner = None if part.inner is None else cls.parse(part.inner)
        return cls(part.mechanism, part.parameters, inner, part.release)

    def __str__(self) -> str:
        numbers = ",".join(map(number_text, self.parameters))
        own = f"{self.mechanism}:{numbers}" if self.parameters else self.mechanism
        return (own if self.inner is None else f"{own}/{self.inner}") + suffix(self.release)

    def released(self, release: str) -> Self:
        """Return the same setting with another release."""
        return self if release == self.release else type(self)(self.mechanism, self.parameters, self.inner, release)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Setting) and self._order == other._order

    def __lt__(self, other: object) -> bool:
        return self._order < other._order if isinstance(other, Setting) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._order)

    @cached_property
    def _order(self) -> tuple[Any, ...]:
        return self.mechanism, self.parameters, () if self.inner is None else self.inner._order, self.release


class WrittenSetting(NamedTuple):
    """The parts of a setting's text: mechanism, numbers, text of the inner setting (or None), and release."""

    mechanism: str
    parameters: tuple[float, ...]
    inner: str | None
    release: str


def suffix(release: str) -> str:
    """Return the suffix of a setting's text for this release."""
    return "" if release == READING else f"@{release}"


def split_release(text: str) -> tuple[str, str]:
    """Split the text of a setting or grid into the text without its suffix, and the release."""
    law, at, release = text.strip().partition("@")
    if at and release not in (TOTAL, SPLIT):
        raise SettingError(
            f"{text[:80]!r} ends in @{release[:20]}: write @{TOTAL}, @{SPLIT} or neither", kind="release"
        )
    return law.strip(), release or READING


def split_setting(text: str) -> WrittenSetting:
    """Split a setting's text into its parts."""
    law, release = split_release(text)
    outer, slash, inner = law.partition("/")
    if "/" in inner:
        raise SettingError(f"{text[:80]!r} holds more than one inner setting: write clip:lo,hi/inner", kind="inner")
    mechanism, colon, numbers = (part.strip() for part in outer.partition(":"))
    if colon and not numbers:
        raise SettingError(f"{text[:80]!r}: no parameter follows the colon", kind="count")
    parameters = tuple(parse_number(number, text) for number in numbers.split(",")) if colon else ()
    return WrittenSetting(mechanism, parameters, inner if slash else None, release)


class DeviceSetting(Setting):
    """A setting that a device can draw. Its parameters are exact decimals: 0.1 is one tenth."""

    @classmethod
    def parse(cls, text: str) -> "DeviceSetting":
        """Parse ``mechanism:p1,p2,...``, with or without ``@total`` or ``@split``."""
        return _parsed(text)

    def _check(self) -> None:
        if self.mechanism not in MECHANISMS or self.inner is not None:
            raise SettingError(
                f"a device has no exact sampler for {str(self)[:80]!r}; it masks by {', '.join(MECHANISMS)}",
                kind="unknown",
            )
        self.known.check(self.parameters, self.mechanism)

    @property
    def known(self) -> DeviceMechanism:
        """The device's definition of the mechanism."""
        return MECHANISMS[self.mechanism]

    @cached_property
    def text(self) -> str:
        """The setting's text."""
        return str(self)

    @cached_property
    def exact(self) -> tuple[Fraction, ...]:
        """The parameters as exact fractions of their shortest decimals."""
        return tuple(Fraction(number_text(each)) for each in self.parameters)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> DeviceSetting:
    part = split_setting(text)
    inner = None if part.inner is None else _parsed(part.inner)
    return DeviceSetting(part.mechanism, part.parameters, inner, part.release)


@lru_cache(maxsize=64)
def law(setting: DeviceSetting, step: Fraction) -> Law:
    """Return the exact law of a setting's noise, in steps of the lattice.

    Raise a SettingError if more than `MOST_UNMASKED` of all readings would stay unchanged (except for ``none``), or if
    the noise exceeds 64-bit integers.
    """
    reach = setting.known.reach(setting.exact) / step
    if reach >= FURTHEST:
        raise SettingError(
            f"{setting.text[:80]} reaches beyond {FURTHEST} steps of {float(step):g}: "
            "take a coarser step or less noise",
            kind="reach",
        )
    found = setting.known.build(setting.exact, step) if reach > Fraction(1, 2) else Silence()
    if found.unmasked > MOST_UNMASKED and setting.parameters:  # only `none` takes no parameters
        raise SettingError(
            f"{setting.text[:80]} leaves {_share(found.unmasked)} of all readings as they are on a lattice of step "
            f"{float(step):g}, and at most {_share(MOST_UNMASKED)} are accepted: take a finer step or more noise, "
            "or say none if that is meant",
            kind="unmasked",
        )
    return found


def _share(chance: float) -> str:
    """Format a probability in percent, but never as "100 %" if it is below 1."""
    return "over 99.9 %" if 0.999 < chance < 1 else f"{100 * chance:.3g} %"


def law_of(setting: str, step: str | Fraction) -> Law:
    """Return the law of a setting and a step, both as text: ``law_of("laplace:0.5", "0.001")``."""
    return law(DeviceSetting.parse(setting), Fraction(step))


def unmasked_warning(setting: str, step: str | Fraction) -> str | None:
    """Return a warning if more than half of all readings stay unchanged; else None."""
    chance = law_of(setting, step).unmasked
    if not DeviceSetting.parse(setting).parameters or chance <= WARN_UNMASKED:
        return None
    size = f"{float(Fraction(step)):g}"
    return (
        f"{setting} leaves {_share(chance)} of all readings as they are on a lattice of step {size}: take a finer step "
        "or more noise"
    )
