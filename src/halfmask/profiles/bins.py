"""Logarithmic bins, in which a profile counts the sizes of readings.

Bin ``k`` holds the readings with ``k <= BINS_PER_OCTAVE log2 |s| + GUARD < k + 1``. The guard puts an exact power of
two into the bin that it opens, whatever the last bit of an engine's logarithm is.

A profile sums |s|^-k up to k = 4, which overflows if |s| is below 1e-77. No sensor measures such values: below
`SMALLEST` they are left over from a computation. Every pass and both methods read them as 0, and count them.

A profile also sums s^k up to k = 4, and noise as large as the readings has moments up to the fourth. Readings above
`LARGEST` are profiled and shown, but not evaluated, because their powers and sums would overflow.
"""

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray

BINS_PER_OCTAVE = 64
GUARD = 1e-9
SMALLEST = 1e-60
LARGEST = 1e60


def bin_of(size: npt.ArrayLike) -> IntArray:
    """Return the bin of each finite ``|s|`` of `SMALLEST` or more."""
    return np.asarray(np.floor(np.log2(np.asarray(size, float)) * BINS_PER_OCTAVE + GUARD), np.int64)


def edge(index: npt.ArrayLike) -> FloatArray:
    """Return the smallest ``|s|`` of a bin: ``2^(k / BINS_PER_OCTAVE)``."""
    return np.asarray(np.exp2(np.asarray(index, float) / BINS_PER_OCTAVE))


def centre(index: npt.ArrayLike) -> FloatArray:
    """Return the geometric middle of a bin."""
    return edge(np.asarray(index, float) + 0.5)
