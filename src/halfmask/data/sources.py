"""Any source of readings, opened as a panel."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from halfmask.data import bystanders, ends, shapes, steps
from halfmask.data.columns import role_of, words
from halfmask.data.dates import ORDER, DateFormat, check_format, date_format, start_of
from halfmask.data.diagnosis import guard
from halfmask.data.engines.sql import extract, file_part, literal, matches, quote, to_instant
from halfmask.data.kinds import ABSENT, CLOCK_SPAN, NUMBERS, TEXTS, Kind, is_iso, kinds, texts
from halfmask.data.numbers import NumberFormat, number_format, unit_behind
from halfmask.data.offsets import own_clock
from halfmask.data.open_table import open_table
from halfmask.data.options import ReadOptions
from halfmask.data.panel import Guess, Panel, Quick
from halfmask.data.quantities import state_of
from halfmask.data.queries import Queries, text_of
from halfmask.data.raw import Raw, RowTimes
from halfmask.data.registers import differences
from halfmask.data.rules import Rule, operand, time_column, user_rule, value_rule
from halfmask.data.times import TimeRule, clock_sql, time_rule
from halfmask.data.units import NAMES as UNIT_NAMES
from halfmask.data.units import Wanted, canonical, conversion, factor, is_unit, kept_unit, needs_step, unit_in_name
from halfmask.data.zones import running_on
from halfmask.errors import ColumnError, OptionError, ReadingError, SourceError


def open_panel(source: Any, options: ReadOptions | None = None, **said: Any) -> Panel:
    """Readings from a path, glob, folder, address, database or frame as a panel; a few rows are looked at for now.

    What is said, in an object or by name, are the fields of `ReadOptions`. What is not said is guessed from the first
    rows, and from the whole column where they leave it open; the panel's guesses say why.
    """
    chosen = options or ReadOptions(**said)
    if chosen.date_format is not None:
        check_format(chosen.date_format)
    raw = open_table(source, chosen)
    if raw.sample.num_rows == 0:
        raise SourceError(f"{raw.source}: there are no readings in it")
    if raw.rules:
        return _fixed(raw, chosen)
    found = kinds(raw.sample)
    named = (chosen.user, chosen.time, chosen.value, chosen.date)
    numbers = [name for name in bystanders.row_numbers(raw.sample, found) if name not in named]
    found = {name: kind for name, kind in found.items() if name not in numbers}
    raw.notes += tuple(f"{name} numbers the rows: left out, `user` takes it" for name in numbers)
    shape = shapes.recognise(raw, found, chosen)
    reader = _Reader(raw, found, chosen)
    if isinstance(shape, shapes.Sensors):
        panel = reader.sensors(shape)
    elif isinstance(shape, shapes.Days):
        panel = reader.days(shape)
    elif isinstance(shape, shapes.Moments):
        panel = reader.moments(shape)
    else:
        panel = reader.long(shape)
    panel = replace(panel, quantity=state_of(panel.unit, _measured(shape)))
    if not chosen.register:
        return replace(panel, register=chosen.register)
    return differences(panel, steps.step_of(steps.head(panel)))


def _measured(shape: shapes.Long | shapes.Sensors | shapes.Days | shapes.Moments) -> Sequence[str]:
    """The columns whose names may say what the readings are of."""
    if isinstance(shape, shapes.Long):
        return [shape.columns.value]
    return shape.sensors if isinstance(shape, shapes.Sensors) else []


def _fixed(raw: Raw, options: ReadOptions) -> Panel:
    """A table of a format that fixes the columns."""
    for name in ("wide", "user", "time", "value", "date"):
        if getattr(options, name):
            raise OptionError(f"`{name}` cannot be chosen: the format fixes the columns", kind="format", field=name)
    columns = ", ".join(rule.column for rule in raw.rules)
    note = f"the format fixes the columns: {columns}"
    return _panel(raw, list(raw.rules), None, (note,), (), Wanted.parse(options.unit).source)


def _panel(
    raw: Raw,
    rules: list[Rule],
    clock: TimeRule | None,
    notes: Sequence[str],
    guesses: Sequence[Guess],
    unit: str | None,
) -> Panel:
    expressions = {rule.role: rule.sql for rule in rules if rule.role in ("user", "time", "value")}
    watch = guard(raw, rules, clock)
    user = next(rule.column for rule in rules if rule.role == "user")
    with watch():
        frame, ordered = (raw.select(expressions, ordered=ordered) for ordered in (False, True))
        raw.engine.collect(frame.head(100))
    quick = _quick(raw, [rule for rule in rules if rule.role in expressions])
    said = (*raw.notes, *notes)
    guessed = (*raw.guesses, *guesses)
    return Panel(
        frame,
        ordered,
        raw.engine,
        raw.source,
        watch,
        said,
        guessed,
        unit,
        quick=quick,
        queries=Queries(raw.origin, user, files=bool(raw.files)),
    )


def _quick(raw: Raw, rules: Sequence[Rule]) -> Quick | None:
    """The columns by Arrow's reader, or by their quick expressions, where there are such."""
    cells = [rule.cells for rule in rules if rule.cells]
    by_blocks = raw.by_blocks and len(cells) == len(rules) and raw.by_blocks([rule.column for rule in rules], cells)
    if by_blocks:
        return by_blocks
    if not any(rule.quick for rule in rules):
        return None
    frame = raw.select({rule.role: rule.quick or rule.sql for rule in rules}, ordered=False)
    return partial(raw.engine.batches, frame)


