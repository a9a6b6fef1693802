"""Recognise whether a table is long (one reading per row) or wide (several).

In a wide table, each column holds one sensor, one part of the day, or one time.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from halfmask.data import day_parts
from halfmask.data.column_types import (
    ABSENT,
    DATES,
    FRACTIONS,
    NUMBERS,
    TIMES,
    WHOLE,
    ColumnType,
    is_iso,
    is_time,
    is_zoned,
)
from halfmask.data.columns import (
    ENDS,
    ROLES,
    Columns,
    candidates,
    choose_columns,
    first_ends,
    listing,
    present,
    role_of,
    several,
    split_time,
    words,
)
from halfmask.data.date_formats import date_format, moment_of
from halfmask.data.options import ReadOptions
from halfmask.data.other_columns import beside_time
from halfmask.data.panel import Guess
from halfmask.data.source_table import SourceTable
from halfmask.data.sql import Queries, literal, quote
from halfmask.data.times import counts_from_1970
from halfmask.data.units import NAMES as UNIT_NAMES
from halfmask.data.user_column import FROM_FILE, FROM_FOLDER, has_user, of_files, user_of
from halfmask.data.zones import clock_of, stretch_of, zone_of
from halfmask.errors import ColumnError, OptionError

_VALUES = NUMBERS | {ColumnType.EMPTY}
_OF_ONE_METER = frozenset(
    ("tariff", "tarif", "tarief", "dal", "normaal", "returned", "export", "exported", "import", "imported")
) | frozenset(("injection", "injectie", "afname", "teruglevering", "einspeisung", "bezug"))
"""Words for a tariff or a direction. Columns with such names belong to one meter; they are not separate sensors."""


@dataclass(frozen=True)
class Long:
    """The shape of a table with one reading per row."""

    columns: Columns
    guesses: tuple[Guess, ...] = ()


@dataclass(frozen=True)
class Wide:
    """The shape of a table with several readings per row, each in its own column.

    ``offsets``  for each column of readings: microseconds from the row's time to the reading's time
    ``user``     the column of the user; None if each column of readings is a user
    ``time``     the column of the time or date; None if the columns are named by times
    ``running``  whether numbered parts of a day continue through the hour that occurs twice
    """

    offsets: Mapping[str, int]
    user: str | None
    time: str | None
    note: str
    guesses: tuple[Guess, ...] = ()
    running: bool = False


def recognise(raw: SourceTable, found: Mapping[str, ColumnType], options: ReadOptions) -> Long | Wide:
    """Return the shape of a table from the options and the names and types of its columns."""
    if options.wide:
        return wide(raw, found, options)
    wider = _moments(raw, found, options) or _days(raw, found, options) or _sensors(raw, found, options)
    return wider or _long(raw, found, options)


def _moments(raw: SourceTable, found: Mapping[str, ColumnType], options: ReadOptions) -> Wide | None:
    """Return the shape of a table with one row per user and columns named by times; else None."""
    named = [name for name in found if is_time(name)]
    if len(named) < 3 or 2 * len(named) <= len(found) or options.time or options.value or options.date:
        return None
    written = None if all(map(is_iso, named)) else date_format("a name", named, options.date_format, lambda: (0, 0))
    tz = options.tz or clock_of("a name", [stretch_of(name) for name in named if is_zoned(name)])
    times = {name: _local(name, written.formats) if written else _instant(name, tz) for name in named}
    user, guess = user_of(raw, {name: kind for name, kind in found.items() if name not in times}, options)
    first, *_, last = times
    evidence = f"{len(times)} columns from {first} to {last} are named by times"
    shape = Guess("shape", "a row a user", evidence, "`value`")
    return Wide(times, user, None, f"user = {user}; {evidence}", (guess, shape))


def _local(text: str, formats: Sequence[str]) -> int:
    """Return a wall-clock time in microseconds, parsed by the first format that fits."""
    moment = next((found for form in formats if (found := moment_of(text, form))), None)
    if moment is not None:
        return (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    raise ColumnError(f"the name of column {text!r} is not a time written {formats[0]}, as the others are", kind="name")


def _instant(text: str, tz: str) -> int:
    """Return the wall-clock time of an ISO text in microseconds; a text with an offset is converted to ``tz``."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        moment = moment.astimezone(zone_of(tz))
    local = moment.replace(tzinfo=None, fold=0)
    return (local - datetime(1970, 1, 1)) // timedelta(microseconds=1) + moment.fold * day_parts.SECOND


