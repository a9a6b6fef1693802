"""A first look at a source: how it was read, why, and which rows would be dropped."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from halfmask.data.open_panel import open_panel, open_table
from halfmask.data.options import ReadOptions
from halfmask.data.panel import Guess
from halfmask.data.sql import typed_query
from halfmask.errors import InputError
from halfmask.profiles.build import Policies, build_profile
from halfmask.profiles.quality import accounts, quality
from halfmask.profiles.show import table_rows
from halfmask_device.errors import OPTION

_FLAGS = ("register", "wide")
_SETTLING = (
    "decimal",
    "date_format",
    "encoding",
    "sheet",
    "duplicates",
    "register",
    "high",
    "low",
    "user",
    "time",
    "value",
    "format",
    "wide",
    "unit",
    "tz",
    "sql",
)
WIDEST = 12


@dataclass(frozen=True)
class FirstLook:
    """What a source contains, as far as it could be read.

    ``problem``   why it cannot be read without further options; ``ways_out`` are such options
    ``accounts``  the numbers of rows used and not used, by reason; they add up to ``total``
    """

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    guesses: tuple[Guess, ...] = ()
    notes: tuple[str, ...] = ()
    accounts: tuple[tuple[str, int], ...] = ()
    total: int = 0
    quality: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    ways_out: tuple[Mapping[str, Any], ...] = ()


def first_look(
    source: Any, options: ReadOptions, policies: Policies, *, period: str = "day", rows: int = 5
) -> FirstLook:
    """Open a source, read all of it once, and report the result.

    A source that is in doubt does not raise an error here.
    """
    raw = open_table(source, options)
    shown = raw.sample.slice(0, rows)
    more = shown.num_columns > WIDEST
    names = (*shown.column_names[:WIDEST], *(["..."] if more else []))
    cells = tuple(
        (*(_cell(row[name]) for name in shown.column_names[:WIDEST]), *(["..."] if more else []))
        for row in shown.to_pylist()
    )
    del raw
    try:
        panel = open_panel(source, options)
    except InputError as problem:
        return FirstLook(names, cells, problem=str(problem), ways_out=ways_out(str(problem), options))
    try:
        profile = build_profile(panel, period=period, policies=policies)
    except InputError as problem:
        text = str(problem)
        return FirstLook(names, cells, panel.guesses, panel.notes, problem=text, ways_out=ways_out(text, options))
    found = quality(profile)
    told = tuple(row for row in table_rows(profile) if row[0] in _TOLD)
    notes = tuple(profile.about["notes"])
    return FirstLook(names, cells, panel.guesses, notes, tuple(accounts(profile)), found["rows"], told)


_TOLD = (
    "unit",
    "users",
    "periods",
    "span",
    "sampling step",
    "missing",
    "zeros",
    "negatives",
    "smallest and largest",
    "mean",
)


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def ways_out(message: str, options: ReadOptions) -> tuple[Mapping[str, Any], ...]:
    """Return the options that a message offers, with their values, without those that are already set.

    Two options that are joined by "with" are one way.
    """
    offered: list[dict[str, Any]] = []
    end = 0
    for found in OPTION.finditer(message):
        name, value = found.groups()
        joined = bool(offered) and message[end : found.start()] == " with "
        end = found.end()
        if name not in _SETTLING or not (value or name in _FLAGS):
            continue
        way = {name: _value(name, value)}
        if joined:
            offered[-1] |= way
        elif way not in offered and getattr(options, name, None) != way[name]:
            offered.append(way)
    return tuple(offered)


def _value(name: str, text: str | None) -> Any:
    if name in _FLAGS:
        return text != "False"
    if name == "sql":
        return typed_query(text or "")
    return float(text or "") if name in ("high", "low") else (text or "").strip("'")