_FRACTIONS = (Kind.FLOAT, Kind.DECIMAL, Kind.TEXT_NUMBER)
NOTHING = "no cell"
_WHOLE = (Kind.INTEGER, Kind.TEXT_INTEGER)


@dataclass(frozen=True)
class _Parts:
    """What a number counts: parts of a day, of which a usual day has ``per_day``; ``running``: through a longer one."""

    first: int
    per_day: int
    running: bool


class _Reader:
    """A table with the kinds of its columns and the caller's options, from which rules are made."""

    def __init__(self, raw: Raw, found: Mapping[str, Kind], options: ReadOptions) -> None:
        self.raw, self.found, self.options = raw, found, options
        self.notes: list[str] = []
        self.guesses: list[Guess] = []

    def long(self, shape: shapes.Long) -> Panel:
        """A reading a row."""
        columns = shape.columns
        unit_column = self._unit_column()
        roles = (columns.user, columns.date, columns.time, columns.value, unit_column)
        named = [name for name in roles if name is not None and name in self.found]
        user = self._user(columns.user)
        if columns.user.startswith("@"):
            self.notes += [
                f"user = {guess.choice}: {guess.evidence}" for guess in shape.guesses if guess.what == "user"
            ]
        if not next(guess.sure for guess in shape.guesses if guess.what == "user"):
            bystanders.check_user(self.raw, columns.user)
        if self.options.value is None:
            bystanders.check_sorts(self.raw, self.found, user.sql, columns.value, frozenset(named))
        self.raw.keep(list(dict.fromkeys(named)))
        clock, time = self._time(columns.date or columns.time, columns.time if columns.date else None)
        form = self._numbers([columns.value])
        by, unit = self._unit(columns.value, unit_column, [user, *time], form)
        value = value_rule(columns.value, self.found[columns.value], self.raw.sample.column(columns.value), form, by)
        numbers = [c for c, kind in self.found.items() if kind in NUMBERS and c not in named]
        others = [c for c in numbers if self.found[c] in _FRACTIONS or role_of(c, self.found[c]) == "value"]
        self.notes += [f"columns of numbers left out: {', '.join(others)}"] if others else []
        self.notes += bystanders.flagged(self.raw.sample, self.found, frozenset(named))
        notes = (columns.note(), *self.notes)
        return _panel(self.raw, [user, *time, value], clock, notes, (*shape.guesses, *self.guesses), unit)

    def sensors(self, shape: shapes.Sensors) -> Panel:
        """A column a sensor."""
        self.raw.keep([shape.time, *shape.sensors])
        clock, (moment, *_) = self._time(shape.time, None)
        values, unit = self._values(shape.sensors)
        left_out = [c for c in self.found if c != shape.time and c not in shape.sensors]
        self.notes.insert(0, f"time = {shape.time}, {len(shape.sensors)} columns as users")
        self.notes += [f"columns left out: {', '.join(left_out)}"] if left_out else []
        users = [literal(name) for name in shape.sensors]
        return self._unpivoted(users, RowTimes(moment.sql), [moment], values, clock, shape.guesses, unit)

    def days(self, shape: shapes.Days) -> Panel:
        """A row a day, a column for each part of it."""
        names = tuple(shape.slots)
        user = self._user(shape.user)
        used = {shape.user, shape.date, *names}
        bystanders.check_sorts(self.raw, self.found, user.sql, None, frozenset(used))
        others = [c for c, kind in self.found.items() if kind in _FRACTIONS and c not in used]
        self.notes += [f"columns of numbers left out: {', '.join(others)}"] if others else []
        self.raw.keep([c for c in (shape.user, shape.date, *names) if c in self.found])
        tz = self.options.tz if shape.running else None
        clock, (moment, *_) = self._time(shape.date, None, running=shape.running)
        values, unit = self._values(names)
        shown = "the file's name" if shape.user.startswith("@") else shape.user
        evidence = next(guess.evidence for guess in shape.guesses if guess.what == "shape")
        self.notes.insert(0, f"user = {shown}, time = {shape.date} and the column's name; {evidence}")
        midnight = to_instant(moment.sql, tz) if tz else moment.sql
        times = RowTimes(midnight, tuple(shape.slots.values()), tz)
        return self._unpivoted([user.sql], times, [user, moment], values, clock, shape.guesses, unit)

    def moments(self, shape: shapes.Moments) -> Panel:
        """A row a user, a column for each time."""
        names, column = tuple(shape.times), self._unit_column()
        self.raw.keep([c for c in (shape.user, column or "", *names) if c in self.found])
        user = self._user(shape.user)
        values, unit = self._values(names)
        if column is not None and unit is None:
            quoted = f"CAST({quote(column)} AS VARCHAR)"
            by, unit = self._unit_of_rows(names[0], column, quoted, Wanted.parse(self.options.unit), [user])
            values = [replace(rule, sql=f"({rule.sql}) * {by}") for rule in values] if by else values
        evidence = next(guess.evidence for guess in shape.guesses if guess.what == "shape")
        self.notes.insert(0, f"user = {shape.user}; {evidence}")
        times = RowTimes("CAST(0 AS BIGINT)", tuple(shape.times.values()))
        return self._unpivoted([user.sql], times, [user], values, None, shape.guesses, unit)

    def _unpivoted(
        self,
        users: Sequence[str],
        times: RowTimes,
        keys: list[Rule],
        values: list[Rule],
        clock: TimeRule | None,
        guesses: Sequence[Guess],
        unit: str | None,
    ) -> Panel:
        watch = guard(self.raw, [*keys, *values], clock)
        with watch():
            read = [rule.sql for rule in values]
            frame, ordered = (self.raw.unpivot(users, times, read, ordered=ordered) for ordered in (False, True))
            self.raw.engine.collect(frame.head(100))
        notes, said = (*self.raw.notes, *self.notes), (*self.raw.guesses, *guesses, *self.guesses)
        user = next((rule.column for rule in keys if rule.role == "user"), "")
        queries = Queries(self.raw.origin, user, [rule.column for rule in keys], bool(self.raw.files))
        return Panel(frame, ordered, self.raw.engine, self.raw.source, watch, notes, said, unit, queries=queries)

    def _user(self, name: str) -> Rule:
        if name.startswith("@"):
            return Rule("user", name, file_part(name.removeprefix("@")))
        column = self.raw.sample.column(name)
        return user_rule(name, self.found[name], column, lambda: self._integral(name))

    def _integral(self, column: str) -> bool:
        quoted = quote(column)
        (fractions,) = self.raw.count([f"NOT isnan({quoted}) AND {quoted} <> floor({quoted})"])
        return fractions == 0

    def _time(self, name: str, clock: str | None, *, running: bool = False) -> tuple[TimeRule, list[Rule]]:
        """The rule of the time's column, with that of the clock where it has a column of its own.

        ``running``: parts of the day are counted on through the hour that comes twice, in the zone of `tz`.
        """
        column, kind = self.raw.sample.column(name), self.found[name]
        spans = kind in TEXTS and any(start_of(text) != text for text in texts(column))
        if spans:
            column = pa.chunked_array([[start_of(text) for text in texts(column)]])
        written = self._written(name, kind, column)
        part = self._parts(clock) if clock is not None and self.found[clock] in _WHOLE else None
        running = running or (part is not None and part.running)
        rule, notes = time_rule(name, kind, column, None if running else self.options.tz, written)
        rule = replace(rule, spans=spans)
        if rule.has_offsets and self.options.tz is None:
            rule = self._own_clock(name, replace(rule, name=name), texts(column))
        notes += [f"{name} holds both ends of an interval: its start is the time"] if spans else []
        self.notes += notes
        evidence = written.evidence if written else _iso_evidence(kind)
        shown = written.formats[0] if written else rule.unit or "ISO"
        self.guesses.append(Guess("times", shown, evidence, "`date_format`"))
        if rule.zoned:
            zone = f"wall clock of {rule.tz}"
            evidence = "times name an instant" if rule.tz in ("UTC", self.options.tz) else "the offsets of all times"
            self.guesses.append(Guess("zone", zone, evidence, "`tz`"))
        moment = time_column(name, rule, column)
        stamped = clock or name
        length = (
            0 if spans or self.found[stamped] not in (Kind.TEXT_TIME, Kind.TEXT_CLOCK) else self._ends(name, stamped)
        )
        if clock is None and length:
            return rule, [replace(moment, sql=f"(({moment.sql}) - {length})", quick="", cells=None)]
        if clock is None:
            return rule, [moment]
        sql, bad = self._clock(clock, part)
        wanted = "a time of day, such as 23:30"
        both = f"(({moment.sql}) + ({sql}) - {length})"
        if part is not None and part.running and self.options.tz:
            both = running_on(moment.sql, sql, self.options.tz)
        return rule, [replace(moment, sql=both, quick="", cells=None), Rule("clock", clock, sql, bad, wanted)]

    def _own_clock(self, name: str, rule: TimeRule, sample: Sequence[str]) -> TimeRule:
        """The rule with the clock that the offsets of all times show, and a note of it."""
        column = self.raw.sample.column(name)
        with guard(self.raw, [], None)():
            text = rule.text(operand(name, column))
            rule = replace(rule, tz=own_clock(self.raw, name, text, sample))
        if rule.tz == "UTC":
            self.notes.append(f"{name} is of a known zone: read as UTC wall-clock time; `tz` names another zone")
        elif rule.tz[0] in "+-":
            self.notes.append(f"{name} has the offset {rule.tz}: days are cut by that clock; `tz` names a zone")
        else:
            self.notes.append(
                f"{name} has several offsets, those of {rule.tz}: days are cut by that clock; `tz` names another zone"
            )
        return rule

    def _ends(self, day: str, clock: str) -> int:
        """The microseconds of the intervals whose ends a column of clocks has, with a note; 0 where it has none."""
        days, clocks = ([str(cell or "") for cell in self.raw.sample.column(name).to_pylist()] for name in (day, clock))
        length = ends.ends(self.raw, clock, days, clocks)
        if length:
            self.notes.append(
                f"{clock} runs to 24:00 and never has 00:00: the ends of intervals of {length // ends.MINUTE} min, "
                "each of which is taken by its start"
            )
        return length

    def _parts(self, name: str) -> "_Parts":
        """What a column of numbers counts in a day: hours, half-hours or quarters, from 0 or from 1."""
        quoted = operand(name, self.raw.sample.column(name))
        number = f"TRY_CAST({quoted} AS BIGINT)"
        limits = (24, 25, 48, 50, 96, 100)
        none, below, *above = self.raw.count(
            [f"{number} = 0", f"{number} < 0", *(f"{number} > {limit}" for limit in limits)]
        )
        more = dict(zip(limits, above, strict=True))
        if below or more[100]:
            raise OptionError(f"column {name!r} is no number of a part of a day; name another with `time`")
        per_day = 96 if more[50] else 48 if more[25] else 24
        first = 0 if none else 1
        running = bool(more[per_day])
        if running and self.options.tz is None:
            raise OptionError(
                f"column {name!r} counts beyond {per_day}, as on the day when clocks go back: name the zone whose "
                "clock it is with `tz`, such as Europe/Dublin"
            )
        what = {24: "hours", 48: "half-hours", 96: "quarters of an hour"}[per_day]
        self.notes.append(f"{name} numbers {what} from {first}, which begins at midnight")
        return _Parts(first, per_day, running)

    def _clock(self, name: str, part: "_Parts | None") -> tuple[str, str]:
        """SQL of the microseconds from midnight in a column, and of where it cannot be read."""
        kind = self.found[name]
        quoted = operand(name, self.raw.sample.column(name))
        first, per_day = (part.first, part.per_day) if part else (0, 24)
        spans = kind is Kind.TEXT_CLOCK and any(
            re.fullmatch(CLOCK_SPAN, text) for text in texts(self.raw.sample.column(name))
        )
        sql = clock_sql(kind, quoted, first, per_day, spans=spans)
        tried = clock_sql(kind, quoted, first, per_day, "TRY_CAST", spans=spans)
        present = f"{quoted} IS NOT NULL" if kind is Kind.CLOCK else f"trim(CAST({quoted} AS VARCHAR)) <> ''"
        return sql, f"{present} AND ({tried}) IS NULL"

    def _written(self, name: str, kind: Kind, column: pa.ChunkedArray) -> DateFormat | None:
        """How the times of a column are written, where they are neither ISO nor counts from 1970."""
        asked = self.options.date_format
        if kind in (Kind.INTEGER, Kind.FLOAT):
            found = [f"{number:.0f}" for number in column.drop_null().to_pylist() if number == number]
        elif kind in TEXTS:
            found = texts(column)
        else:
            return None
        if asked is None and 2 * sum(map(is_iso, found)) >= len(found):
            return None
        quoted = f"trim(CAST({quote(name)} AS VARCHAR))"
        parts = [f"TRY_CAST({extract(quoted, ORDER, i)} AS BIGINT) > 12" for i in (1, 2)]

        def whole() -> tuple[int, int]:
            first, second = self.raw.count(parts)
            return first, second

        return date_format(name, found, asked, whole) if found or asked else None

    def _numbers(self, names: Sequence[str]) -> NumberFormat | None:
        """How numbers are written in columns of text, all of them alike; None where numbers are numbers."""
        written = [name for name in names if self.found[name] in TEXTS]
        if not written:
            return None
        found = [text for name in written for text in texts(self.raw.sample.column(name))]

        def whole(patterns: Sequence[str]) -> list[int]:
            tests = [matches(f"trim({quote(name)})", pattern) for name in written for pattern in patterns]
            counts = self.raw.count(tests)
            return [sum(counts[i :: len(patterns)]) for i in range(len(patterns))]

        form = number_format(written[0], found, self.options.decimal, whole)
        if not form.plain:
            self.notes.append(f"{written[0]} has decimal {form.decimal!r}: {form.evidence}")
        evidence = form.evidence or "every number has a point or none"
        self.guesses.append(Guess("numbers", f"decimal {form.decimal!r}", evidence, "`decimal`"))
        return form

    def _values(self, names: Sequence[str]) -> tuple[list[Rule], str | None]:
        """The rules of many columns of values, and their unit; those in several are brought to that of the first."""
        form = self._numbers(names)
        wanted = Wanted.parse(self.options.unit)
        units = {name: wanted.source or self._unit_of(name, form) for name in names}
        known = {unit: name for name, unit in reversed(units.items()) if unit}
        kept = wanted.kept or next((unit for unit in units.values() if unit), None)
        odd = [f"{name} in {unit}" for unit, name in known.items() if kept and factor(unit, kept) is None]
        if odd:
            raise ColumnError(
                f"{self.raw.source}: {odd[0]} does not convert into {kept}, which the first is in; name one column "
                "with `value`, and its user with `user` (`user=@file` is the file's name)"
            )
        bare = [name for name, unit in units.items() if unit is None]
        if kept and bare:
            raise ColumnError(
                f"{self.raw.source}: {', '.join(bare)} say no unit, and {known[kept]} is in {kept}; say `unit={kept}` "
                "where all are, or leave those out"
            )
        if kept:
            evidence = "`unit`" if wanted.source else "names, cells or a row under the header"
            self.guesses.append(Guess("unit", kept, evidence, "`unit`"))
        sample, rules = self.raw.sample, []
        for name in names:
            by = (factor(units[name] or "", kept) if kept and units[name] else 1.0) or 1.0
            by_text = repr(by) if by != 1.0 else ""
            rules.append(value_rule(name, self.found[name], sample.column(name), form, by_text))
        return rules, kept

    def _unit_of(self, name: str, form: NumberFormat | None) -> str | None:
        """The unit of a column: of a row under the header, of its name, or of its cells, which must agree."""
        if found := self.raw.units.get(name) or unit_in_name(name):
            return found
        if form is None or not form.dressed:
            return None
        behind = {unit for text in texts(self.raw.sample.column(name)) if (unit := unit_behind(text))}
        if len(behind) > 1:
            listed = ", ".join(sorted(behind))
            raise ReadingError(
                f"{self.raw.source}, column {name!r}: its cells are in {listed}; give a table of a reading a row"
            )
        return canonical(behind.pop()) if behind else None

    def _unit_column(self) -> str | None:
        named = [
            name for name, kind in self.found.items() if kind in TEXTS and UNIT_NAMES & {*words(name), name.lower()}
        ]
        if len(named) > 1:  # a time's unit, or a sensor's, beside that of the values
            named = [name for name in named if all(map(is_unit, texts(self.raw.sample.column(name))))]
        return named[0] if len(named) == 1 else None

    def _unit(
        self, value: str, column: str | None, rules: list[Rule], form: NumberFormat | None
    ) -> tuple[str, str | None]:
        """What to multiply values with, and the unit they are then in."""
        wanted = Wanted.parse(self.options.unit)
        if column is not None:
            text = f"CAST({quote(column)} AS VARCHAR)"
            return self._unit_of_rows(value, column, text, wanted, rules)
        if form is not None and form.dressed and any(map(unit_behind, texts(self.raw.sample.column(value)))):
            nothing = ", ".join(map(literal, ABSENT))
            behind = form.unit(quote(value))
            text = f"CASE WHEN lower(trim({quote(value)})) NOT IN ({nothing}) THEN {behind} ELSE '{NOTHING}' END"
            return self._unit_of_rows(value, None, text, wanted, rules)
        in_name, in_row = unit_in_name(value), self.raw.units.get(value)
        source, evidence = wanted.source, "`unit`"
        if source is None:
            source, evidence = (in_row, "a row under the header") if in_row else (in_name, f"the name {value!r}")
        if source is None:
            return "", None
        kept = wanted.kept or source
        self.guesses.append(Guess("unit", kept, evidence, "`unit`"))
        by = factor(source, kept) or 1.0
        return (repr(by) if by != 1.0 else ""), kept

    def _unit_of_rows(
        self, value: str, column: str | None, text: str, wanted: Wanted, rules: list[Rule]
    ) -> tuple[str, str]:
        """A unit a row: all brought to one, power by the sampling step where energy is among them.

        ``text`` is an expression of the unit: that in a column, or behind each value.
        """
        place = f"column {column}" if column else f"the cells of {value}"
        found = self.raw.distinct(text)
        found.pop(NOTHING, None)
        if wanted.source is not None and not any(found):
            by = factor(wanted.source, wanted.kept or wanted.source) or 1.0
            return (repr(by) if by != 1.0 else ""), wanted.kept or wanted.source
        step = None
        if needs_step(found, wanted):
            plain = value_rule(value, Kind.EMPTY, pa.chunked_array([pa.nulls(0)]))
            zero = replace(plain, sql="CAST(0 AS DOUBLE)", bad=None)
            step = steps.step_of(steps.head(_panel(self.raw, [*rules, zero], None, (), (), None)))

        def apart(unit: str) -> str:
            cell, shown = text_of(column or value), literal(unit)
            return Queries(self.raw.origin).where(f"{cell} = {shown}" if column else f"ends_with({cell}, {shown})")

        kept = kept_unit(f"{self.raw.source}, {place}", found, wanted, step, apart)
        listed = ", ".join(f"{unit} {count:,}" for unit, count in sorted(found.items()))
        self.notes.append(f"unit = {kept}: by {place}, {listed} rows")
        self.guesses.append(Guess("unit", kept, f"{place}: {listed} rows", "`unit`"))
        if all(factor(unit, kept, step) == 1.0 for unit in found):
            return "", kept
        return conversion(text, found, kept, step), kept


def _iso_evidence(kind: Kind) -> str:
    return "its type" if kind not in TEXTS else "most texts are ISO times"
