"""Open any source of readings as a panel.

Each stage is a module of this folder:
1. `locate` finds the files.
2. `formats` recognises their format and opens them as a table.
3. `column_types` finds the types of the columns.
4. `columns` and `long_or_wide` choose the columns of user, time and value.
5. `user_column`, `time_columns` and `value_columns` make the SQL expressions that parse these columns.
6. `registers` converts counter states to readings.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Self

from halfmask.data import frames, other_columns
from halfmask.data.averaged_quantities import state_of
from halfmask.data.column_types import FRACTIONS, NUMBERS, column_types
from halfmask.data.columns import role_of
from halfmask.data.engines.duckdb import connect
from halfmask.data.formats import OpenRequest, by_address, sniff
from halfmask.data.interpretation import Interpretation
from halfmask.data.locate import SourceFiles, locate
from halfmask.data.long_or_wide import Long, Wide, recognise
from halfmask.data.options import ReadOptions
from halfmask.data.panel import Panel
from halfmask.data.reading_interval import head, step_of
from halfmask.data.registers import differences
from halfmask.data.source_table import SourceTable
from halfmask.data.sql import literal, to_instant
from halfmask.data.time_columns import time_rules
from halfmask.data.units import Wanted
from halfmask.data.user_column import user_rule
from halfmask.data.value_columns import unit_column, value_rules
from halfmask.data.zones import wall_clock
from halfmask.errors import OptionError, SourceError


def open_panel(source: Any, options: ReadOptions | None = None, **said: Any) -> Panel:
    """Open a path, glob, folder, address, database or data frame as a panel.

    Only a few rows are read. What the options leave open is guessed from the first rows, or from the whole column if
    these are ambiguous. The panel's ``guesses`` state the evidence.
    ``options``  a `ReadOptions`
    ``said``     its fields as keyword arguments, instead of ``options``
    """
    chosen = options or ReadOptions(**said)
    raw = open_table(source, chosen)
    if raw.sample.num_rows == 0:
        raise SourceError(f"{raw.source}: there are no readings in it", kind="empty", place=raw.source)
    if raw.rules:
        return _fixed(raw, chosen)
    found = column_types(raw.sample)
    named = (chosen.user, chosen.time, chosen.value, chosen.date)
    numbers = [name for name in other_columns.row_numbers(raw.sample, found) if name not in named]
    fixed = [name for name in other_columns.fixed_times(raw, found) if name not in named]
    kinds = {name: kind for name, kind in found.items() if name not in {*numbers, *fixed}}
    table = Interpretation(raw, kinds, chosen)
    raw.notes += tuple(f"{name} numbers the rows: left out, `user` takes it" for name in numbers)
    raw.notes += tuple(f"{name} is the same in every row: left out, `time` takes it" for name in fixed)
    shape = recognise(raw, table.kinds, chosen)
    table.guesses.extend(shape.guesses)
    panel = _long(table, shape) if isinstance(shape, Long) else _wide(table, shape)
    sensors = [] if isinstance(shape, Long) or shape.user else list(shape.offsets)
    measured = [shape.columns.value] if isinstance(shape, Long) else sensors
    panel = replace(panel, quantity=state_of(panel.unit, measured))
    return differences(panel, step_of(head(panel))) if chosen.register else replace(panel, register=chosen.register)


def open_table(source: Any, options: ReadOptions) -> SourceTable:
    """Open a path, glob, folder, address, database or data frame as a table."""
    frame = None if isinstance(source, str | os.PathLike) else frames.as_frame(source)
    on_spark = options.engine == "spark" or (frame is not None and frame.implementation in frames.SPARK)
    if options.sql is not None and on_spark:
        raise OptionError("`sql` over readings needs `engine=duckdb`", kind="engine", field="sql")
    if frame is not None:
        return _of_frame(frame, options, on_spark)
    written = os.fspath(source)
    form, found = by_address(written), SourceFiles(written)
    if form is None:
        form, found = sniff(locate(written), options.format)
    if on_spark:
        from halfmask.data.engines.spark import open_spark_files

        raw = open_spark_files(found, form, options)
    else:
        raw = form.table(OpenRequest(connect(options.threads, options.memory_limit), found, options))
    raw.rules = form.rules(raw.sample)
    return raw


def _of_frame(frame: frames.Frame, options: ReadOptions, on_spark: bool) -> SourceTable:
    if on_spark:
        from halfmask.data.engines.spark import open_spark_frame

        return open_spark_frame(frame, options.master, options.threads, options.memory_limit)
    raw = frames.open_frame(connect(options.threads, options.memory_limit), frame)
    if options.sql is not None:
        raw.ask(options.sql)
    return raw


def _fixed(raw: SourceTable, options: ReadOptions) -> Panel:
    """Return the panel of a table whose format fixes the columns."""
    for name in ("wide", "user", "time", "value", "date"):
        if getattr(options, name):
            raise OptionError(f"`{name}` cannot be chosen: the format fixes the columns", kind="format", field=name)
    columns = ", ".join(rule.column for rule in raw.rules)
    table = Interpretation(raw, {}, options, [f"the format fixes the columns: {columns}"])
    return table.panel(raw.rules, Wanted.parse(options.unit).source)


def _long(table: Interpretation, shape: Long) -> Panel:
    """Return the panel of a table that has one reading per row."""
    columns, kinds = shape.columns, table.kinds
    unit = unit_column(table)
    roles = (columns.user, columns.date, columns.time, columns.value, unit)
    named = [name for name in dict.fromkeys(roles) if name is not None and name in kinds]
    user = user_rule(table.raw, kinds, columns.user)
    (guess,) = (guess for guess in shape.guesses if guess.what == "user")
    table.notes.append(columns.note())
    if columns.user.startswith("@"):
        table.notes.append(f"user = {guess.choice}: {guess.evidence}")
    if not guess.sure:
        other_columns.check_user_column(table.raw, columns.user)
    if columns.user in kinds and table.options.user is None:
        other_columns.check_quantities(table.raw, columns.user)
    if table.options.value is None:
        other_columns.check_sorts(table.raw, kinds, user.sql, columns.value, frozenset(named))
    table.raw.keep(named)
    times = time_rules(table, columns.date or columns.time, columns.time if columns.date else None)
    values, kept = value_rules(table, [columns.value], unit, [user, *times])
    numbers = [name for name, kind in kinds.items() if kind in NUMBERS and name not in named]
    _note_left_out(table, [c for c in numbers if kinds[c] in FRACTIONS or role_of(c, kinds[c]) == "value"])
    table.notes.extend(other_columns.flagged(table.raw.sample, kinds, frozenset(named)))
    return table.panel([user, *times, *values], kept)


def _wide(table: Interpretation, shape: Wide) -> Panel:
    """Return the panel of a table that has several readings per row."""
    names, kinds, tz = list(shape.offsets), table.kinds, table.options.tz if shape.running else None
    keys = [user_rule(table.raw, kinds, shape.user)] if shape.user is not None else []
    users = [rule.sql for rule in keys] or list(map(literal, names))
    unit = unit_column(table) if shape.time is None else None
    used = frozenset(name for name in (shape.user, shape.time, unit, *names) if name is not None)
    if keys and shape.time is not None:
        other_columns.check_sorts(table.raw, kinds, users[0], None, used)
    elif keys and table.options.user is None:
        other_columns.check_directions(table.raw, [name for name in kinds if name not in used], None)
    table.notes.append(shape.note)
    left = [name for name in kinds if name not in used]
    if keys:
        _note_left_out(table, [name for name in left if kinds[name] in FRACTIONS])
    elif left:
        table.notes.append(f"columns left out: {', '.join(left)}")
    table.raw.keep([name for name in kinds if name in used])
    base, moment = "CAST(0 AS BIGINT)", "base + shift"
    if shape.time is not None:
        keys += time_rules(table, shape.time, None, running=shape.running)
        base = keys[-1].sql
    if tz:
        base, moment = to_instant(base, tz), wall_clock(f"({moment})", tz)
    values, kept = value_rules(table, names, unit, keys)
    unpivot = partial(table.raw.unpivot, users, base, [*shape.offsets.values()], moment, [rule.sql for rule in values])
    return table.panel([*keys, *values], kept, unpivot)


def _note_left_out(table: Interpretation, names: Sequence[str]) -> None:
    if names:
        table.notes.append(f"columns of numbers left out: {', '.join(names)}")


@dataclass(frozen=True)
class Opening(ReadOptions):
    """The options with which a profile's readings were opened, and the policies for unusable readings.

    ``source``  the name of the source without its folders, which are private
    """

    source: str | None = None
    duplicates: str = "auto"
    nonfinite: str = "drop"
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> Self:
        """Return the options that a profile's metadata contain. No option is set if the profile was merged from sources
        that were opened differently.
        """
        said = about.get("asked")
        known = {field.name for field in fields(cls)}
        sources = about.get("sources") or [None]
        name = None if sources[0] is None or "://" in sources[0] else sources[0].rstrip("/").rpartition("/")[2]
        plain = {key: value for key, value in said.items() if key in known} if isinstance(said, Mapping) else {}
        return cls(source=name, **plain)

    def panel(self, source: Any, **named: Any) -> Panel:
        """Open a source with these options, except for those in ``named``."""
        own = {each.name: getattr(self, each.name) for each in fields(ReadOptions)}
        return open_panel(source, **{**own, **named})
