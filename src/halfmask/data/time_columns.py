"""Parse the columns of the time: one column, or separate columns of the date and the time of day."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pyarrow as pa

from halfmask.data.column_types import CLOCK_SPAN, TEXTS, WHOLE, ColumnType, is_iso, texts
from halfmask.data.columns import ENDS, STARTS, words
from halfmask.data.date_formats import ORDER, DateFormat, date_format, start_of
from halfmask.data.interpretation import Interpretation
from halfmask.data.panel import Guess
from halfmask.data.source_table import Rule, operand
from halfmask.data.sql import extract, quote, to_instant
from halfmask.data.times import TimeRule, clock_sql, time_rule
from halfmask.data.unreadable_cells import guard
from halfmask.data.zones import own_clock, wall_clock
from halfmask.errors import OptionError

_MINUTE = 60_000_000
_STAMP = r"([0-9]{1,2}:[0-9]{2})"
"""The first time of day in a text. The pattern works in DuckDB and in Python."""


@dataclass(frozen=True)
class _Parts:
    """How a column numbers the parts of a day.

    ``first``    the number of the first part
    ``per_day``  the number of parts in a usual day
    ``running``  whether numbers continue on the longer day when clocks go back
    """

    first: int
    per_day: int
    running: bool


def time_rules(table: Interpretation, name: str, clock: str | None, *, running: bool = False) -> list[Rule]:
    """Return how to parse the column of times and, if there is one, the column of times of day.

    ``running``  whether numbered parts of a day continue through the hour that occurs twice in the zone `tz`
    """
    column, kind = table.sample(name), table.kinds[name]
    spans = kind in TEXTS and any(start_of(text) != text for text in texts(column))
    if spans:
        column = pa.chunked_array([[start_of(text) for text in texts(column)]])
    written = _date_format(table, name, kind, column)
    part = _parts_of_day(table, clock) if clock is not None and table.kinds[clock] in WHOLE else _Parts(0, 24, False)
    running = running or part.running
    rule, notes = time_rule(name, kind, column, None if running else table.options.tz, written)
    rule = replace(rule, spans=spans, name=name)
    if rule.has_offsets and table.options.tz is None:
        rule = _with_own_clock(table, name, rule, texts(column))
    notes += [f"{name} holds both ends of an interval: its start is the time"] if spans else []
    table.notes.extend(notes)
    evidence = written.evidence if written else "most texts are ISO times" if kind in TEXTS else "its type"
    shown = written.formats[0] if written else rule.unit or "ISO"
    table.guesses.append(Guess("times", shown, evidence, "`date_format`"))
    if rule.zoned:
        zone = f"wall clock of {rule.tz}"
        evidence = "times name an instant" if rule.tz in ("UTC", table.options.tz) else "the offsets of all times"
        table.guesses.append(Guess("zone", zone, evidence, "`tz`"))
    moment = _time_rule(name, rule, column)
    stamped = clock or name
    length = (
        0
        if spans or table.kinds[stamped] not in (ColumnType.TEXT_TIME, ColumnType.TEXT_CLOCK, ColumnType.CLOCK)
        else _interval_ended(table, name, stamped) or _stamped_at_its_end(table, name, stamped)
    )
    if clock is None:
        start = replace(moment, sql=f"(({moment.sql}) - {length})", quick="", cells=None)
        return [start if length else moment]
    of_day = _clock(table, clock, part)
    both = f"(({moment.sql}) + ({of_day.sql}) - {length})"
    if part.running and table.options.tz:
        midnight = to_instant(moment.sql, table.options.tz)
        both = wall_clock(f"({midnight} + ({of_day.sql}))", table.options.tz)
    return [replace(moment, sql=both, quick="", cells=None), of_day]


def _time_rule(name: str, rule: TimeRule, column: pa.ChunkedArray) -> Rule:
    """Return the SQL expressions that parse a column of times."""
    quoted = operand(name, column)
    attempt = f"({rule.present(quoted)}) AND ({rule.sql(quoted, 'TRY_CAST')}) IS NULL"
    safe = rule.kind in {ColumnType.TIMESTAMP, ColumnType.DATE, ColumnType.ZONED}
    careful = Rule("time", name, rule.sql(quoted), None if safe else attempt, rule.wanted())
    found = texts(column) if rule.kind in TEXTS else []
    return replace(careful, quick=rule.quick(quoted, found), cells=rule.cells(found))


def _with_own_clock(table: Interpretation, name: str, rule: TimeRule, sample: Sequence[str]) -> TimeRule:
    """Set the zone that the offsets of all times show, and add a note."""
    column = table.sample(name)
    with guard(table.raw, []):
        text = rule.text(operand(name, column))
        rule = replace(rule, tz=own_clock(table.raw, name, text, sample))
    if rule.tz == "UTC":
        table.notes.append(f"{name} is of a known zone: read as UTC wall-clock time; `tz` names another zone")
    elif rule.tz[0] in "+-":
        table.notes.append(f"{name} has the offset {rule.tz}: days are cut by that clock; `tz` names a zone")
    else:
        table.notes.append(
            f"{name} has several offsets, those of {rule.tz}: days are cut by that clock; `tz` names another zone"
        )
    return rule


def _parts_of_day(table: Interpretation, name: str) -> _Parts:
    """Return how a column numbers the hours, half-hours or quarter-hours of a day."""
    quoted = operand(name, table.sample(name))
    number = f"TRY_CAST({quoted} AS BIGINT)"
    limits = (24, 25, 48, 50, 96, 100)
    none, below, *above = table.raw.count(
        [f"{number} = 0", f"{number} < 0", *(f"{number} > {limit}" for limit in limits)]
    )
    more = dict(zip(limits, above, strict=True))
    if below or more[100]:
        raise OptionError(f"column {name!r} is no number of a part of a day; name another with `time`", kind="parts")
    per_day = 96 if more[50] else 48 if more[25] else 24
    first = 0 if none else 1
    running = bool(more[per_day])
    if running and table.options.tz is None:
        raise OptionError(
            f"column {name!r} counts beyond {per_day}, as on the day when clocks go back: name the zone whose "
            "clock it is with `tz`, such as Europe/Dublin",
            kind="zone",
        )
    what = {24: "hours", 48: "half-hours", 96: "quarters of an hour"}[per_day]
    table.notes.append(f"{name} numbers {what} from {first}, which begins at midnight")
    return _Parts(first, per_day, running)


def _clock(table: Interpretation, name: str, part: _Parts) -> Rule:
    """Return how to parse the column of times of day into microseconds since midnight."""
    kind = table.kinds[name]
    quoted = operand(name, table.sample(name))
    spans = kind is ColumnType.TEXT_CLOCK and any(re.fullmatch(CLOCK_SPAN, text) for text in texts(table.sample(name)))
    sql = clock_sql(kind, quoted, part.first, part.per_day, spans=spans)
    tried = clock_sql(kind, quoted, part.first, part.per_day, "TRY_CAST", spans=spans)
    present = f"{quoted} IS NOT NULL" if kind is ColumnType.CLOCK else f"trim(CAST({quoted} AS VARCHAR)) <> ''"
    return Rule("clock", name, sql, f"{present} AND ({tried}) IS NULL", "a time of day, such as 23:30")


def _date_format(table: Interpretation, name: str, kind: ColumnType, column: pa.ChunkedArray) -> DateFormat | None:
    """Return the date format of a column; None if it has ISO times or epoch numbers."""
    asked = table.options.date_format
    if kind in (ColumnType.INTEGER, ColumnType.FLOAT):
        found = [f"{number:.0f}" for number in column.drop_null().to_pylist() if number == number]
    elif kind in TEXTS:
        found = texts(column)
    else:
        return None
    if asked is None and 2 * sum(map(is_iso, found)) >= len(found):
        return None
    quoted = f"trim(CAST({quote(name)} AS VARCHAR))"
    parts = [f"TRY_CAST({extract(quoted, ORDER, i)} AS BIGINT) > 12" for i in (1, 2)]
    return date_format(name, found, asked, lambda: table.raw.count(parts)) if found or asked else None


def _interval_ended(table: Interpretation, day: str, clock: str) -> int:
    """Return the length in microseconds of the intervals, if a column of texts holds their ends; else 0.

    ``day``, ``clock``  the columns of the date and the time of day; the same column if it holds both

    The times of day must be exactly the ends of equal intervals that fill the day, the last written as 24:00. If the
    first day has only 24:00, the times are starts: the source writes midnight as 24:00 of the day before. If the column
    holds ends, a note is added.
    """
    days, clocks = ([str(cell or "") for cell in table.sample(name).to_pylist()] for name in (day, clock))
    stamps = [(each, found[1]) for each, text in zip(days, clocks, strict=True) if (found := re.search(_STAMP, text))]
    if STARTS & set(words(clock)) or not stamps or any(_minutes(stamp) == 0 for _, stamp in stamps):
        return 0
    texts = table.raw.distinct(extract(f"CAST({quote(clock)} AS VARCHAR)", _STAMP, 1))
    times = sorted({_minutes(text) for text in texts if text})
    if not times or times[-1] != 24 * 60 or times != list(range(times[0], 24 * 60 + 1, times[0])):
        return 0
    of_day: dict[str, set[int]] = defaultdict(set)
    for each, stamp in stamps:
        of_day[each.partition(stamp)[0]].add(_minutes(stamp))
    if next(iter(of_day.values())) == {24 * 60}:
        return 0
    table.notes.append(
        f"{clock} runs to 24:00 and never has 00:00: the ends of intervals of {times[0]} min, "
        "each of which is taken by its start"
    )
    return times[0] * _MINUTE


_BY_ENDS = frozenset(("horodate", "interval_length"))
"""Columns of the French grid's exports, which always give the ends of intervals."""