def wide(raw: SourceTable, found: Mapping[str, ColumnType], options: ReadOptions) -> Wide:
    """Return the shape of a table for the option `wide`: each numeric column except the time is a user."""
    if options.user is not None or options.value is not None:
        raise OptionError("`wide` takes every numeric column as a user; leave `user` and `value` out", kind="wide")
    name = _time(raw, found, options.time)
    sensors = tuple(c for c in found if c != name and c not in raw.partitions and found[c] in _VALUES)
    if not sensors:
        raise ColumnError(f"`wide` found no numeric column beside {name!r} ({listing(found)})", kind="missing")
    return _of_sensors(name, sensors)


def _time(raw: SourceTable, kinds: Mapping[str, ColumnType], asked: str | None) -> str:
    """Return the column of the time: the named one, or the only one that its name, type or epoch numbers identify."""
    times = [asked] if asked else candidates("time", kinds, {}) or [n for n, kind in kinds.items() if kind in TIMES]
    times = times or first_ends([name for name in kinds if counts_from_1970(raw.sample.column(name))])
    return present(kinds, _only("time", times, kinds), "time")


def _days(raw: SourceTable, found: Mapping[str, ColumnType], options: ReadOptions) -> Wide | None:
    """Return the shape of a table with one row per day and one column per part of the day; else None."""
    if options.value is not None:
        return None
    named = options.date or options.time
    days = [present(found, named, "date")] if named else [name for name, kind in found.items() if kind in DATES]
    midnights = [name for name, kind in found.items() if kind is ColumnType.TIMESTAMP and not days]
    days = days or (midnights if len(midnights) == 1 else [])
    parts = day_parts.slots(
        [name for name, kind in found.items() if kind in _VALUES | {ColumnType.TEXT} and name not in days]
    )
    if parts is None or len(days) != 1:
        return None
    rest = {name: kind for name, kind in found.items() if name not in parts.offsets and name != days[0]}
    user, guess = user_of(raw, rest, options)
    running = bool(_filled(raw, parts.beyond))
    if running and options.tz is None:
        raise OptionError(
            f"{parts.evidence}, and {', '.join(parts.beyond)} hold readings, as on the day when clocks go back: name "
            "the zone whose clock it is with `tz`, such as Europe/Dublin",
            kind="zone",
        )
    odd = _filled(raw, [name for name in rest if day_parts.is_part_number(name) and name != user])
    if odd:
        raise ColumnError(
            f"{parts.evidence}; {', '.join(map(repr, odd))} hold values too, and are no part of it: leave these "
            "columns out, or name them by the clock that comes twice (02:00B)",
            kind="parts",
        )
    offsets = {name: offset for name, offset in parts.offsets.items() if running or name not in parts.beyond}
    shape = Guess("shape", "a row a day", parts.evidence, "`value`")
    shown = "the file's name" if user.startswith("@") else user
    note = f"user = {shown}, time = {days[0]} and the column's name; {parts.evidence}"
    return Wide(offsets, user, days[0], note, (guess, shape), running)


def _filled(raw: SourceTable, names: Sequence[str]) -> list[str]:
    """Return the columns that are not empty."""
    texts = [f"CAST({quote(name)} AS VARCHAR)" for name in names]
    absent = ", ".join(map(literal, ABSENT))
    counts = raw.count([f"lower(trim({text})) NOT IN ({absent})" for text in texts]) if names else []
    return [name for name, count in zip(names, counts, strict=True) if count]


def _sensors(raw: SourceTable, found: Mapping[str, ColumnType], options: ReadOptions) -> Wide | None:
    """Return the shape of a table with one column per sensor; else None.

    Such a table has one column of times, at least two columns of numbers, and no column named as a user or value.
    """
    if list(found) == [str(i) for i in range(len(found))]:  # no header, so no names that could be sensors'
        return None
    if options.user is not None or options.value is not None or options.date is not None:
        return None
    times = [options.time] if options.time else [name for name, kind in found.items() if kind in TIMES]
    users = candidates("user", found, {})
    # Fractions are not ids, so columns House 1 and House 2 with fractions are sensors.
    if (
        len(times) != 1
        or times[0] not in found
        or (users and (len(users) < 2 or not all(found[name] in FRACTIONS for name in users)))
    ):
        return None
    about = {times[0], *beside_time(raw.sample, found), *raw.partitions}
    sensors = tuple(n for n, kind in found.items() if n not in about and kind in _VALUES)
    others = [n for n in found if n not in about and n not in sensors]
    named = [n for n in sensors if role_of(n, found[n]) == "value" and words(n) != ["total"]]
    values = bool(named)
    if users and values:
        raise ColumnError(
            f"{', '.join(users[:3])} ... are columns of users by their names, and {', '.join(named)} of a value; leave "
            f"out what is no user, {Queries(raw.origin).exclude(named)}, or take all as users with `wide`",
            kind="several",
        )
    alike = len({re.sub(r"\d+", "", n) for n in sensors}) == 1
    if len(sensors) < 2 or others or (values and not alike) or _one_of_three(found):
        return None
    if _OF_ONE_METER & {word for name in sensors for word in words(name)}:
        raise several("value", sensors, ", or take each column of numbers as a user with `wide`")
    evidence = f"{times[0]} is the only time, and no name of the {len(sensors)} columns of numbers is one of a value"
    return _of_sensors(times[0], sensors, Guess("shape", "a column a sensor", evidence, "`user`, `value`"))


