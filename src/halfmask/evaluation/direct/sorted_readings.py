"""The usable readings of a panel, sorted by user and time on disk, to be masked repeatedly.

Sorting makes the noise of a seed independent of the order, the files and the batches of the source.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from halfmask.arrays import FloatArray, IntArray
from halfmask.data.panel import Panel
from halfmask.errors import OptionError, SourceError
from halfmask.evaluation.direct import compiled_loops
from halfmask.evaluation.direct.compiled_loops import PeriodArray
from halfmask.evaluation.direct.disk_array import disk_array
from halfmask.profiles.duplicates import repeated_times, without_duplicates
from halfmask.profiles.profile import Profile, bucket_of
from halfmask.profiles.tally import Plan
from halfmask.profiles.totals import without_rounding
from halfmask.profiles.usable import Frame, placed, plain, usable

BLOCK = 2**16
"""Number of readings per block. A block is the profile's rows that start within it, and has its own random stream."""

SORTED_AT_ONCE = 2**21


@dataclass(frozen=True)
class ReadingsBlock:
    """Readings of some users in memory, sorted by user and time.

    ``divisor`` is what errors are divided by: the readings, or each user's mean |s| for ``scaled`` errors.
    """

    number: int
    values: FloatArray
    periods: PeriodArray
    user_ends: IntArray
    divisor: FloatArray


def block_of_row(profile: Profile) -> IntArray:
    """Return the block of each row of the profile."""
    readings = profile.rows["readings"].astype(np.int64)
    return (np.cumsum(readings) - readings) // BLOCK


def scales(values: FloatArray, user_ends: IntArray) -> FloatArray:
    """Return each reading's divisor for ``scaled`` errors: the mean |s| of its user; 0 if all are zero."""
    lengths = np.diff(user_ends, prepend=0)
    sums = np.add.reduceat(np.abs(values), user_ends - lengths) if len(lengths) else np.zeros(0)
    return np.repeat(sums / lengths, lengths)


@dataclass(frozen=True)
class Readings:
    """All usable readings: values and periods, sorted by row of the profile, user and time.

    ``starts``, ``ends``  first reading of each user, and the one after its last
    ``first_user``        first user of each row of the profile
    ``blocks``            block of each row
    """

    values: FloatArray
    periods: PeriodArray
    starts: IntArray
    ends: IntArray
    first_user: IntArray
    blocks: IntArray

    def block(self, rows: IntArray, scaled: bool) -> ReadingsBlock:
        """Return the readings of some rows of one block."""
        runs = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)  # rows that lie side by side are one stretch
        bounds = [(self.first_user[run[0]], self.first_user[run[-1] + 1]) for run in runs]
        users = np.concatenate([np.arange(first, last) for first, last in bounds])
        values, periods = (
            _joined([whole[self.starts[first] : self.ends[last - 1]] for first, last in bounds])
            for whole in (self.values, self.periods)
        )
        user_ends = np.cumsum(self.ends[users] - self.starts[users])
        divisor = scales(values, user_ends) if scaled else values
        return ReadingsBlock(int(self.blocks[rows[0]]), values, periods, user_ends, divisor)

    def totals(self, profile: Profile) -> "Readings":
        """Return each user's totals of each period, as if they were readings; ``profile`` is that of the totals."""
        lengths = self.ends - self.starts
        user = np.repeat(np.arange(len(lengths)), lengths)
        new = np.flatnonzero((np.diff(user, prepend=-1) != 0) | (np.diff(self.periods, prepend=-1) != 0))
        n = np.diff(new, append=len(user)).astype(float)
        sums, squares = (np.add.reduceat(each, new) for each in (self.values, self.values**2))
        ends = np.searchsorted(user[new], np.arange(len(lengths)), side="right")
        return Readings(
            without_rounding(n, sums, squares),
            self.periods[new],
            np.append(0, ends[:-1]),
            ends,
            self.first_user,
            block_of_row(profile),
        )

    def split(self, rows: IntArray) -> list[IntArray]:
        """Return ascending rows, split by block."""
        edges = np.flatnonzero(np.diff(self.blocks[rows])) + 1
        return np.split(rows, edges)


