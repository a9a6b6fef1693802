"""Any source of readings, opened as a panel."""

import os
from collections.abc import Mapping
from typing import Any, Literal

from halfmask.data import places
from halfmask.data.columns import Columns, choose_columns, listing, present
from halfmask.data.columns import candidates as column_candidates
from halfmask.data.diagnosis import guard
from halfmask.data.engines.duckdb import DuckDBRaw, connect
from halfmask.data.formats import cer, databases, frames, parquet, text
from halfmask.data.kinds import NUMBERS, TIMES, Kind, kinds
from halfmask.data.panel import Panel
from halfmask.data.raw import Raw
from halfmask.data.rules import Rule, time_column, user_rule, value_rule
from halfmask.data.times import TimeRule, time_rule
from halfmask.errors import ColumnError, OptionError, SourceError


def open_panel(
    source: Any,
    *,
    user: str | None = None,
    time: str | None = None,
    value: str | None = None,
    format: str = "auto",
    table: str | None = None,
    wide: bool = False,
    tz: str | None = None,
    engine: Literal["duckdb", "spark"] = "duckdb",
    master: str | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
) -> Panel:
    """Readings from a path, glob, folder, database or frame as a panel; only a few rows are looked at for now.

    ``user``, ``time``, ``value`` name the columns; those not named are guessed, and the notes say how.
    ``wide`` takes a table with one column a sensor. ``tz`` is the zone whose wall clock counts for times that
    have a zone. ``table`` names a table of a database. The other options go to the engine.
    """
    raw = _open(source, format, table, engine, master, threads, memory_limit)
    if raw.sample.num_rows == 0:
        raise SourceError(f"{raw.source}: there are no readings in it")
    if raw_format(source, format) == "cer":
        return _cer_panel(raw, (user, time, value), wide)
    if wide:
        return _wide_panel(raw, user, time, value, tz)
    found = kinds(raw.sample)
    columns = choose_columns(found, user, time, value)
    return _long_panel(raw, found, columns, tz)


def raw_format(source: Any, format: str) -> str:
    """The format asked for; a frame has none."""
    return format if isinstance(source, str | os.PathLike) else "frame"


def _open(
    source: Any,
    format: str,
    table: str | None,
    engine: str,
    master: str | None,
    threads: int | None,
    memory: str | None,
) -> Raw:
    if engine not in ("duckdb", "spark"):
        raise OptionError(f"`engine` {engine!r} is neither duckdb nor spark")
    if not isinstance(source, str | os.PathLike):
        frame = frames.as_frame(source)
        if engine == "duckdb" and frame.implementation not in frames.SPARK:
            return frames.open_frame(connect(threads, memory), frame)
        from halfmask.data.engines.spark import open_spark_frame

        return open_spark_frame(frame, master, threads, memory)
    place = places.find(os.fspath(source), format)
    if table is not None and place.format in places.FILE_FORMATS:
        raise OptionError(f"`table` {table!r} is for databases; {place.source} is {place.format}")
    if engine == "duckdb":
        return _open_duckdb(place, table, threads, memory)
    from halfmask.data.engines.spark import open_spark_files

    return open_spark_files(place, master, threads, memory)


def _open_duckdb(place: places.Place, table: str | None, threads: int | None, memory: str | None) -> Raw:
    connection = connect(threads, memory)
    if place.format == "postgres":
        return databases.open_postgres(connection, place.source, table)
    if place.format == "duckdb":
        return databases.open_duckdb(connection, place.files[0], table)
    if place.format == "sqlite":
        return databases.open_sqlite(connection, place.files[0], table)
    if place.format == "parquet":
        differ = parquet.check(place)
        raw = DuckDBRaw(connection, place.source, lambda f: parquet.table(place, differ, f), place.files, parquet.ORDER)
    else:
        layout = text.cer_layout(place) if place.format == "cer" else text.layout(place)
        raw = DuckDBRaw(connection, place.source, lambda f: text.table(layout, place, f), place.files)
    raw.partitions = place.partitions
    return raw


