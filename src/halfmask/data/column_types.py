"""Find the type of each column from its Arrow type. For text, look at a sample of the cells."""

import re
from enum import Enum, auto

import pyarrow as pa

from halfmask.data.date_formats import has_clock, is_compact, is_local_date, start_of
from halfmask.data.number_formats import is_local_number

CLOCK = r"\d\d:\d\d(:\d\d(\.\d+)?)?"
LOCAL_CLOCK = r"\d{1,2}:\d\d(:\d\d)?( ?[AaPp][Mm])?"
CLOCK_SPAN = rf"({LOCAL_CLOCK}) ?(?:-|–|to|bis|à) ?{LOCAL_CLOCK}"
DAY = r"\d{4}-\d\d-\d\d"
NAIVE_TIME = rf"{DAY}([T ]{CLOCK})?"
ZONE = r"Z|UTC|GMT|[+-]\d\d(:?\d\d)?"
ZONED_TIME = rf"({DAY}[T ]{CLOCK}) ?({ZONE})(?:\[[A-Za-z_/]+\])?"
"""ISO 8601 times as text; group 1 is the wall clock. Both engines and Python read these patterns alike."""
ZONE_GROUP = 4

ABSENT: tuple[str, ...] = (
    "",
    "-",
    "--",
    "—",
    "?",
    "na",
    "n/a",
    "#n/a",
    "n.a.",
    "null",
    "none",
    "nil",
    "missing",
    "no data",
    *("unavailable", "unknown", "undefined", "no reading", "n/d", "nd", "k.a.", "error", "fehler"),
    *("\\n", "*", ".", "..", "..."),
)
"""Texts for a missing value, in lower case."""


class ColumnType(Enum):
    """The type of a column's cells."""

    INTEGER = auto()
    FLOAT = auto()
    DECIMAL = auto()
    TIMESTAMP = auto()
    ZONED = auto()
    DATE = auto()
    CLOCK = auto()
    BOOLEAN = auto()
    EMPTY = auto()
    TEXT = auto()
    TEXT_TIME = auto()
    TEXT_DATE = auto()
    TEXT_CLOCK = auto()
    TEXT_INTEGER = auto()
    TEXT_NUMBER = auto()
    OTHER = auto()


TEXTS = frozenset({*(kind for kind in ColumnType if kind.name.startswith("TEXT")), ColumnType.EMPTY})
WHOLE = frozenset({ColumnType.INTEGER, ColumnType.TEXT_INTEGER})
FRACTIONS = frozenset({ColumnType.FLOAT, ColumnType.DECIMAL, ColumnType.TEXT_NUMBER})
NUMBERS = WHOLE | FRACTIONS
TIMES = frozenset({ColumnType.TIMESTAMP, ColumnType.ZONED, ColumnType.DATE, ColumnType.TEXT_TIME, ColumnType.TEXT_DATE})
DATES = frozenset({ColumnType.DATE, ColumnType.TEXT_DATE})
CLOCKS = frozenset({ColumnType.CLOCK, ColumnType.TEXT_CLOCK})


def column_types(sample: pa.Table) -> dict[str, ColumnType]:
    """Return the type of every column of a sample."""
    return {name: column_type(sample.column(name)) for name in sample.column_names}


def column_type(column: pa.ChunkedArray) -> ColumnType:
    """Return the type of a column. Text has the type of most of its cells: times, times of day or numbers."""
    t = column.type
    if pa.types.is_dictionary(t):
        t = t.value_type
    tests = {
        ColumnType.BOOLEAN: pa.types.is_boolean(t),
        ColumnType.INTEGER: pa.types.is_integer(t),
        ColumnType.FLOAT: pa.types.is_floating(t),
        ColumnType.DECIMAL: pa.types.is_decimal(t),
        ColumnType.DATE: pa.types.is_date(t),
        ColumnType.CLOCK: pa.types.is_time(t),
        ColumnType.ZONED: pa.types.is_timestamp(t) and t.tz is not None,
        ColumnType.TIMESTAMP: pa.types.is_timestamp(t),
        ColumnType.TEXT: pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t),
        ColumnType.EMPTY: pa.types.is_null(t),
    }
    found = next((kind for kind, holds in tests.items() if holds), ColumnType.OTHER)
    return text_type(texts(column)) if found is ColumnType.TEXT else found


def texts(column: pa.ChunkedArray) -> list[str]:
    """Return the texts of a sample without missing values and outer blanks."""
    stripped = (text.strip() for text in column.to_pylist() if text is not None)
    return [text for text in stripped if text.lower() not in ABSENT]


def text_type(found: list[str]) -> ColumnType:
    """Return the type that most texts of a sample have. Cells of another type are reported as errors later."""
    if not found:
        return ColumnType.EMPTY
    if all(map(is_compact, found)):
        return ColumnType.TEXT_TIME if has_clock(found[0]) else ColumnType.TEXT_DATE
    if all(map(is_date, found)):
        return ColumnType.TEXT_DATE
    tests = {
        ColumnType.TEXT_TIME: is_time,
        ColumnType.TEXT_CLOCK: is_clock,
        ColumnType.TEXT_INTEGER: is_integer,
        ColumnType.TEXT_NUMBER: is_number,
    }
    return next((kind for kind, test in tests.items() if 2 * sum(map(test, found)) > len(found)), ColumnType.TEXT)


def is_time(text: str) -> bool:
    """Return whether a text is a date, with or without a time of day, in ISO form or in a form of `date_formats`."""
    first = start_of(text)
    return is_iso(first) or is_local_date(first)


def is_iso(text: str) -> bool:
    """Return whether a text is an ISO time, with or without a zone."""
    return bool(re.fullmatch(NAIVE_TIME, text) or re.fullmatch(ZONED_TIME, text))


def is_date(text: str) -> bool:
    """Return whether a text is a date without a time of day."""
    return bool(re.fullmatch(DAY, text)) or (is_local_date(text) and not has_clock(text))


def is_zoned(text: str) -> bool:
    """Return whether a text is an ISO time with a zone."""
    return bool(re.fullmatch(ZONED_TIME, text))


def is_clock(text: str) -> bool:
    """Return whether a text is a time of day without a date, or a span such as 10:00-10:30."""
    return any(re.fullmatch(form, text) for form in (CLOCK, LOCAL_CLOCK, CLOCK_SPAN))


def is_integer(text: str) -> bool:
    """Return whether a text is a whole number, written without point and exponent."""
    return bool(re.fullmatch(r"[+-]?\d+", text))


def is_number(text: str) -> bool:
    """Return whether a text is a number with a decimal point or comma; NaN and infinities count as numbers."""
    try:
        float(text)
    except ValueError:
        return is_local_number(text)
    return True
