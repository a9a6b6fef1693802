"""The counts and sums of one pass over the readings, and their conversion to a profile."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray
from halfmask.profiles.periods import Period
from halfmask.profiles.profile import CELL_COLUMNS, SUMS, Counts, Profile

# Columns of the tables below.
CELL_SUMS = ("n", "s1", "s2", "s3", "s4")
USER_SUMS = ("sum_abs", "inverse1", "inverse2", "inverse3", "inverse4")
USER_COUNTS = ("rows", "zeros", "negatives", "nonfinite", "outside")


@dataclass(frozen=True)
class Plan:
    """How a pass divides time, and which readings it leaves out.

    ``step``   the interval between readings in microseconds; None if unknown
    ``chunk``  the length of a cell in time; cells start at ``origin + k * chunk``
    ``low``, ``high``  values outside these bounds are left out
    ``grain``  the unit of rounding steps (see `rounding`)
    """

    step: int | None
    chunk: int
    origin: int
    low: float = -np.inf
    high: float = np.inf
    grain: float = 1.0


@dataclass
class Tally:
    """Counts and sums of usable readings, per user and per cell (user x chunk of time).

    ``clash``      marks cells in which two readings fall in one interval; only there can be duplicates
    ``histogram``  non-zero readings by logarithmic bin of ``|s|``
    ``rounded``    non-zero readings by the coarsest step of which they are multiples
    ``bin_sizes``  the sum of ``|s|`` in each bin, over all users
    ``tiny``       the number of readings that count as 0 (see `bins.SMALLEST`)
    """

    users: list[str]
    user_sums: FloatArray
    user_counts: IntArray
    first: IntArray
    last: IntArray
    chunk0: int
    cells: FloatArray
    clash: npt.NDArray[np.bool_]
    rounded: npt.NDArray[np.uint32]
    bin0: int
    histogram: npt.NDArray[np.uint32]
    bin_sizes: FloatArray
    bin_negatives: IntArray
    unplaced: int = 0
    tiny: int = 0

    def profile(self, plan: Plan, period: Period) -> Profile:
        """Return the profile with one row per user; chunks are added up into periods."""
        starts = (np.arange(self.cells.shape[1]) + self.chunk0) * plan.chunk + plan.origin
        periods, cells = _into_periods(period.start(starts), self)
        row, bin_, in_bin = _filled(self.histogram)
        counts = dict(zip(USER_COUNTS, self.user_counts.T, strict=True))
        per_bin = self.histogram.sum(axis=0, dtype=np.int64)
        used = np.flatnonzero(per_bin)
        profile = Profile(
            period=period,
            step=plan.step,
            buckets=0,
            labels=np.array(self.users, np.str_),
            rows={
                **counts,
                "readings": counts["rows"] - counts["nonfinite"] - counts["outside"],
                **dict(zip(SUMS, self.user_sums.T, strict=True)),
                "first": self.first,
                "last": self.last,
            },
            periods=periods,
            cells=cells,
            histogram=Counts(row, bin_ + self.bin0, in_bin),
            rounded=Counts(*_filled(self.rounded)),
            grain=plan.grain,
            scales=Counts.gather([], [], []),
            bin_index=used + self.bin0,
            bin_counts=per_bin[used],
            bin_sizes=self.bin_sizes[used],
            bin_negatives=self.bin_negatives[used],
            about={"unplaced": self.unplaced, "tiny": self.tiny},
        )
        return profile.with_users_derived()


def _filled(histogram: npt.NDArray[np.uint32]) -> tuple[IntArray, IntArray, IntArray]:
    """Return row, bin and count of the non-zero counts, several times as fast as `np.nonzero`."""
    flat = np.flatnonzero(histogram)
    row = np.repeat(np.arange(len(histogram)), np.count_nonzero(histogram, axis=1))
    return row, flat - row * histogram.shape[1], histogram.reshape(-1)[flat].astype(np.int64)


@np.errstate(over="ignore", invalid="ignore")  # a sum beyond the largest double is infinite, and says so
def _into_periods(start_of_chunk: IntArray, tally: Tally) -> tuple[IntArray, Any]:
    """Add up the chunks of each period. Leave out periods without readings."""
    if not len(start_of_chunk) or not len(tally.users):
        return np.zeros(0, np.int64), np.zeros((len(tally.users), 0, len(CELL_COLUMNS)))
    starts, first_chunk = np.unique(start_of_chunk, return_index=True)
    cells = tally.cells
    if len(starts) < len(start_of_chunk):
        cells = np.add.reduceat(cells, first_chunk, axis=1)
    held = np.flatnonzero(cells[:, :, 0].any(axis=0))
    return starts[held], cells if len(held) == len(starts) else cells[:, held]
