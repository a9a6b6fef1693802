"""Read NEM12 files, the format in which Australian meter data are exchanged.

Each line is a record. ``100`` begins a file and ``900`` ends it. ``200`` begins a channel: meter, channel, unit and
minutes per interval. ``300`` holds one day of readings, and ``400`` the quality of some of that day's intervals. Times
are market time, UTC+10 all year. An interval of quality N has no reading.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from io import TextIOWrapper

import pyarrow as pa

from halfmask.data.encodings import opened
from halfmask.data.engines.duckdb import DuckDBTable
from halfmask.data.formats import Format, OpenRequest
from halfmask.data.formats._converted import Row, open_converted
from halfmask.errors import ReadingError, SourceError

SCHEMA = pa.schema(
    [
        ("nmi", pa.string()),
        ("channel", pa.string()),
        ("time", pa.timestamp("us")),
        ("value", pa.float64()),
        ("unit", pa.string()),
    ]
)
_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?(?:100,NEM12|200,[A-Z0-9]{10},)")
_DAY = 24 * 60


class Nem12(Format):
    """NEM12 files. Their names end in .csv, so the first bytes identify the format."""

    kind = "NEM12"
    extensions = (".nem12",)

    def sniff(self, file: str, head: bytes) -> bool:
        if head.startswith(b"100,NEM13"):
            raise SourceError(
                f"{file}: NEM13 holds states of registers, read every few months; ask for the intervals, NEM12",
                kind="records",
                place=file,
            )
        return _BEGINS.match(head) is not None

    def open(self, asked: OpenRequest) -> DuckDBTable:
        table = open_converted(asked, SCHEMA, _rows)
        table.notes = ("NEM12 has the market's time, UTC+10 all year: days are cut by it",)
        return table


def _rows(file: str) -> Iterator[Row]:
    channel: tuple[str, str, str, int] | None = None
    day: list[Row] = []
    with opened(file) as stream, TextIOWrapper(stream, encoding="utf-8-sig", newline="") as lines:
        for line, record in enumerate(csv.reader(lines), 1):
            try:
                kind = record[0] if record else ""
                if kind == "400":
                    _leave_out(day, int(record[1]), int(record[2]), record[3])
                    continue
                yield from day
                day = []
                if kind == "200":
                    channel = (record[1].strip(), record[4].strip(), record[7].strip(), _minutes(record[8]))
                elif kind == "300" and channel is not None:
                    day = _day(*channel, record)
                elif kind not in ("100", "300", "500", "900", ""):
                    raise ValueError(f"a record of kind {kind[:20]!r}")
            except (ValueError, IndexError) as error:
                raise ReadingError(
                    f"{file}, line {line}: not a record of NEM12 ({error}); mend or drop that line",
                    kind="record",
                    place=f"{file}, line {line}",
                ) from error
    yield from day


def _minutes(text: str) -> int:
    minutes = int(text)
    if minutes not in (5, 15, 30):
        raise ValueError(f"intervals of {minutes} minutes: NEM12 has 5, 15 or 30")
    return minutes


def _day(meter: str, channel: str, unit: str, minutes: int, record: Sequence[str]) -> list[Row]:
    """Return the readings of a day; a day of quality N has only missing values."""
    count = _DAY // minutes
    begins = datetime.strptime(record[1], "%Y%m%d")
    values = [float(cell) if cell.strip() else None for cell in record[2 : 2 + count]]
    quality = record[2 + count]
    if quality[:1] not in tuple("AEFNSV"):
        raise ValueError(f"no quality behind {count} values of {minutes} minutes")
    if quality.startswith("N"):
        values = [None] * count
    return [(meter, channel, begins + i * timedelta(minutes=minutes), value, unit) for i, value in enumerate(values)]


def _leave_out(day: list[Row], first: int, last: int, quality: str) -> None:
    """Mark intervals ``first`` to ``last`` (counted from 1) as missing if their quality is N."""
    if not 1 <= first <= last <= len(day):
        raise ValueError(f"intervals {first} to {last} of {len(day)}")
    if quality.startswith("N"):
        for i in range(first - 1, last):
            day[i] = (*day[i][:3], None, day[i][4])
