"""Read files of the Irish Electricity Customer Behaviour Trial: ``meter code value``, one blank between, no header.

A code is a day (1 = 1 January 2009) times 100 plus a half-hour of that day's local clock (1 = 00:00-00:29).

Clock changes. Days 298 and 669 (the last Sundays of October) have 50 numbered half-hours: 5 and 6 are the second
passing of 01:00 and 01:30, and 50 is 23:30. The second passing is placed a quarter of an hour after the first, at 01:15
and 01:45. So every reading keeps its day, its hour and its half-hour of the wall clock, and no two have one time. Day
452 (the last Sunday of March 2010) has no half-hours 2 and 3; the others keep the times of their codes.

Values are not changed. The manifest says that they are kWh per half-hour, but their size fits mean kW.
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
    """The trial's files, whose layout and columns are fixed."""

    kind = "files of the Irish smart meter trial"
    options = frozenset({"encoding"})
    asked_only = True

    def layouts(self, found: SourceFiles, skip: int | None) -> tuple[Layouts, tuple[str, ...]]:  # noqa: ARG002
        return ((Layout(" ", 0, "", False, NAMES, compression(found.files[0])), found.files),), ()

    def rules(self, sample: pa.Table) -> list[Rule]:
        """Return the rules of the three columns.

        A code that no day has is an error, and so is a meter that is not a number.
        """
        meter, code = (quote(name) for name in NAMES[:2])
        number = f"TRY_CAST({code} AS BIGINT)"
        last = f"CASE WHEN ({number} // 100) IN {LONG_DAYS} THEN 50 ELSE 48 END"
        valid = f"coalesce({number} BETWEEN 101 AND 99950 AND {number} % 100 BETWEEN 1 AND {last}, false)"
        # Zero for a valid code, and a failure for another: the arithmetic itself stays free of conditions.
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
    """Return an expression of a code's time: microseconds of the local wall clock, in integer arithmetic."""
    day = f"({code}) // 100"
    slot = f"({code}) % 100"
    long_day = f"({day}) IN {LONG_DAYS}"
    minutes = (
        f"CASE WHEN {long_day} AND {slot} > 6 THEN ({slot} - 3) * 30 "
        f"WHEN {long_day} AND {slot} > 4 THEN ({slot} - 3) * 30 + 15 "
        f"ELSE ({slot} - 1) * 30 END"
    )
    return f"((({day}) + {_DAY_ZERO}) * {_DAY} + ({minutes}) * {_MINUTE})"
