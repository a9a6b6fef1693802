"""Logarithmic bins, in which a profile counts readings by size.

Bin ``k`` holds the readings with ``k <= BINS_PER_OCTAVE log2 |s| + GUARD < k + 1``. `GUARD` puts an exact power of two
into the bin that it opens, even if the engine's logarithm is rounded down.

A profile contains sums of |s|^-k and s^k up to k = 4, so very small and very large readings would overflow. Sizes below
`SMALLEST` are rounding errors and count as 0. Readings above `LARGEST` are profiled and shown, but not evaluated.
"""

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray

BINS_PER_OCTAVE = 64
GUARD = 1e-9
SMALLEST = 1e-60
LARGEST = 1e60


def bin_of(size: npt.ArrayLike) -> IntArray:
    """Return the bin of each size ``|s|``, which must be finite and at least `SMALLEST`."""
    return np.asarray(np.floor(np.log2(np.asarray(size, float)) * BINS_PER_OCTAVE + GUARD), np.int64)


def edge(index: npt.ArrayLike) -> FloatArray:
    """Return the smallest ``|s|`` of a bin: ``2^(k / BINS_PER_OCTAVE)``."""
    return np.asarray(np.exp2(np.asarray(index, float) / BINS_PER_OCTAVE))


def centre(index: npt.ArrayLike) -> FloatArray:
    """Return the geometric middle of a bin."""
    return edge(np.asarray(index, float) + 0.5)
