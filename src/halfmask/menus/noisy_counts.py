"""Counts about producers, released with discrete Laplace noise under one epsilon for everything about one producer.

Each count of `producer_votes.COUNTS` that is released gets a share of epsilon in proportion to its weight, e_i. Its
cells get independent noise of scale ceil(change/e_i), in parts of a vote:

    P(noise = k) = tanh(1/(2 scale)) exp(-|k|/scale)

Proof. Counts and noise are whole numbers, and the noise is drawn exactly, in integers, by the sampler that devices use,
from the operating system's randomness. A producer changes count i by at most ``change_i`` in the sum of absolute
differences, so the probability of any outcome of all its cells changes by at most a factor exp(change_i/scale_i), which
is at most exp(e_i) because scales are rounded up. The counts' noises are independent, so the factors multiply:
exp(e_1 + e_2 + ...) = exp(epsilon) at delta 0 (sequential composition). Everything that is computed from the noisy
counts and from public facts alone is post-processing and costs nothing.
"""

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.menus.producer_votes import COUNTS, VOTE
from halfmask_device import Lattice, noise
from halfmask_device.decimals import number_text

WHOLE = Lattice("1", "0", "1")
QUANTILE = math.log(20) / math.sqrt(2)
"""95 % of Laplace noise is within this many standard deviations, and more of a sum of several draws."""


def noise_scales(names: Iterable[str], epsilon: float) -> dict[str, int]:
    """Return the scale of the noise of each count, in parts of a vote; together they spend at most epsilon."""
    if not 0 < epsilon < math.inf:
        raise OptionError(f"the summary's epsilon is {epsilon:g}: give a number above 0, like 1", kind="epsilon")
    chosen = {name: COUNTS[name] for name in names}
    whole = sum(each.weight for each in chosen.values())
    a_weight = Fraction(number_text(epsilon)) / whole
    return {name: math.ceil(each.change / (each.weight * a_weight)) for name, each in chosen.items()}


def release(votes: dict[str, IntArray], epsilon: float) -> dict[str, FloatArray]:
    """Return the sum over producers of each count's votes, with noise, in votes.

    The noise does not have a seed, which would have to be kept secret.
    """
    scales = noise_scales(votes, epsilon)
    return {name: in_votes(noised(of.sum(axis=0).tolist(), scales[name])) for name, of in votes.items()}


def noised(counts: list[int], scale: int) -> list[int]:
    """Return whole numbers with discrete Laplace noise of this scale."""
    drawn = noise(f"laplace:{scale}", WHOLE, len(counts))
    return [count + each for count, each in zip(counts, drawn, strict=True)]


def in_votes(parts: list[int]) -> FloatArray:
    """Return whole numbers of parts as votes."""
    return np.array(parts, float) / VOTE
