"""A privacy setting as a device parses it, and the law of its noise on a lattice.

Parameters are exact decimals, not floats: 0.1 is one tenth.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

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


@dataclass(frozen=True)
class DeviceSetting:
    """One mechanism with exact parameters, checked when parsed; `parse` refuses whatever `PrivacySetting` refuses."""

    mechanism: str
    parameters: tuple[Fraction, ...]
    text: str

    @classmethod
    def parse(cls, text: str) -> "DeviceSetting":
        """Parse ``mechanism:p1,p2,...``."""
        return _parsed(text)

    @property
    def known(self) -> DeviceMechanism:
        """The device's definition of the mechanism."""
        return MECHANISMS[self.mechanism]


@lru_cache(maxsize=1024)
def _parsed(text: str) -> DeviceSetting:
    name, colon, numbers = (part.strip() for part in text.strip().partition(":"))
    if name not in MECHANISMS:
        raise SettingError(f"a device has no exact sampler for {text[:80]!r}; it masks by {', '.join(MECHANISMS)}")
    if colon and not numbers:
        raise SettingError(f"{text[:80]!r}: no parameter follows the colon")
    written = [number_text(parse_number(number, text) + 0.0) for number in numbers.split(",")] if colon else []
    parameters = tuple(map(Fraction, written))
    _check(MECHANISMS[name], parameters, written)
    return DeviceSetting(name, parameters, f"{name}:{','.join(written)}" if written else name)


def _check(known: DeviceMechanism, parameters: tuple[Fraction, ...], written: list[str]) -> None:
    names = known.parameters
    fits = parameters if names[-1:] == ("...",) else len(parameters) == len(names)
    if not fits:
        form = f"{known.name}:{','.join(names)}".removesuffix(":")
        raise SettingError(f"{known.name} does not take {len(parameters)} parameter(s): write {form}")
    for value, shown in zip(parameters, written, strict=True):
        if value < 0:
            raise SettingError(f"{known.name}: a parameter is {shown}; it must be 0 or above")
    if known.check:
        known.check(parameters)


@lru_cache(maxsize=64)
def law(setting: DeviceSetting, step: Fraction) -> Law:
    """Return the exact law of a setting's noise in steps of the lattice.

    Raise a SettingError if P(k = 0), the probability of an unchanged reading, is above `MOST_UNMASKED`; only ``none``
    may exceed it. Raise one also if the noise reaches beyond 64-bit integers, which consumers could not add up.
    """
    reach = setting.known.reach(setting.parameters) / step
    if reach >= FURTHEST:
        raise SettingError(
            f"{setting.text[:80]} reaches beyond {FURTHEST} steps of {float(step):g}: take a coarser step or less noise"
        )
    found = setting.known.build(setting.parameters, step) if reach > Fraction(1, 2) else Silence()
    if found.unmasked > MOST_UNMASKED and setting.parameters:  # only `none` takes no parameters
        raise SettingError(
            f"{setting.text[:80]} leaves {_share(found.unmasked)} of all readings as they are on a lattice of step "
            f"{float(step):g}, and at most {_share(MOST_UNMASKED)} are accepted: take a finer step or more noise, "
            "or say none if that is meant"
        )
    return found


def _share(chance: float) -> str:
    """Return a probability in percent; never "100 %" if it is below 1."""
    return "over 99.9 %" if 0.999 < chance < 1 else f"{100 * chance:.3g} %"


def law_of(setting: str, step: str | Fraction) -> Law:
    """Return the law of a setting and a step given as texts: ``law_of("laplace:0.5", "0.001")``."""
    return law(DeviceSetting.parse(setting), Fraction(step))


def unmasked_warning(setting: str, step: str | Fraction) -> str | None:
    """Return a warning if more than half of all readings stay unchanged, else None."""
    chance = law_of(setting, step).unmasked
    if not DeviceSetting.parse(setting).parameters or chance <= WARN_UNMASKED:
        return None
    size = f"{float(Fraction(step)):g}"
    return (
        f"{setting} leaves {_share(chance)} of all readings as they are on a lattice of step {size}: take a finer step "
        "or more noise"
    )
