"""Count the readings in one pass: on one machine (in groups of users if memory is short) or on Spark's workers."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from halfmask.arrays import FloatArray, IntArray
from halfmask.data.panel import Panel
from halfmask.profiles.compiled_count import TooLargeError, count
from halfmask.profiles.periods import Period
from halfmask.profiles.profile import Profile
from halfmask.profiles.tally import Plan, Tally

MOST_BYTES = 1_200_000_000
"""The largest size of the tables on one machine, in bytes."""
WORKER_BYTES = 300_000_000
"""The largest size of the tables of a worker, of which several share a machine."""
FURTHER = 8
"""The number of groups is multiplied by this if a group is too large."""
ENOUGH_PERIODS, SOME_PERIODS = 6, 60

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Counted:
    """The result of a pass over the readings of some users.

    ``users``    name, number of readings, first and last time of each user
    ``rising``   users whose mean reading keeps rising, as states of a register do
    ``clashes``  user and chunk of each cell in which two readings fall in one interval; only there can be duplicates
    """

    profile: Profile
    users: pa.Table
    rising: list[str]
    clashes: pa.Table

    def plus(self, other: "Counted", buckets: int) -> "Counted":
        """Combine the results of two disjoint sets of users. Hash the users if there are more than ``buckets``."""
        profiles = [self.profile, other.profile]
        if buckets and sum(profile.users for profile in profiles) > buckets:
            profiles = [profile if profile.buckets else profile.bucketed(buckets) for profile in profiles]
        return Counted(
            profiles[0] + profiles[1],
            pa.concat_tables([self.users, other.users]),
            self.rising + other.rising,
            pa.concat_tables([self.clashes, other.clashes]),
        )


@dataclass(frozen=True)
class Pass:
    """The settings of a pass: the plan, the period, the number of buckets, and the allowed memory."""

    plan: Plan
    period: Period
    buckets: int
    allowed: int = MOST_BYTES

    def over(
        self,
        panel: Panel,
        advance: Callable[[int], None] | None = None,
        stream: Generator[pa.RecordBatch] | None = None,
    ) -> Counted:
        """Count the readings of a panel.

        ``stream``  the panel's rows in a fixed order, used on one machine; sums then have the same bits on every run
        """
        groups, alone = 1, panel.engine.name == "duckdb"
        if alone:
            with suppress(TooLargeError):
                return self._counted(self._tally(panel, advance, stream))
            groups = FURTHER
        work = self if alone else replace(self, allowed=WORKER_BYTES)
        with panel.guard():
            while (found := work._by_groups(panel, groups)) is None:
                groups *= FURTHER
        return found

    def _tally(
        self, panel: Panel, advance: Callable[[int], None] | None, stream: Generator[pa.RecordBatch] | None
    ) -> Tally:
        """Count the first of these sources that works:

        1. the panel's quick stream, if there is one and it can be read to the end
        2. ``stream``, if it is not None
        3. the panel's ordinary batches
        """
        done = 0

        def told(rows: int) -> None:
            nonlocal done
            done += rows
            if advance:
                advance(rows)

        if panel.quick is not None:
            try:
                tally = count(panel.quick(), self.plan, self.allowed, told)
                if all(user and user == user.strip() for user in tally.users):
                    return tally
            except Exception as error:
                if not panel.engine.misread(error):
                    with panel.guard():
                        raise
            if advance:
                advance(-done)
        with closing(stream or panel.batches()) as batches:
            return count(batches, self.plan, self.allowed, advance)

    def _by_groups(self, panel: Panel, groups: int) -> Counted | None:
        """Count each group of users separately. Return None if a group is too large."""
        together: Counted | None = None
        for part in panel.engine.map_users(panel.frame, groups, self.of_group):
            if part is None:
                return None
            together = part if together is None else together.plus(part, self.buckets)
        return together or self._counted(count(iter(()), self.plan, self.allowed))

    def of_group(self, batches: Batches) -> Counted | None:
        """Count the readings of one group of users. Return None if the tables would be too large."""
        try:
            return self._counted(count(batches, self.plan, self.allowed))
        except TooLargeError:
            return None

    def _counted(self, tally: Tally) -> Counted:
        profile = tally.profile(self.plan, self.period)
        names = pa.array(tally.users, pa.string())
        users = {name: profile.rows[name] for name in ("readings", "first", "last")}
        row, chunk = np.nonzero(tally.clash)
        clashes = pa.table({"user": names.take(pa.array(row)), "chunk": pa.array(chunk + tally.chunk0, pa.int64())})
        rising = [tally.users[row] for row in _rising(tally.cells)]
        folded = self.buckets and len(profile) > self.buckets
        return Counted(
            profile.bucketed(self.buckets) if folded else profile, pa.table({"user": names, **users}), rising, clashes
        )


def _rising(cells: FloatArray) -> IntArray:
    """Return the rows whose mean reading rises over time. At most 1 of 50 changes may be a fall."""
    # A mean that always rises also rises over a sample of the chunks.
    some = np.unique(np.linspace(0, cells.shape[1] - 1, SOME_PERIODS).astype(np.int64))
    if len(some) <= ENOUGH_PERIODS:
        return np.zeros(0, np.int64)
    count_, total = cells[:, some, 0], cells[:, some, 1]
    present = count_ > 0
    # A chunk without a reading gets the mean of the chunk before it, so it adds no change.
    held = np.maximum.accumulate(np.where(present, np.arange(len(some)), 0), axis=1)
    mean = np.divide(total, count_, out=np.zeros_like(total), where=present)
    change = np.diff(np.take_along_axis(mean, held, axis=1), axis=1)
    change[~np.maximum.accumulate(present, axis=1)[:, :-1]] = 0.0
    moved, fell = (change != 0).sum(axis=1), (change < 0).sum(axis=1)
    return np.flatnonzero((moved >= ENOUGH_PERIODS) & (50 * fell <= moved))
