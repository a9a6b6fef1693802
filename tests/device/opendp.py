"""OpenDP's samplers of the same laws: an independent implementation to compare ours with."""

import math
from fractions import Fraction
from typing import Any

from halfmask_device import DeviceSetting, Lattice


def opendp_noise(setting: str, lattice: Lattice, count: int) -> list[int]:
    """Draws of k by OpenDP, for laplace, gaussian and geometric."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian, make_laplace
    from opendp.metrics import l1_distance, l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    parsed = DeviceSetting.parse(setting)
    make, distance = (make_gaussian, l2_distance) if parsed.mechanism == "gaussian" else (make_laplace, l1_distance)
    scale = float_above(parsed.exact[0] / lattice.unit)
    measurement: Any = make(vector_domain(atom_domain(T="i64")), distance(T="i64"), scale)
    return list(measurement([0] * count))


def float_above(scale: Fraction) -> float:
    """The least float that is not below ``scale``."""
    nearest = float(scale)
    return nearest if Fraction(nearest) >= scale else math.nextafter(nearest, math.inf)
