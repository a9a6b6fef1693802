"""Mechanisms of the device, one file each. Every file of this folder is loaded and must define `MECHANISM`.

`laplace` and `gaussian` are drawn in their discrete forms, most others as round(psi/step). A discrete form differs from
the rounded continuous one, and so does its guarantee: it follows from `Law.mass`.
"""

from importlib import import_module
from pkgutil import iter_modules

from halfmask_device.law import DeviceMechanism


def _found() -> dict[str, DeviceMechanism]:
    modules = (import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__))
    return {each.MECHANISM.name: each.MECHANISM for each in modules}


MECHANISMS = _found()
"""Every mechanism that a device can draw, by name."""
