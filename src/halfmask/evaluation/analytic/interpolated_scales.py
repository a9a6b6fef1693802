"""The entropy of noise that is a scale times one law, by a spline through a few scales.

If the law has a smooth density and no bound, the entropy is a smooth function of the logarithm of the scale. It is
computed at `PER_OCTAVE` scales per octave. Bounded laws are computed setting by setting, because the entropy has a kink
at every scale for which the bound passes the edge of a bin.
"""

from collections.abc import Callable

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.mechanism import Mechanism
from halfmask.mechanisms.scaled_noise import ScaledNoise

PER_OCTAVE = 4

Entropies = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Entropy of settings (settings, subsets), and its variance and covariances (settings, subsets, 3), as in
`LocalErrors.closed_form`.
"""


def between_scales(law: Mechanism, parameters: FloatArray, exactly: Entropies) -> Entropies | None:
    """Return an interpolation of ``exactly`` for these settings; None if the law does not allow it, or
    it saves little.
    """
    if not isinstance(law, ScaledNoise) or np.isfinite(law.unit_support) or law.lattice(tuple(parameters[0].tolist())):
        return None
    least, most = float(parameters[:, 0].min()), float(parameters[:, 0].max())
    if not 1e-150 < least <= most < 1e150:
        return None
    nodes = np.arange(np.floor(PER_OCTAVE * np.log2(least)) - 2, PER_OCTAVE * np.log2(most) + 3) / PER_OCTAVE
    if 3 * len(nodes) > len(parameters):
        return None
    from scipy.interpolate import CubicSpline  # here, because SciPy takes long to import

    entropy, noise = exactly(np.exp2(nodes)[:, None])
    units = np.arange(3.0)  # the variance of the entropy and its covariances go as these powers of the scale
    splines = CubicSpline(nodes, entropy), CubicSpline(nodes, noise * np.exp2(-nodes[:, None, None] * units))

    def between(settings: FloatArray) -> tuple[FloatArray, FloatArray]:
        place = np.log2(settings[:, 0])
        return splines[0](place), splines[1](place) * np.exp2(place[:, None, None] * units)

    return between