def _stamped_at_its_end(table: Interpretation, day: str, clock: str) -> int:
    """Return the length in microseconds of the intervals, if the times are their ends and midnight is 00:00; else 0.

    The times are ends if the columns' names show it. Otherwise the first time of the sample must be the end of a day's
    first interval. In addition, the source must be known to give ends, or have as many readings at midnight as at the
    end of the first interval. States of a register are never ends of intervals.
    """
    spoken = {*words(day), *words(clock)}
    if table.options.register or (STARTS & spoken and not ENDS & spoken):
        return 0
    days, clocks = ([str(cell or "") for cell in table.sample(name).to_pylist()] for name in (day, clock))
    stamps = [(each, found[1]) for each, text in zip(days, clocks, strict=True) if (found := re.search(_STAMP, text))]
    minutes = [(each.partition(stamp)[0], _minutes(stamp)) for each, stamp in stamps]
    said = bool(ENDS & spoken)  # then rows may be in any order
    steps = Counter(abs(b - a) for (on, a), (also, b) in pairwise(minutes) if on == also and b != a and (said or b > a))
    step = steps.most_common(1)[0][0] if steps else 0
    if not step or 24 * 60 % step:
        return 0
    if not said:
        known = _BY_ENDS & {each.casefold() for each in table.kinds}
        if minutes[0][1] != step or not (known or _ends_whole_days(table, clock, step)):
            return 0
    table.notes.append(f"{clock} holds the ends of intervals of {step} min, each of which is taken by its start")
    return step * _MINUTE


def _ends_whole_days(table: Interpretation, clock: str, step: int) -> bool:
    """Return whether there are as many readings at midnight as ``step`` minutes later."""
    found = table.raw.distinct(extract(f"CAST({quote(clock)} AS VARCHAR)", _STAMP, 1))
    counts: Counter[int] = Counter()
    for text, count in found.items():
        if text:
            counts[_minutes(text) % (24 * 60)] += count
    return counts[0] == counts[step]


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return 60 * int(hours) + int(minutes)
