"""The table of reports, and the statements on it; `database_kinds` inserts rows, each kind of database in its way.

The reports of a period of a campaign are one bucket (see `Campaign.bucket`). They are stored together, so that they can
be deleted without searching.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import PrimaryKeyConstraint, case, delete, func, select

from halfmask.service.storage.database_kinds import Range, Stored
from halfmask.service.storage.identity_rows import producers
from halfmask.service.storage.tables import Statements, chunks, table, text, whole
from halfmask_device.instants import Instant

FETCH = 10_000
"""Reports per fetch: a driver may otherwise hold all reports of a period before it gives the first."""
PERIODS = 2**32
"""Buckets per campaign."""
ReportTuple = tuple[int, Instant, int, str, int]
"""A `ReportRow` as a plain tuple."""

reports = table(
    "reports",
    whole("bucket"),
    whole("producer"),
    whole("time"),
    whole("steps"),
    text("setting", 32),
    whole("reward"),
    PrimaryKeyConstraint("bucket", "producer", "time"),
    sqlite_with_rowid=False,  # one tree: a report is written once, and those of a bucket are stored together
    postgresql_partition_by="RANGE (bucket)",
)


def buckets_of(campaign: int) -> tuple[int, int]:
    """Return the first bucket of a campaign, and the first of the next one."""
    return campaign * PERIODS, (campaign + 1) * PERIODS


class ReportRow(NamedTuple):
    producer: int
    time: Instant
    steps: int
    setting: str
    reward: int


class ReportStatements(Statements):
    def make_room(self, low: int, high: int) -> None:
        """Prepare to store the first reports of buckets from ``low`` to below ``high``, which are deleted together.

        A partition is made in its own transaction, because others cannot make theirs until it ends.
        """
        if self._database.partitions:
            with self.connection.engine.begin() as connection:
                self._database.add_partition(connection, low, high)

    def standing(self, bucket: int, asked: Mapping[int, Sequence[Instant]]) -> Stored:
        """Return steps, setting and reward of a bucket's reports at the requested times, by producer and time.

        Reports of other times may be among them. A producer without any is left out.
        """
        return self._database.stored(self.connection, bucket, asked)

    def standing_within(self, bucket: int, ranges: Sequence[Range]) -> Stored:
        """Return steps, setting and reward of a bucket's reports in these ranges, by producer and time."""
        found: Stored = {}
        for producer, time, *rest in self._database.within(self.connection, bucket, ranges):
            found.setdefault(producer, {})[time] = (rest[0], rest[1], rest[2])
        return found

    def first_reports(self, bucket: int, members: Sequence[int]) -> dict[int, tuple[Instant, str]]:
        """Return time and setting of each producer's first report in a bucket. A producer without any is left out."""
        r, p, found = reports.c, producers.c, dict[int, tuple[Instant, str]]()
        first = (
            select(column).where(r.bucket == bucket, r.producer == p.id).order_by(r.time).limit(1).scalar_subquery()
            for column in (r.time, r.setting)
        )
        query = select(p.id, *first)
        for part in chunks(members):
            rows = self._do(query.where(p.id.in_(part)))
            found |= {row[0]: (row[1], row[2]) for row in rows if row[1] is not None}
        return found

    def add_reports(self, bucket: int, rows: Sequence[ReportTuple]) -> None:
        self._insert(reports, [(bucket, *row) for row in rows])

    def reports_in(self, bucket: int) -> Iterator[ReportRow]:
        """Yield the reports of a bucket by producer and time."""
        yield from self._rows(reports.c.bucket == bucket)

    def reports(self, campaign: int, begins: Instant, ends: Instant) -> Iterator[ReportRow]:
        """Yield the stored reports of a campaign with begins <= time < ends, by producer and time."""
        low, high = buckets_of(campaign)
        r = reports.c
        yield from self._rows(r.bucket >= low, r.bucket < high, r.time >= begins, r.time < ends)

    def _rows(self, *where: Any) -> Iterator[ReportRow]:
        r = reports.c
        query = select(r.producer, r.time, r.steps, r.setting, r.reward).where(*where).order_by(r.producer, r.time)
        for row in self._do(query, execution_options={"yield_per": FETCH}):
            yield ReportRow(*row)

    def producer_sums(self, bucket: int, low: int, high: int) -> Iterator[tuple[int, float, int, int]]:
        """Yield each producer's number of reports in a bucket, their sum, and how many are at or beyond the bounds."""
        r = reports.c
        below, above = (func.sum(case((where, 1), else_=0)) for where in (r.steps <= low, r.steps >= high))
        query = select(func.count(), func.sum(r.steps * 1.0), below, above).where(r.bucket == bucket)
        for row in self._do(query.group_by(r.producer), execution_options={"yield_per": FETCH}):
            yield int(row[0]), float(row[1]), int(row[2]), int(row[3])

    def reports_of(self, bucket: int, members: Sequence[int]) -> list[ReportRow]:
        r = reports.c
        parts = (self._rows(r.bucket == bucket, r.producer.in_(part)) for part in chunks(list(members)))
        return [row for part in parts for row in part]

    def withdraw(self, bucket: int, producer: int) -> list[ReportRow]:
        """Delete a producer's reports in a bucket. Return them."""
        r = reports.c
        rows = self.reports_of(bucket, [producer])
        if rows:
            self._do(delete(reports).where(r.bucket == bucket, r.producer == producer))
        return rows

    def clear_reports(self, low: int, high: int, most: int) -> int:
        """Delete reports of buckets from ``low`` to below ``high``, about ``most``. Return 0 once none was left."""
        return self._database.clear(self.connection, low, high, most)
