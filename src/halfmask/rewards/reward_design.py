"""Rewards that teach: a schedule drawn at random, so that the effect of money can be separated from that of privacy."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError

LEVELS = 4


def designed(settings: int, groups: int, low: int, high: int, rng: np.random.Generator) -> FloatArray:
    """(groups, settings): whole rewards from ``low`` to ``high`` for each group of producers.

    Every setting sees equally spaced levels of reward equally often, in a different order (a Latin hypercube), so
    rewards are as good as uncorrelated with privacy and with each other.
    """
    if not 0 <= low < high:
        raise OptionError(f"rewards from {low} to {high} do not vary: give a range from 0 or more up", kind="range")
    if groups < 2:
        raise OptionError(f"{groups} group(s) cannot show what rewards do: take 2 or more", kind="groups")
    levels = np.linspace(low, high, min(LEVELS, groups, high - low + 1))
    column = np.resize(levels, groups)
    return np.asarray(np.rint(np.column_stack([rng.permutation(column) for _ in range(settings)])))
