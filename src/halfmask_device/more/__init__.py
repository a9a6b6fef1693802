"""Mechanisms of a device that stand in one file each. A file that stands here is found, by its `MECHANISM`."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from halfmask_device.law import Law


@dataclass(frozen=True)
class DeviceMechanism:
    """``build(parameters, step)`` is the law in steps; ``reach`` is what |psi| exceeds with a chance of exp(-32).

    For the ledger, where it has them: ``per_unit(parameters)`` is pure epsilon for each unit of a reading's change, and
    ``divergence(parameters, change, step, order)`` bounds the Renyi divergence of one report from above.
    """

    name: str
    parameters: tuple[str, ...]
    build: Callable[[tuple[Fraction, ...], Fraction], Law]
    reach: Callable[[tuple[Fraction, ...]], Fraction]
    per_unit: Callable[[tuple[Fraction, ...]], Fraction] | None = None
    divergence: Callable[[tuple[Fraction, ...], Fraction, Fraction, float], float] | None = None


@cache
def found() -> dict[str, DeviceMechanism]:
    """Every mechanism of this folder, by name."""
    modules = (import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__))
    return {each.MECHANISM.name: each.MECHANISM for each in modules}