def _of_sensors(time: str, sensors: Sequence[str], *guesses: Guess) -> Wide:
    note = f"time = {time}, {len(sensors)} columns as users"
    return Wide(dict.fromkeys(sensors, 0), None, time, note, guesses)


def _one_of_three(found: Mapping[str, ColumnType]) -> bool:
    """Return whether a table has three columns, exactly one of which holds whole numbers."""
    whole = [n for n, kind in found.items() if kind in WHOLE]
    return len(found) == 3 and len(whole) == 1


def _long(raw: SourceTable, found: Mapping[str, ColumnType], options: ReadOptions) -> Long:
    """Return the shape of a table with one reading per row.

    The date and the time of day may be in two columns. The user's id may be in the file's name.
    """
    pair = split_time(found, options.date, options.time)
    kinds = dict(found)
    time = options.time
    if pair is not None:
        del kinds[pair[1]]
        time = pair[0]
    kinds = {name: kind for name, kind in kinds.items() if not UNIT_NAMES & set(words(name)) or name == options.user}
    guesses: list[Guess] = []
    if options.register and time is None:  # a register's state is that of the end of its interval
        ends = [name for name, kind in kinds.items() if ENDS & set(words(name)) and _is_time(raw, name, kind)]
        time = ends[0] if len(ends) == 1 else None
    user = options.user
    if user in (FROM_FILE, FROM_FOLDER) or (user is None and not has_user(raw, kinds, time, options.value)):
        user, guess = user_of(raw, {}, options) if user else of_files(raw, found)
        chosen = _time_and_value(raw, kinds, time, options.value)
        columns = Columns(user, *chosen)
        guesses.append(guess)
    else:
        no_values = beside_time(raw.sample, kinds)
        if time is None and not candidates("time", kinds, {}) and not TIMES & set(kinds.values()):
            counts = first_ends([name for name, kind in kinds.items() if _is_time(raw, name, kind)])
            time = counts[0] if len(counts) == 1 else None
        columns = choose_columns(kinds, user, time, options.value, files=bool(raw.files), no_values=no_values)
    if pair is not None:
        columns = Columns(columns.user, pair[1], columns.value, pair[0])
        guesses.append(
            Guess("time", f"{pair[0]} and {pair[1]}", "one holds the day, the other the clock", "`date`, `time`")
        )
    for role in ROLES:
        if not any(guess.what == role for guess in guesses):
            name, said = getattr(columns, role), getattr(options, role)
            kind = found[name].name.lower().replace("_", " of ").replace("text of", "text that holds a")
            evidence = f"`{role}`" if said else f"by name and kind: {kind}"
            sure = role != "user" or said is not None or role_of(name, found[name]) == "user"
            guesses.append(Guess(role, name, evidence if sure else "what is left", f"`{role}`", sure))
    return Long(columns, tuple(guesses))


def _is_time(raw: SourceTable, name: str, kind: ColumnType) -> bool:
    return kind in TIMES or counts_from_1970(raw.sample.column(name))


def _time_and_value(
    raw: SourceTable, kinds: Mapping[str, ColumnType], time: str | None, value: str | None
) -> tuple[str, str]:
    """Return the columns of time and value of a table without a column of users."""
    chosen_time = _time(raw, kinds, time)
    about = {chosen_time, *beside_time(raw.sample, kinds)} - {value}
    free = {name: kind for name, kind in kinds.items() if name not in about}
    values = [value] if value else candidates("value", free, {}) or [n for n, kind in free.items() if kind in NUMBERS]
    return chosen_time, present(free, _only("value", values, kinds), "value")


def _only(role: str, names: Sequence[str], kinds: Mapping[str, ColumnType]) -> str:
    if len(names) == 1:
        return names[0]
    if names:
        raise several(role, names)
    raise ColumnError(f"no column looks like the {role}; name one with `{role}` ({listing(kinds)})", kind="missing")
