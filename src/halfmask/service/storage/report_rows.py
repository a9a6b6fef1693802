"""The table of reports, and the statements on it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import PrimaryKeyConstraint, and_, delete, select

from halfmask.service.storage.databases import Stored
from halfmask.service.storage.identity_rows import producers
from halfmask.service.storage.tables import Statements, chunks, table, text, whole
from halfmask_device.instants import Instant

FETCH = 10_000
"""Reports per fetch: a driver may otherwise hold all reports of a period before it gives the first."""
ReportTuple = tuple[int, Instant, int, str, int]
"""A `ReportRow` as a plain tuple."""

reports = table(
    "reports",
    whole("producer"),
    whole("time"),
    whole("steps"),
    text("setting", 32),
    whole("reward"),
    PrimaryKeyConstraint("producer", "time"),
    sqlite_with_rowid=False,  # one tree: a report is written once, and a producer's reports are stored together
)


class ReportRow(NamedTuple):
    producer: int
    time: Instant
    steps: int
    setting: str
    reward: int


class ReportStatements(Statements):
    def standing(self, asked: Mapping[int, Sequence[Instant]]) -> Stored:
        """Return steps, setting and reward of the stored reports at the requested times, by producer and time.

        Reports of other times may be among them. A producer without any is left out.
        """
        return self._database.stored(self.connection, asked)

    def add_reports(self, rows: Sequence[ReportTuple]) -> None:
        self._insert(reports, rows)

    def reports(self, campaign: int, begins: Instant, ends: Instant) -> Iterator[ReportRow]:
        """Yield the reports of a campaign with begins <= time < ends, by producer and time."""
        query = _of_campaign(campaign, begins, ends).order_by(reports.c.producer, reports.c.time)
        found = self._do(query, execution_options={"yield_per": FETCH})
        yield from (ReportRow(*row) for row in found)

    def any_report(self, campaign: int, begins: Instant, ends: Instant) -> bool:
        """Return whether `reports` would yield any."""
        return self._do(_of_campaign(campaign, begins, ends).limit(1)).first() is not None

    def reports_of(self, producers: Sequence[int], begins: Instant, ends: Instant) -> list[ReportRow]:
        r = reports.c
        found: list[ReportRow] = []
        for part in chunks(list(producers)):
            query = select(*r).where(r.producer.in_(part), r.time >= begins, r.time < ends)
            found += [ReportRow(*row) for row in self._do(query.order_by(r.producer, r.time))]
        return found

    def remove_reports(self, campaign: int, begins: Instant, ends: Instant) -> None:
        r = reports.c
        those = select(producers.c.id).where(producers.c.campaign == campaign)
        self._do(delete(reports).where(r.producer.in_(those), r.time >= begins, r.time < ends))

    def withdraw(self, producer: int, begins: Instant, ends: Instant) -> int:
        r = reports.c
        return self._do(delete(reports).where(r.producer == producer, r.time >= begins, r.time < ends)).rowcount


def _of_campaign(campaign: int, begins: Instant, ends: Instant) -> Any:
    r, p = reports.c, producers.c
    joined = producers.join(reports, and_(r.producer == p.id, r.time >= begins, r.time < ends))
    return select(*r).select_from(joined).where(p.campaign == campaign)
