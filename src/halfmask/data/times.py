"""Parse times in any notation into microseconds of the local wall clock.

A time without a zone is wall-clock time already. A time with a zone (zoned timestamp, ISO text with an offset or Z,
epoch number) is an instant, and is converted to the wall clock of ``tz``. If ``tz`` is not given, texts with an offset
keep the clock in which they are written (`zones`), and other instants are converted to UTC.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from halfmask.data.arrow_blocks import ArrowCells
from halfmask.data.column_types import (
    CLOCKS,
    LOCAL_CLOCK,
    NAIVE_TIME,
    TEXTS,
    ZONE_GROUP,
    ZONED_TIME,
    ColumnType,
    is_zoned,
    texts,
)
from halfmask.data.date_formats import SPAN, DateFormat
from halfmask.data.sql import extract, literal, matches, parsed
from halfmask.data.zones import HOUR, check_zone, wall_clock, wall_clocks
from halfmask.errors import ColumnError

LATEST = 7_258_118_400
"""Seconds from 1970 to 2200."""
SERIAL = "days"
_SERIALS, _SERIAL_1970 = (20_000, 80_000), 25_569
"""Dates in spreadsheets: days since 30 December 1899, from 1954 to 2119, and the day of 1970-01-01."""
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True)
class TimeRule:
    """How to parse a column of times.

    ``zoned``    whether the times are instants rather than wall-clock times
    ``unit``     the unit of numbers since 1970
    ``tz``       for instants, the zone or fixed offset (+05:30) of the wall clock
    ``formats``  strptime formats, if the times are not in ISO form
    ``grain``    the number of seconds to which a spreadsheet's dates are rounded
    ``spans``    whether a cell may contain two times, of which the first counts
    """

    kind: ColumnType
    zoned: bool
    unit: str | None = None
    tz: str = "UTC"
    formats: tuple[str, ...] = ()
    grain: int = 1
    name: str = ""
    spans: bool = False

    def sql(self, column: str, cast: str = "CAST") -> str:
        """Return an SQL expression for the wall clock in microseconds.

        For an unreadable cell, the query fails (``cast`` is CAST) or the result is null (TRY_CAST). A header repeated
        within a file becomes null.
        """
        if self.kind in TEXTS:
            column = self.text(column)
        if self.formats:
            number = f"CAST({column} AS BIGINT)" if self.kind is ColumnType.FLOAT else column
            text = column if self.kind in TEXTS else f"CAST({number} AS VARCHAR)"
            ended = parsed(f"replace({text}, '24:00', '00:00')", self.formats, cast)
            usual = parsed(text, self.formats, cast)
            micros = f"CASE WHEN {text} LIKE '%24:00%' THEN {ended} + {24 * HOUR} ELSE {usual} END"
        elif self.unit is not None:
            micros = self._epoch(column, cast)
        elif self.kind is ColumnType.ZONED:
            micros = f"epoch_us(CAST({column} AS TIMESTAMPTZ))"  # the cast changes nanoseconds alone
        elif self.kind in {ColumnType.TIMESTAMP, ColumnType.DATE}:
            micros = f"epoch_us({column})"
        elif self.zoned:
            micros = _instant_of_text(column, cast)
        else:
            micros = _micros_of_text(column, cast)
        return wall_clock(micros, self.tz) if self.zoned and self.tz != "UTC" else micros

    @property
    def has_offsets(self) -> bool:
        """Return whether the times are texts with a zone or an offset from UTC."""
        return self.zoned and self.kind in TEXTS and self.unit is None

    def text(self, column: str) -> str:
        """Return an SQL expression for the text of a time: without outer blanks, null for a repeated header, the first
        of two.
        """
        text = f"nullif(trim({column}), {literal(self.name)})"
        return f"coalesce(nullif({extract(text, SPAN, 1)}, ''), {text})" if self.spans else text

    def quick(self, column: str, found: Sequence[str]) -> str:
        """Return a faster expression than `sql`, for texts in one fixed format; empty if there is none.

        It fails on any other text. It is several times as fast, because it need not recognise the form of each text.
        """
        if self.unit is not None or self.spans or self.kind not in TEXTS:
            return ""
        if self.formats:
            return parsed(column, self.formats, "CAST")
        forms = {_iso_form(text) for text in found}
        if len(forms) != 1 or not (form := forms.pop()):
            return ""
        fixed = f"CASE WHEN strlen({column}) = {len(found[0])} THEN {column} ELSE 'no time' END"
        micros = f"epoch_us(strptime({fixed}, {literal(form)}))"
        return wall_clock(micros, self.tz) if self.zoned and self.tz != "UTC" else micros

    def cells(self, found: Sequence[str]) -> ArrowCells | None:
        """Return how Arrow parses the column; None if it cannot parse all texts in ``found``.

        In later rows, Arrow fails on nanoseconds, and if only some of the times have a zone.
        """
        whole = self.kind in {ColumnType.INTEGER, ColumnType.TEXT_INTEGER} and self.unit in ("s", "ms", "us")
        if self.formats or self.spans or (self.unit is not None and not whole):
            return None
        kind = pa.int64() if whole else pa.timestamp("us", "UTC" if self.zoned else None)
        try:
            pa.array(found, pa.string()).cast(kind)
        except pa.ArrowInvalid:
            return None
        return ArrowCells(kind, self._finished)

    def _finished(self, column: pa.Array) -> pa.Array:
        """Convert a column that Arrow has read to microseconds of the wall clock."""
        micros = column.cast(pa.int64())
        if self.unit is not None:
            if pc.any(pc.greater_equal(pc.abs(micros), LATEST * _PER_SECOND[self.unit])).as_py():
                raise pa.ArrowInvalid("Could not convert: a time beyond plausible years")
            micros = pc.multiply_checked(micros, 1_000_000 // _PER_SECOND[self.unit])
        return pa.array(wall_clocks(np.asarray(micros), self.tz)) if self.zoned and self.tz != "UTC" else micros

    def _epoch(self, column: str, cast: str) -> str:
        """Return an SQL expression that converts numbers since 1970 to microseconds.

        Fractions are rounded and nanoseconds are rounded down. A number beyond plausible years is an error.
        """
        if self.unit == SERIAL:
            days = f"({cast}({column} AS DOUBLE) - {_SERIAL_1970})"
            grains = f"{cast}(round({days} * {86_400 / self.grain!r}) AS BIGINT)"
            return f"({grains} * {self.grain * 1_000_000})"
        per_second = _PER_SECOND[self.unit or "s"]
        if self.kind in {ColumnType.FLOAT, ColumnType.TEXT_NUMBER}:
            seconds = f"{cast}({column} AS DOUBLE)"
            micros = f"{cast}(round({seconds} * {1_000_000 / per_second!r}) AS BIGINT)"
            return _plausible(seconds, per_second, micros, cast)
        count = f"{cast}({column} AS BIGINT)" if self.kind is not ColumnType.INTEGER else f"CAST({column} AS BIGINT)"
        if self.unit == "ns":
            return f"({count} - ({count} % 1000 + 1000) % 1000) // 1000"
        micros = count if self.unit == "us" else f"({count} * {1_000_000 // per_second})"
        return _plausible(count, per_second, micros, cast)

    def present(self, column: str) -> str:
        """Return an SQL condition that is true if a cell must contain a time."""
        if self.kind in {ColumnType.TIMESTAMP, ColumnType.DATE, ColumnType.ZONED, ColumnType.INTEGER, ColumnType.FLOAT}:
            return f"{column} IS NOT NULL"
        return f"trim({column}) NOT IN ('', {literal(self.name)})"

    def wanted(self) -> str:
        """Describe a readable time, for an error message."""
        if self.formats:
            return f"a time written {self.formats[0]}, as the others are; `date_format` names another way"
        if self.unit == SERIAL:
            return "a number of days since 1899-12-30, as the others are"
        if self.unit is not None:
            return f"an epoch number in {self.unit} before the year 2200, as the others are"
        one = " with a zone, such as 2026-01-31T23:30:00Z" if self.zoned else ", such as 2026-01-31 23:30:00"
        return (
            f"an ISO time{one}; `date_format` says how times are written otherwise, such as '%d/%m/%Y %H:%M' "
            "(names of days are not read, nor those of months but in English)"
        )


def _plausible(count: str, per_second: int, micros: str, cast: str) -> str:
    """Return the SQL expression ``micros``, restricted to counts before `LATEST`.

    A later time makes the query fail (``cast`` is CAST) or is null (TRY_CAST).
    """
    odd = f"{cast}('no time ' || CAST({count} AS VARCHAR) AS BIGINT)"
    return f"CASE WHEN abs({count}) < {LATEST * per_second} THEN {micros} ELSE {odd} END"


_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:(?P<mark>[T ])\d\d:\d\d(?P<seconds>:\d\d)?(?P<zone>Z|[+-]\d\d:\d\d)?)?")


def _iso_form(text: str) -> str | None:
    """Return the strptime format of an ISO time without fractions; None for other texts."""
    if not (match := _ISO.fullmatch(text)):
        return None
    mark, seconds, zone = match["mark"] or "", match["seconds"], match["zone"] or ""
    clock = f"{mark}%H:%M{':%S' if seconds else ''}" if mark else ""
    return f"%Y-%m-%d{clock}{'Z' if zone == 'Z' else '%z' if zone else ''}"


def _micros_of_text(column: str, cast: str) -> str:
    """Return an SQL expression that converts ISO text without a zone to microseconds; further digits are cut off.

    Only text of exactly this form is converted, because DuckDB's own cast would silently drop an offset. A fast first
    test recognises the usual form without the regular expression.
    """
    usual = f"(length({column}) = 19 AND substr({column}, 17, 1) = ':')"
    exact = matches(f"trim({column})", NAIVE_TIME)
    usable = f"CASE WHEN {usual} THEN {column} WHEN {exact} THEN substr(trim({column}), 1, 26)"
    text = f"{usable} WHEN trim({column}) <> '' THEN 'no time' END"
    return f"epoch_us({cast}({text} AS TIMESTAMP))"


def _instant_of_text(column: str, cast: str) -> str:
    """Return an SQL expression that converts ISO text with an offset to an instant, in integer arithmetic:

    instant = clock - sign * (60 * hours + minutes) * 60,000,000
    """
    text = f"trim({column})"
    exact = matches(text, ZONED_TIME)
    clock = f"substr({extract(text, ZONED_TIME, 1)}, 1, 26)"
    usable = f"CASE WHEN {exact} THEN {clock} WHEN {text} <> '' THEN 'no time' END"
    micros = f"epoch_us({cast}({usable} AS TIMESTAMP))"
    zone = f"replace({extract(text, ZONED_TIME, ZONE_GROUP)}, ':', '')"
    digits = f"CASE WHEN {zone} IN ('Z', 'UTC', 'GMT', '') THEN '+0000' ELSE concat({zone}, '00') END"
    hours, minutes = (f"TRY_CAST(substr({digits}, {at}, 2) AS BIGINT)" for at in (2, 4))
    sign = f"CASE WHEN substr({digits}, 1, 1) = '-' THEN -1 ELSE 1 END"
    return f"({micros} - ({sign}) * (60 * {hours} + {minutes}) * 60000000)"


def time_rule(
    name: str, kind: ColumnType, column: pa.ChunkedArray, tz: str | None, written: DateFormat | None = None
) -> tuple[TimeRule, list[str]]:
    """Return how to parse a column as times, and notes for the user.

    ``column``   a sample of the column
    ``written``  the format of dates that are not in ISO form
    """
    if tz is not None:
        check_zone(tz)
    notes = []
    if written is not None:
        notes.append(f"{name} is written {written.formats[0]}: {written.evidence}")
        return TimeRule(kind, zoned=False, formats=written.formats), notes
    if kind in CLOCKS:
        raise ColumnError(
            f"column {name!r} holds times of day without a date; name a column with both, with `time`", kind="clock"
        )
    if kind not in {
        ColumnType.TIMESTAMP,
        ColumnType.DATE,
        ColumnType.ZONED,
        ColumnType.TEXT,
        ColumnType.TEXT_TIME,
        ColumnType.TEXT_DATE,
        ColumnType.EMPTY,
    }:
        rule = epoch_rule(name, kind, column, tz or "UTC")
        since = "1899-12-30, as sheets do" if rule.unit == SERIAL else "1970"
        notes.append(f"{name} counts {rule.unit} since {since}")
    else:
        found = texts(column) if kind in {ColumnType.TEXT, ColumnType.TEXT_TIME, ColumnType.TEXT_DATE} else []
        zoned = kind is ColumnType.ZONED or 2 * sum(map(is_zoned, found)) > len(found)
        rule = TimeRule(kind, zoned, tz=tz or "UTC")
    if rule.zoned and tz is None and not rule.has_offsets:
        notes.append(f"{name} is of a known zone: read as UTC wall-clock time; `tz` names another zone")
    if not rule.zoned and tz is not None:
        notes.append(f"{name} has no zone: taken as local wall-clock time, `tz` has no effect")
    return rule, notes


def counts_from_1970(column: pa.ChunkedArray) -> bool:
    """Return whether all numbers are times since 1970, in seconds, milliseconds or microseconds, from 2000 to 2100.

    This recognises a column of times whose name does not show it.
    """
    found = [number for number in column.to_pylist() if number is not None]
    if not found or not all(map(_is_finite_number, found)):
        return False
    low, high = min(map(float, found)), max(map(float, found))
    return any(946_684_800 * unit <= low and high < 4_102_444_800 * unit for unit in (1, 1000, 1_000_000))


def epoch_rule(name: str, kind: ColumnType, column: pa.ChunkedArray, tz: str) -> TimeRule:
    """Return how to parse numbers that count from 1970. Their size shows the unit, for times from 1973 to 2200.

    Smaller numbers are seconds. Numbers from 20,000 to 80,000 are dates of a spreadsheet, in days.
    """
    if kind not in {ColumnType.INTEGER, ColumnType.FLOAT, ColumnType.TEXT_INTEGER, ColumnType.TEXT_NUMBER}:
        raise ColumnError(f"column {name!r} holds no times; name another with `time`", kind="type")
    raw = texts(column) if kind in {ColumnType.TEXT_INTEGER, ColumnType.TEXT_NUMBER} else column.drop_null().to_pylist()
    numbers = [float(number) for number in raw if _is_finite_number(number)]
    if numbers and _SERIALS[0] <= min(numbers) and max(numbers) < _SERIALS[1]:
        off = (abs(number * 1440 - round(number * 1440)) for number in numbers)
        return TimeRule(kind, zoned=False, unit=SERIAL, grain=60 if max(off) <= 0.1 else 1)
    largest = max(map(abs, numbers), default=0.0)
    unit = next((unit for unit, count in _PER_SECOND.items() if largest < 1e11 * count), "ns")
    return TimeRule(kind, zoned=True, unit=unit, tz=tz)


def _is_finite_number(text: object) -> bool:
    try:
        return abs(float(str(text))) < float("inf")
    except ValueError:
        return False


def clock_sql(
    kind: ColumnType, column: str, first: int, per_day: int, cast: str = "CAST", *, spans: bool = False
) -> str:
    """Return an SQL expression that converts a time of day, or the number of a part of the day, to microseconds.

    ``first``    the number of the first part
    ``per_day``  the number of parts in a usual day
    ``spans``    whether the cell may also contain the end of the interval

    24:00 is the end of the day.
    """
    if kind is ColumnType.CLOCK:
        return f"epoch_us({column})"
    if kind is ColumnType.TEXT_CLOCK:
        column = extract(f"trim({column})", rf"^({LOCAL_CLOCK})", 1) if spans else column
        text = f"trim({column})"
        forms = [f"%Y-%m-%d {form}" for form in ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p")]
        micros = parsed(f"concat('1970-01-01 ', {column})", forms, cast)
        return f"CASE WHEN {text} LIKE '24:00%' THEN {86_400_000_000} WHEN {text} <> '' THEN {micros} END"
    number = f"{cast}({column} AS BIGINT)"
    return f"(({number}) - {first}) * {86_400_000_000 // per_day}"
