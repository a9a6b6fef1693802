"""Read NEM12, in which Australian meters' data are exchanged: a record of a channel, then one per day of its readings.

``100`` begins a file, ``200`` a channel (meter, channel, unit, minutes per interval), ``300`` holds a day of it,
``400`` says how some intervals of that day were obtained, and ``900`` ends the file. Times are those of the market,
UTC+10 all year. An interval of quality N has no reading.
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
    """Files of records 100 to 900. They end in .csv, so their first bytes show the format."""

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
    """Return the readings of a day; of quality N they are missing."""
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
    """Remove the values of intervals, counted from 1, if their quality is N."""
    if not 1 <= first <= last <= len(day):
        raise ValueError(f"intervals {first} to {last} of {len(day)}")
    if quality.startswith("N"):
        for i in range(first - 1, last):
            day[i] = (*day[i][:3], None, day[i][4])