def _long_panel(raw: Raw, found: Mapping[str, Kind], columns: Columns, tz: str | None) -> Panel:
    raw.keep([columns.user, columns.time, columns.value])
    dialect = raw.dialect
    user = user_rule(
        dialect,
        columns.user,
        found[columns.user],
        raw.sample.column(columns.user),
        lambda: _integral(raw, columns.user),
    )
    sampled = raw.sample.column(columns.time)
    clock, notes = time_rule(columns.time, found[columns.time], sampled, tz)
    time = time_column(dialect, columns.time, clock, sampled)
    value = value_rule(dialect, columns.value, found[columns.value], raw.sample.column(columns.value))
    return _panel(raw, [user, time, value], clock, (columns.note(), *notes))


def _integral(raw: Raw, column: str) -> bool:
    quoted = raw.dialect.quote(column)
    (fractions,) = raw.count([f"NOT isnan({quoted}) AND {quoted} <> floor({quoted})"])
    return fractions == 0


def _panel(raw: Raw, rules: list[Rule], clock: TimeRule | None, notes: tuple[str, ...]) -> Panel:
    expressions = {rule.role: rule.sql for rule in rules}
    watch = guard(raw, rules, clock)
    with watch():
        frame, ordered = (raw.select(expressions, ordered=ordered) for ordered in (False, True))
        raw.engine.collect(frame.head(100))
    return Panel(frame, ordered, raw.engine, raw.source, watch, (*raw.notes, *notes))


def _cer_panel(raw: Raw, named: tuple[str | None, ...], wide: bool) -> Panel:
    if wide or any(named):
        raise OptionError("`format=cer` fixes the columns; leave `user`, `time`, `value` and `wide` out")
    return _panel(raw, cer.rules(raw.dialect, raw.sample), None, ("meter, code and value as in the trial's files",))


def _wide_panel(raw: Raw, user: str | None, time: str | None, value: str | None, tz: str | None) -> Panel:
    """One column a sensor: every numeric column but the time becomes a user of that name."""
    if user is not None or value is not None:
        raise OptionError("`wide` takes every numeric column as a user; leave `user` and `value` out")
    found = kinds(raw.sample)
    name = _wide_time(found, time)
    sensors = [c for c in found if c != name and c not in raw.partitions and found[c] in NUMBERS | {Kind.EMPTY}]
    if not sensors:
        raise ColumnError(f"`wide` found no numeric column beside {name!r} ({listing(found)})")
    raw.keep([name, *sensors])
    sampled = raw.sample.column(name)
    clock, notes = time_rule(name, found[name], sampled, tz)
    moment = time_column(raw.dialect, name, clock, sampled)
    values = [value_rule(raw.dialect, c, found[c], raw.sample.column(c)) for c in sensors]
    left_out = [c for c in found if c != name and c not in sensors]
    notes.insert(0, f"time = {name}, {len(sensors)} columns as users")
    notes += [f"columns left out: {', '.join(left_out)}"] if left_out else []
    watch = guard(raw, [moment, *values], clock)
    with watch():
        expressions = {rule.column: rule.sql for rule in values}
        frame, ordered = (raw.unpivot(moment.sql, expressions, ordered=ordered) for ordered in (False, True))
        raw.engine.collect(frame.head(100))
    return Panel(frame, ordered, raw.engine, raw.source, watch, (*raw.notes, *notes))


def _wide_time(found: Mapping[str, Kind], time: str | None) -> str:
    if time is not None:
        return present(found, time, "time")
    likely = column_candidates("time", found, {}) or [name for name, kind in found.items() if kind in TIMES]
    if len(likely) != 1:
        what = (
            f"{len(likely)} columns could be the time: {', '.join(map(repr, likely))}"
            if likely
            else "no column looks like the time"
        )
        raise ColumnError(f"{what}; name one with `time` ({listing(found)})")
    return likely[0]
