"""Random rewards, with which the effects of money and of privacy on choices can be separated."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError

LEVELS = 4


def designed(settings: int, groups: int, low: int, high: int, rng: np.random.Generator) -> FloatArray:
    """Return random integer rewards from ``low`` to ``high`` for each group of producers: (groups, settings).

    For each setting, equally spaced levels occur equally often, in random order (a Latin hypercube). So rewards are
    almost
    uncorrelated with privacy and with each other.
    """
    if not 0 <= low < high:
        raise OptionError(f"rewards from {low} to {high} do not vary: give a range from 0 or more up", kind="range")
    if groups < 2:
        raise OptionError(f"{groups} group(s) cannot show what rewards do: take 2 or more", kind="groups")
    levels = np.linspace(low, high, min(LEVELS, groups, high - low + 1))
    column = np.resize(levels, groups)
    return np.asarray(np.rint(np.column_stack([rng.permutation(column) for _ in range(settings)])))