def _joined(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return all parts as one array; a single part is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def usable_frame(panel: Panel, profile: Profile) -> Frame:
    """Return user, time and value of the readings that the profile's policies accept, one per user and time."""
    policies = profile.about.get("policies", {})
    if not isinstance(policies, dict):
        raise OptionError("the profile was added up from parts with different policies: profile the panel as a whole")
    period = profile.period
    low, high = policies.get("low", -np.inf), policies.get("high", np.inf)
    plan = Plan(profile.step, period.chunk(profile.step), period.origin, low, high)
    if profile.about.get("duplicates"):
        repeated = repeated_times(panel, plan)
        panel = without_duplicates(panel, plan, repeated, policies.get("duplicates", "first"))
    return placed(panel.frame, plan).filter(usable(plan)).select("user", "time", value=plain(nw.col("value")))


def gather(panel: Panel, profile: Profile, folder: str | None = None) -> Readings:
    """Return the panel's readings, sorted on disk.

    The panel is read twice: first each user's readings are counted, then each reading is put in its place.
    """
    with panel.guard():
        frame = usable_frame(panel, profile)
        counted = panel.engine.collect(frame.group_by("user").agg(nw.len().alias("count")))
        users, rows, counts = _users(counted, panel, profile)
        ends = np.cumsum(counts)
        starts = ends - counts
        size = int(counts.sum())
        times, values = disk_array(size, np.int64, folder), disk_array(size, np.float64, folder)
        _deal(panel.engine.batches(frame), users, starts, ends, times, values)
    periods = disk_array(size, np.int32, folder)
    for first, last in _stretches(ends):
        span = slice(starts[first], ends[last])
        _sort(times[span], values[span], counts[first : last + 1])
        periods[span] = _period_index(times[span], profile)
    first_user = np.searchsorted(rows, np.arange(len(profile) + 1))
    readings = Readings(values, periods, starts, ends, first_user, block_of_row(profile))
    _check(readings, panel, profile)
    return readings


def _users(counted: pa.Table, panel: Panel, profile: Profile) -> tuple[dict[Any, int], IntArray, IntArray]:
    """Return each user's index, and by index the row of the profile and the number of readings.

    Users are sorted by row, then name.
    """
    users = counted["user"].to_pylist()
    names = np.array([str(user) for user in users], np.str_)
    if profile.buckets:
        known = {label: row for row, label in enumerate(profile.labels.tolist())}
        rows = np.array([known.get(f"bucket-{bucket_of(name, profile.buckets):08d}", -1) for name in names], np.int64)
    else:
        rows = np.searchsorted(profile.labels, names).astype(np.int64)
        rows[rows == len(profile)] = 0
        rows[profile.labels[rows] != names] = -1
    if (rows < 0).any():
        raise SourceError(
            f"{panel.source}: user {names[rows < 0][0]} is not in the profile: profile this source first",
            kind="unknown-user",
        )
    order = np.lexsort((names, rows))
    counts = np.asarray(counted["count"]).astype(np.int64)
    return {users[place]: number for number, place in enumerate(order)}, rows[order], counts[order]


def _deal(
    batches: Iterator[pa.RecordBatch],
    users: dict[Any, int],
    starts: IntArray,
    ends: IntArray,
    times: IntArray,
    values: FloatArray,
) -> None:
    place = starts.copy()
    for batch in batches:
        encoded = batch.column(0).dictionary_encode()
        numbers = np.array([users.get(user, -1) for user in encoded.dictionary.to_pylist()], np.int64)
        of_reading = numbers[np.asarray(encoded.indices)]
        if (numbers < 0).any() or not compiled_loops.deal(
            of_reading, np.asarray(batch.column(1)), np.asarray(batch.column(2)), place, ends, times, values
        ):
            raise SourceError("the source changed while it was read: start again when nobody writes to it")
    if not np.array_equal(place, ends):
        raise SourceError("the source changed while it was read: start again when nobody writes to it")


def _stretches(ends: IntArray) -> Iterator[tuple[int, int]]:
    """Yield first and last user of consecutive users that together have about `SORTED_AT_ONCE` readings."""
    first = 0
    while first < len(ends):
        before = ends[first - 1] if first else 0
        last = min(int(np.searchsorted(ends, before + SORTED_AT_ONCE)), len(ends) - 1)
        yield first, last
        first = last + 1


def _sort(times: IntArray, values: FloatArray, counts: IntArray) -> None:
    """Sort each user's readings by time, in place; a user's times are all different."""
    user = np.repeat(np.arange(len(counts)), counts)
    if ((np.diff(times) < 0) & (np.diff(user) == 0)).any():
        order = np.lexsort((times, user))
        times[:], values[:] = times[order], values[order]


def _period_index(times: IntArray, profile: Profile) -> PeriodArray:
    """Return the index of each time's period in the profile; any index if the profile does not contain it."""
    starts = profile.period.start(times)
    new = np.flatnonzero(np.concatenate([[True], starts[1:] != starts[:-1]])) if len(starts) else np.zeros(0, np.int64)
    found = np.searchsorted(profile.periods, starts[new]).astype(np.int32)
    found = np.minimum(found, len(profile.periods) - 1).astype(np.int32)
    return np.repeat(found, np.diff(new, append=len(starts)))


def _check(readings: Readings, panel: Panel, profile: Profile) -> None:
    """Raise a SourceError unless every row has as many readings in every period as in the profile."""
    periods = len(profile.periods)
    for row in range(len(profile)):
        first, last = readings.first_user[row], readings.first_user[row + 1]
        span = slice(readings.starts[first], readings.ends[last - 1]) if last > first else slice(0, 0)
        held = np.bincount(readings.periods[span], minlength=periods)
        if not np.array_equal(held, profile.cells[row, :, 0]):
            raise SourceError(
                f"{panel.source}: the {held.sum()} usable readings of {profile.labels[row]} are not the profile's "
                f"({profile.rows['readings'][row]}): profile this source, or give the one that was profiled",
                kind="other-readings",
            )
