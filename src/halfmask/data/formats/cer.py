"""Read the files of the Irish smart meter trial (CER): ``meter code value``, separated by blanks, without a header.

A code is 100 times the day (1 = 1 January 2009) plus the half-hour by the local clock (1 = 00:00-00:29).

When clocks go back (days 298 and 669), a day has 50 half-hours: 5 and 6 repeat 01:00 and 01:30, and 50 is 23:30. The
repeated half-hours get the times 01:15 and 01:45, so that no two readings have the same time. When clocks go forward
(day 452), half-hours 2 and 3 are missing.

Values are not changed. The trial's manifest calls them kWh per half-hour, but their size fits mean kW.
"""

import pyarrow as pa

from halfmask.data.column_types import ColumnType
from halfmask.data.csv_layout import Layout, Layouts
from halfmask.data.encodings import compression
from halfmask.data.formats.csv import Csv
from halfmask.data.locate import SourceFiles
from halfmask.data.source_table import Rule
from halfmask.data.sql import quote
from halfmask.data.value_columns import value_rule

NAMES = ("meter", "code", "value")
LONG_DAYS = (298, 669)
_DAY_ZERO = 14_244
"""Days from 1970-01-01 to 2008-12-31, the day before day 1."""
_DAY = 86_400_000_000
_MINUTE = 60_000_000


class Cer(Csv):
    """The trial's files. Their layout and columns are fixed."""

    kind = "files of the Irish smart meter trial"
    options = frozenset({"encoding"})
    asked_only = True

    def layouts(self, found: SourceFiles, skip: int | None) -> tuple[Layouts, tuple[str, ...]]:  # noqa: ARG002
        return ((Layout(" ", 0, "", False, NAMES, compression(found.files[0])), found.files),), ()

    def rules(self, sample: pa.Table) -> list[Rule]:
        """Return how to parse the three columns.

        A code whose half-hour does not exist on its day is an error. So is a meter that is not a number.
        """
        meter, code = (quote(name) for name in NAMES[:2])
        number = f"TRY_CAST({code} AS BIGINT)"
        last = f"CASE WHEN ({number} // 100) IN {LONG_DAYS} THEN 50 ELSE 48 END"
        valid = f"coalesce({number} BETWEEN 101 AND 99950 AND {number} % 100 BETWEEN 1 AND {last}, false)"
        # This adds zero for a valid code and fails for any other, so the arithmetic needs no conditions.
        check = f"CAST(CASE WHEN {valid} THEN '0' WHEN {code} IS NOT NULL THEN 'no code' END AS BIGINT)"
        return [
            Rule(
                "user",
                "meter",
                f"CAST({meter} AS BIGINT)",
                f"{meter} IS NOT NULL AND TRY_CAST({meter} AS BIGINT) IS NULL",
                "a meter's number, such as 1392",
            ),
            Rule(
                "time",
                "code",
                f"({micros(number)} + {check})",
                f"{code} IS NOT NULL AND NOT {valid}",
                "a code of day and half-hour, such as 19503",
            ),
            value_rule("value", ColumnType.TEXT_NUMBER, sample.column("value")),
        ]


def micros(code: str) -> str:
    """Return an SQL expression that converts a code to microseconds of the local wall clock, in integer arithmetic."""
    day = f"({code}) // 100"
    slot = f"({code}) % 100"
    long_day = f"({day}) IN {LONG_DAYS}"
    minutes = (
        f"CASE WHEN {long_day} AND {slot} > 6 THEN ({slot} - 3) * 30 "
        f"WHEN {long_day} AND {slot} > 4 THEN ({slot} - 3) * 30 + 15 "
        f"ELSE ({slot} - 1) * 30 END"
    )
    return f"((({day}) + {_DAY_ZERO}) * {_DAY} + ({minutes}) * {_MINUTE})"
