"""Where the noise comes from: OpenDP's samplers where it is installed and has the law, ours otherwise."""

import math
from fractions import Fraction
from typing import Any, Literal

from halfmask_device.errors import OptionError, RunError
from halfmask_device.laws import DiscreteGaussian, DiscreteLaplace, Law, law
from halfmask_device.setting import DeviceSetting

Backend = Literal["auto", "opendp", "own"]
_MOST = 1 << 48
"""OpenDP draws 64-bit integers and stops at the largest: at scales up to this, never within the age of the world."""


def sampler(setting: DeviceSetting, step: Fraction, backend: Backend = "auto") -> Law:
    """The law of a setting, drawn by OpenDP or by ourselves.

    ``auto`` takes OpenDP where it is installed and has the law; ``opendp`` insists on its being installed.
    """
    if backend not in ("auto", "opendp", "own"):
        raise OptionError(f"backend '{backend}' is not known: it is auto, opendp or own")
    ours = law(setting, step)
    if backend == "own" or not isinstance(ours, DiscreteLaplace | DiscreteGaussian):
        return ours
    if not 1 / _MOST < ours.scale < _MOST:
        return ours
    try:
        return OpenDPNoise(ours)
    except ImportError as error:
        if backend == "opendp":
            raise RunError("OpenDP is not installed: pip install 'halfmask[opendp]', or take backend own") from error
        return ours


class OpenDPNoise(Law):
    """A discrete law of ours, drawn by OpenDP: exact samplers too, on OpenSSL's generator, which the system seeds.

    OpenDP takes the scale as a float: the one at or just above ours, so that epsilon is not exceeded.
    """

    def __init__(self, ours: DiscreteLaplace | DiscreteGaussian) -> None:
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_gaussian, make_laplace
        from opendp.metrics import l1_distance, l2_distance
        from opendp.mod import enable_features

        enable_features("contrib")
        laplace = isinstance(ours, DiscreteLaplace)
        make, distance = (make_laplace, l1_distance) if laplace else (make_gaussian, l2_distance)
        self.measurement: Any = make(vector_domain(atom_domain(T="i64")), distance(T="i64"), float_above(ours.scale))

    def draw(self) -> int:
        return self.draws(1)[0]

    def draws(self, count: int) -> list[int]:
        return list(self.measurement([0] * count)) if count else []


def float_above(scale: Fraction) -> float:
    """The least float that is not below ``scale``."""
    nearest = float(scale)
    return nearest if Fraction(nearest) >= scale else math.nextafter(nearest, math.inf)
