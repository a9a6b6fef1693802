"""Mechanisms of the device, one file each: a file in this folder is found by its `MECHANISM`.

`laplace` and `gaussian` become their discrete forms; most others become round(psi/step). A discrete law is not the
continuous one rounded: its guarantee is its own, that of `Law.mass`.
"""

from importlib import import_module
from pkgutil import iter_modules

from halfmask_device.law import DeviceMechanism


def _found() -> dict[str, DeviceMechanism]:
    modules = (import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__))
    return {each.MECHANISM.name: each.MECHANISM for each in modules}


MECHANISMS = _found()
"""Every mechanism that a device can draw, by name."""
