"""Mechanisms of a device that stand in one file each. A file that stands here is found, by its `MECHANISM`."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from pkgutil import iter_modules

from halfmask_device.law import Law


@dataclass(frozen=True)
class DeviceMechanism:
    """``build(parameters, step)`` is the law in steps; ``reach`` is what |psi| exceeds with a chance of exp(-32)."""

    name: str
    parameters: tuple[str, ...]
    build: Callable[[tuple[Fraction, ...], Fraction], Law]
    reach: Callable[[tuple[Fraction, ...]], Fraction]


def found() -> dict[str, DeviceMechanism]:
    """Every mechanism of this folder, by name."""
    modules = (import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__))
    return {each.MECHANISM.name: each.MECHANISM for each in modules}
