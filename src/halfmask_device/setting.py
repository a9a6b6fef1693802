"""A privacy setting as a device reads it: parameters are the exact decimals that are written, not floats."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from halfmask_device.decimals import number_text, parse_number
from halfmask_device.errors import SettingError
from halfmask_device.more import found

NAMES: dict[str, tuple[str, ...]] = {
    "none": (),
    "laplace": ("b",),
    "gaussian": ("sigma",),
    "geometric": ("b", "step"),
    "uniform": ("a",),
    "staircase": ("epsilon", "delta", "gamma"),
    "sine": ("theta_0", "theta_1", "..."),
    "tabulated": ("y1", "c1", "y2", "c2", "..."),
    **{name: each.parameters for name, each in found().items()},
}
"""Mechanisms of a device and their parameters; `...` stands for more of the kind."""
UNFIT = {
    "relative-laplace": "its noise grows with the reading, so the size of a report tells the reading",
    "relative-gaussian": "its noise grows with the reading, so the size of a report tells the reading",
    "round": "it adds no noise, so that every report rules out all other readings",
    "microaggregate": "it needs all readings together, and adds no noise",
    "clip": "the published range clips every reading already; name the setting inside alone",
}


@dataclass(frozen=True)
class DeviceSetting:
    """One mechanism with exact parameters, valid by construction; `parse` refuses what `PrivacySetting` refuses."""

    mechanism: str
    parameters: tuple[Fraction, ...]
    text: str

    @classmethod
    def parse(cls, text: str) -> "DeviceSetting":
        """Read ``mechanism:p1,p2,...``; 0.1 is one tenth here, and not the float nearest to it."""
        return _parsed(text)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> DeviceSetting:
    name, colon, numbers = (part.strip() for part in text.strip().partition(":"))
    if name in UNFIT:
        raise SettingError(f"{text[:80]!r} is not for devices: {UNFIT[name]}; a device masks by {_known()}")
    if name not in NAMES:
        raise SettingError(f"a device has no exact sampler for {text[:80]!r}; it masks by {_known()}")
    if colon and not numbers:
        raise SettingError(f"{text[:80]!r}: no parameter follows the colon")
    written = [number_text(parse_number(number, text) + 0.0) for number in numbers.split(",")] if colon else []
    parameters = tuple(map(Fraction, written))
    _check(name, parameters, written)
    return DeviceSetting(name, parameters, f"{name}:{','.join(written)}" if written else name)


def _known() -> str:
    return ", ".join(NAMES)


def _check(name: str, parameters: tuple[Fraction, ...], written: list[str]) -> None:
    names, count = NAMES[name], len(parameters)
    fits = {"sine": count > 0, "tabulated": count > 0 and count % 2 == 0}.get(name, count == len(names))
    if not fits:
        form = f"{name}:{','.join(names)}".removesuffix(":")
        raise SettingError(f"{name} does not take {count} parameter(s): write {form}")
    for value, shown in zip(parameters, written, strict=True):
        if value < 0:
            raise SettingError(f"{name}: a parameter is {shown}; it must be 0 or above")
    if name == "geometric" and parameters[1] == 0:
        raise SettingError("geometric: step is 0, but its noise needs a step above 0; for none write laplace:b")
    if name == "staircase" and (parameters[0] == 0 or parameters[2] > 1):
        raise SettingError(f"staircase:{','.join(written)}: epsilon must be above 0, and gamma between 0 and 1")
    if name == "tabulated":
        _check_table(parameters[::2], parameters[1::2])


def _check_table(y: tuple[Fraction, ...], c: tuple[Fraction, ...]) -> None:
    if any(above <= below for below, above in pairwise((Fraction(0), *y))):
        raise SettingError("tabulated: the y must rise from 0")
    if any(above < below for below, above in pairwise((Fraction(0), *c))):
        raise SettingError("tabulated: the c must not fall")
    if c[-1] != 1:
        raise SettingError(f"tabulated: the last c is {float(c[-1]):g}; a distribution function ends at 1")
