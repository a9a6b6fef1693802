"""Noise that is a scale times one law: its entropy is a smooth function of the scale, so a few scales serve all.

Entropies are computed at the scales 2^(k / `PER_OCTAVE`) and are polynomials through `POINTS` of them between. That is
as good as computing each (some 1e-6 bits) where the law has a smooth density and no bound: a bound that passes the edge
of a bin leaves a kink. It is tried on some scales, and each is computed by itself where it misses by `ALLOWED`.
"""

from collections.abc import Callable

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.base import Mechanism
from halfmask.mechanisms.scaled import ScaledNoise

PER_OCTAVE = 4
POINTS = 6
TRIED = 12
ALLOWED = 1e-4  # bits of entropy
ALLOWED_SCATTER = 0.01  # of the entropy's standard deviation, as a share

Entropies = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Entropy of settings (settings, subsets), and its variance and covariances (settings, subsets, 3), as
`LocalErrors.entropies` has them."""


def between_scales(law: Mechanism, parameters: FloatArray, exactly: Entropies) -> Entropies | None:
    """What ``exactly`` says of these settings, from few of them; None where there are too few, or it does not do."""
    if not isinstance(law, ScaledNoise) or np.isfinite(law.unit_support) or law.lattice(tuple(parameters[0].tolist())):
        return None
    scale = parameters[:, 0]
    least, most = float(scale.min()), float(scale.max())
    if not 1e-150 < least <= most < 1e150:
        return None
    first = int(np.floor(PER_OCTAVE * np.log2(least))) - POINTS // 2 + 1
    count = int(np.floor(PER_OCTAVE * np.log2(most))) + POINTS // 2 + 1 - first
    if 2 * (count + TRIED) > len(parameters):
        return None
    entropy, noise = exactly(np.exp2((first + np.arange(count)) / PER_OCTAVE)[:, None])
    noise = noise / _units(np.exp2((first + np.arange(count)) / PER_OCTAVE))
    known = np.concatenate([entropy[..., None], noise], axis=2).reshape(count, -1)

    def between(settings: FloatArray) -> tuple[FloatArray, FloatArray]:
        place = PER_OCTAVE * np.log2(settings[:, 0])
        low = np.floor(place).astype(np.int64) - POINTS // 2 + 1
        weights = np.zeros((len(settings), count))
        for point, share in enumerate(_lagrange(place - low).T):
            weights[np.arange(len(settings)), low - first + point] = share
        found = (weights @ known).reshape(len(settings), entropy.shape[1], 4)
        return found[..., 0], found[..., 1:] * _units(settings[:, 0])

    tried = parameters[np.unique(np.linspace(0, len(parameters) - 1, TRIED).astype(int))]
    return between if _alike(between(tried), exactly(tried)) else None


def _units(scale: FloatArray) -> FloatArray:
    """In which the entropy's variance and its covariances with mean and mean square change little with the scale."""
    return np.stack([np.ones(len(scale)), scale, scale**2], axis=1)[:, None]


def _lagrange(place: FloatArray) -> FloatArray:
    """Weights of the values at 0, 1, ..., `POINTS` - 1 in the polynomial through them."""
    weights = np.ones((len(place), POINTS))
    for a in range(POINTS):
        for b in range(POINTS):
            if a != b:
                weights[:, a] *= (place - b) / (a - b)
    return weights


def _alike(found: tuple[FloatArray, FloatArray], exact: tuple[FloatArray, FloatArray]) -> bool:
    scatter, own = (np.sqrt(np.maximum(each[1][..., 0], 0)) for each in (found, exact))
    near = np.abs(found[0] - exact[0]).max() < ALLOWED
    return bool(near and (np.abs(scatter - own) <= ALLOWED_SCATTER * own + 1e-9).all())
