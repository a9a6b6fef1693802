"""The rounding of readings: the coarsest step of which a reading is a multiple.

Steps are 1, 2 or 5 times a power of ten, times the source's grain. The grain is 1 if readings have few decimals. In
converted units it is the smallest reading or a simple fraction of it. Step ``k`` is ``(1, 2, 5)[k % 3] 10^(k // 3 +
FIRST)`` grains.

A reading counts as rounded if it has at most four digits in grains. Bins that contain longer readings contain more than
a hundred multiples of a step, so that rounding does not matter there.
"""

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray
from halfmask.profiles.bins import BINS_PER_OCTAVE, bin_of

FIRST, PLACES = -15, 30
STEPS = 3 * PLACES
"""The number of steps. As an index, it means a reading that is not a multiple of any step."""
LOWEST, HIGHEST = 1000, 10000  # readings in units of their fourth digit
OFFSET = 1023 * BINS_PER_OCTAVE  # the exponent of doubles has this one
ALIKE = 1e-9  # share of a reading by which it may differ from a multiple
MOST_MULTIPLES = 1e7
CANDIDATES = [mantissa * 10.0**power for power in range(6, -10, -1) for mantissa in (5, 2, 1)]
WHOLE = 12  # the smallest reading may be so many grains


def coarsest_steps() -> npt.NDArray[np.uint8]:
    """Return the index of the coarsest step of each integer up to `HIGHEST`, relative to step 1."""
    whole = np.arange(HIGHEST)
    steps = np.zeros(HIGHEST, np.uint8)
    for zeros in range(4):
        digits, over = np.divmod(whole, 10**zeros)
        last = np.where(digits % 2, 0, 1) + np.where(digits % 5, 0, 2)
        steps[over == 0] = 3 * zeros + np.minimum(last, 2)[over == 0]
    steps[0] = 0  # for readings that are not a multiple of any step
    return steps


def digit_scales(grain: float) -> tuple[FloatArray, IntArray]:
    """Return two arrays over bins, from bin -`OFFSET` on: a factor and the index of a step.

    The factor converts the bin's smallest size to units of its fourth digit, and the step is that unit. If a size times
    the factor is `HIGHEST` or more, a tenth of the factor and the step plus 3 apply. Bins outside the range of all
    steps have the factor 0 and the step `STEPS`.
    """
    octaves = (np.arange(2048 * BINS_PER_OCTAVE) - OFFSET) / BINS_PER_OCTAVE
    place = np.floor(octaves * np.log10(2) - np.log10(grain) + 1e-12).astype(np.int64) - 3 - FIRST
    inside = (place >= 0) & (place < PLACES - 4)
    factors = 10.0 ** -np.arange(FIRST, FIRST + PLACES) / grain
    return np.where(inside, factors[np.where(inside, place, 0)], 0.0), np.where(inside, 3 * place, STEPS)


def steps_of(sizes: FloatArray, grain: float) -> IntArray:
    """Return the index of the coarsest step of which each positive size is a multiple; `STEPS` if there is none."""
    scales, steps = digit_scales(grain)
    sizes = np.minimum(sizes, np.finfo(float).max)  # of infinite totals
    place = bin_of(sizes) + OFFSET
    digits = sizes * scales[place]
    long = digits >= HIGHEST - 0.5
    digits = np.where(long, digits / 10, digits)
    whole = np.rint(digits).astype(np.int64)
    found = steps[place] + 3 * long + coarsest_steps()[whole]
    return np.where(np.abs(digits - whole) <= ALIKE * digits, found, STEPS)


def step_sizes(grain: float) -> FloatArray:
    """Return the size of each step."""
    return np.outer(10.0 ** np.arange(FIRST, FIRST + PLACES), (1.0, 2.0, 5.0)).ravel() * grain


def common_step(sizes: FloatArray) -> float | None:
    """Return the largest step (1, 2 or 5 times a power of ten) of which all sizes are multiples, or None."""
    return next((step for step in CANDIDATES if len(sizes) and _multiples(sizes, step)), None)


def grain_of(sizes: FloatArray) -> float:
    """Return the grain of readings, the unit of their rounding steps."""
    if not len(sizes) or common_step(sizes) is not None:
        return 1.0
    parts = (float(f"{sizes.min() / whole:.12g}") for whole in range(1, WHOLE + 1))
    return next((part for part in parts if _multiples(sizes, part)), 1.0)


@np.errstate(over="ignore", invalid="ignore")
def _multiples(sizes: FloatArray, step: float) -> bool:
    times = sizes / step
    whole = np.rint(times)
    return bool((whole > 0).all() and (np.abs(times - whole) <= ALIKE * whole).all() and whole.max() < MOST_MULTIPLES)
