"""A first look at a source: how it was interpreted, why, and which rows would be dropped."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import pyarrow as pa

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
_BOUNDS = ("duplicates", "low", "high")
"""Options that are policies for unusable readings."""
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
WIDTH, CELL = 80, 20
"""The largest number of characters in a line and in a cell of the table of first rows."""
NOTES, WAYS = 8, 6
"""The largest number of notes and of ways out that are shown."""


@dataclass(frozen=True)
class FirstLook:
    """What a source contains, as far as it can be read.

    ``problem``   the reason why it cannot be read without further options
    ``ways_out``  options with which it can be read; each set was tried
    ``accounts``  the numbers of rows used and not used, by reason; their sum is ``total``
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

    If its readings cannot be interpreted, the report names the problem; no error is raised.
    """
    raw = open_table(source, options)
    names, cells = _shown(raw.sample.slice(0, rows))
    del raw
    panel = None
    try:
        panel = open_panel(source, options)
        profile = build_profile(panel, period=period, policies=policies)
    except InputError as problem:
        ways = _working_ways(source, options, policies, period, str(problem))
        guesses, remarks = (panel.guesses, panel.notes) if panel else ((), ())
        return FirstLook(names, cells, guesses, remarks, problem=str(problem), ways_out=ways)
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


def _shown(sample: pa.Table) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the names and cells of the first columns that fit in a line, and the number of other columns."""
    columns = [[_cell(name), *map(_cell, sample.column(name).to_pylist())] for name in sample.column_names[:WIDTH]]
    widths = [max(map(len, column)) + 2 for column in columns]
    fits = sum(total <= WIDTH for total in accumulate(widths))
    if fits < sample.num_columns:
        fits = max(1, sum(total <= WIDTH - 12 for total in accumulate(widths)))
        columns = [*columns[:fits], [f"{sample.num_columns - fits:,} more", *["..."] * sample.num_rows]]
    names, *cells = zip(*columns, strict=True)
    return names, tuple(cells)


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= CELL else f"{text[: CELL - 3]}..."


def ways_out(message: str, options: ReadOptions) -> tuple[Mapping[str, Any], ...]:
    """Return the options that a message proposes, except those that are already set.

    Options joined by "with" belong together.
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


def _working_ways(
    source: Any, options: ReadOptions, policies: Policies, period: str, problem: str, depth: int = 3
) -> tuple[Mapping[str, Any], ...]:
    """Return sets of options with which the source can be read.

    Each option that the message ``problem`` proposes is tried. If it leads to another error, the options that the new
    message proposes are added, up to ``depth`` times.
    """
    found: list[Mapping[str, Any]] = []
    for way in ways_out(problem, options):
        said = replace(options, **{name: value for name, value in way.items() if name not in _BOUNDS})
        kept = replace(policies, **{name: value for name, value in way.items() if name in _BOUNDS})
        try:
            build_profile(open_panel(source, said), period=period, policies=kept)
        except InputError as error:
            more = _working_ways(source, said, kept, period, str(error), depth - 1) if depth else ()
            likely = [each for each in more if each.get("register") is not False]
            found += [{**each, **way} for each in likely if not each.keys() & way.keys()]
        else:
            found.append(way)
    return tuple(found)


def _value(name: str, text: str | None) -> Any:
    if name in _FLAGS:
        return text != "False"
    if name == "sql":
        return typed_query(text or "")
    return float(text or "") if name in ("high", "low") else (text or "").strip("'")
