"""What one pass over the readings counts and sums, before it is folded into a profile."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray

# Columns of the tables below.
CELL_SUMS = ("n", "s1", "s2", "s3", "s4")
USER_SUMS = ("sum_abs", "inverse1", "inverse2", "inverse3", "inverse4")
USER_COUNTS = ("rows", "zeros", "negatives", "nonfinite", "outside")


@dataclass(frozen=True)
class Plan:
    """How a pass cuts time, and which readings it leaves out.

    ``step``: sampling step in microseconds, None where unknown. ``chunk``: length of a cell; cells start at
    ``origin + k chunk``. Values outside ``[low, high]`` are implausible.
    """

    step: int | None
    chunk: int
    origin: int
    low: float = -np.inf
    high: float = np.inf


@dataclass
class Tally:
    """Counts and sums of usable readings, per user and per cell (user x chunk of time).

    ``clash`` marks the cells in which two readings fall in the same slot of the sampling step: the only places
    where duplicates can be. ``histogram`` counts ``|s|`` of non-zero readings in logarithmic bins, ``bin_sizes`` sums
    them over all users. ``tiny`` readings are among the zeros (see `bins.SMALLEST`).
    """

    users: list[str]
    user_sums: FloatArray
    user_counts: IntArray
    first: IntArray
    last: IntArray
    chunk0: int
    cells: FloatArray
    clash: npt.NDArray[np.bool_]
    bin0: int
    histogram: npt.NDArray[np.uint32]
    bin_sizes: FloatArray
    bin_negatives: IntArray
    unplaced: int = 0
    tiny: int = 0

    @classmethod
    def zeros(cls, users: list[str], chunk0: int, chunks: int, bin0: int, bins: int) -> "Tally":
        """An empty tally of the given size."""
        rows = len(users)
        return cls(
            users,
            np.zeros((rows, len(USER_SUMS))),
            np.zeros((rows, len(USER_COUNTS)), np.int64),
            np.full(rows, np.iinfo(np.int64).max),
            np.full(rows, np.iinfo(np.int64).min),
            chunk0,
            np.zeros((rows, chunks, len(CELL_SUMS))),
            np.zeros((rows, chunks), np.bool_),
            bin0,
            np.zeros((rows, bins), np.uint32),
            np.zeros(bins),
            np.zeros(bins, np.int64),
        )
