"""Find other columns that matter: row numbers, kinds of readings, and quality marks."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pyarrow as pa

from halfmask.data.averaged_quantities import quantity_named
from halfmask.data.column_types import CLOCKS, NUMBERS, TIMES, WHOLE, ColumnType, is_integer, texts
from halfmask.data.columns import HOURS, role_of, words
from halfmask.data.source_table import SourceTable
from halfmask.data.sql import Queries, in_list, literal, quote, text_of
from halfmask.data.times import counts_from_1970
from halfmask.errors import ColumnError

_ENOUGH = 24
"""The number of rows needed to tell row numbers from ids."""
_SORTS = (
    frozenset(("metric", "measurement", "measurand", "channel", "register", "direction", "category", "parameter"))
    | {"variable", "phenomenon", "obis", "field", "type", "kind", "flow", "attribute", "commodity", "medium"}
    | {"richtung", "sparte", "energieart", "magnitud", "grandeur", "grootheid"}
    | {"appliance", "circuit", "phase", "plug", "rodzaj", "tipo", "typ", "soort", "laji"}
)
"""Words for a column that names the kind of reading."""
_MADE = frozenset(("actual", "real", "measured", "read", "valid", "validated", "estimated", "estimate", "estimado")) | {
    "estimada",
    "calculated",
    "corrected",
    "substituted",
    "interpolated",
    "manual",
    "provisional",
    "final",
}
"""Words for how a reading was obtained. They do not make it another kind of reading."""
_BETWEEN = "\x1f"


def row_numbers(sample: pa.Table, found: Mapping[str, ColumnType]) -> list[str]:
    """Return the columns that number the rows. They grow by one with every row, although times change."""
    if list(found) == [str(i) for i in range(len(found))]:  # no header, so no names that could be those of values
        return []
    times = [name for name, kind in found.items() if kind in TIMES | CLOCKS or role_of(name, kind) == "time"]
    if not any(len(set(sample.column(name).to_pylist())) > 1 for name in times):
        return []
    return [name for name, kind in found.items() if kind in WHOLE and _counts_rows(name, kind, sample.column(name))]


def _counts_rows(name: str, kind: ColumnType, column: pa.ChunkedArray) -> bool:
    if role_of(name, kind) not in (None, "user") or HOURS & {*words(name), "".join(words(name))}:
        return False
    cells = texts(column) if kind is ColumnType.TEXT_INTEGER else [str(cell) for cell in column.to_pylist() if cell]
    if not all(map(is_integer, cells)):  # most of a column of whole numbers are such, and some may be 1 347
        return False
    numbers = list(map(int, cells))
    return len(numbers) >= _ENOUGH and all(b - a == 1 for a, b in pairwise(numbers)) and not counts_from_1970(column)


def fixed_times(raw: SourceTable, found: Mapping[str, ColumnType]) -> list[str]:
    """Return the columns of times that are the same in every row, such as the time of export. One time must vary."""
    times = [n for n, kind in found.items() if kind in TIMES or (role_of(n, kind) == "time" and kind not in CLOCKS)]
    same = [name for name in times if len(set(raw.sample.column(name).to_pylist())) == 1]
    return [] if len(same) == len(times) else [name for name in same if len(raw.distinct(quote(name))) == 1]


_CALENDAR = (
    frozenset(("year", "month", "week", "weekday", "weekend", "day", "dow", "doy", "dayofweek", "holiday"))
    | {"minute", "quarter", "season", "jahr", "monat", "woche", "wochentag", "tag", "stunde"}
    | HOURS
)
_LINKS = frozenset(("of", "is", "the", "number", "no"))


def beside_time(sample: pa.Table, found: Mapping[str, ColumnType]) -> list[str]:
    """Return the columns of numbers that describe the time, such as hours, weekdays and epoch numbers."""
    parts = [
        name
        for name, kind in found.items()
        if kind in WHOLE and words(name) and set(words(name)) <= _CALENDAR | _LINKS and not set(words(name)) <= _LINKS
    ]
    counts = [
        n for n, kind in found.items() if kind in NUMBERS and n not in parts and counts_from_1970(sample.column(n))
    ]
    return [*parts, *counts]


_FLAGS = frozenset(("quality", "status", "flag", "validity", "qualität", "qualitaet", "kvalitet", "estado", "qualité"))
_BAD = frozenset(("bad", "invalid", "error", "fault", "faulty", "questionable", "suspect", "ungültig", "fehler"))


def is_flag(name: str) -> bool:
    """Return whether a column's name shows that it marks the quality of readings."""
    return bool(_FLAGS & set(words(name)))


def flagged(sample: pa.Table, found: Mapping[str, ColumnType], used: frozenset[str]) -> list[str]:
    """Return notes on columns that mark readings as bad. Such readings are used, and the note says how to omit them."""
    flags = [n for n, kind in found.items() if n not in used and kind is ColumnType.TEXT and is_flag(n)]
    bad = {name: sum(bool(_BAD & set(words(text))) for text in texts(sample.column(name))) for name in flags}
    return [
        f"{name} calls {count:,} of the first {sample.num_rows:,} rows bad; they are used, `sql` could leave them out"
        for name, count in bad.items()
        if count
    ]


def check_sorts(
    raw: SourceTable, found: Mapping[str, ColumnType], user: str, value: str | None, used: frozenset[str]
) -> None:
    """Raise an error if an unused column shows that a user has several kinds of readings.

    ``user``  the SQL expression of the user

    A column that is constant for each user, such as a tariff, is not an error.
    """
    free = [name for name, kind in found.items() if name not in used and kind in WHOLE | {ColumnType.TEXT}]
    check_directions(raw, free, value)
    for name in filter(_is_sort, free):
        sort = f"CAST({quote(name)} AS VARCHAR)"
        pairs = raw.distinct(f"concat(CAST({user} AS VARCHAR), {literal(_BETWEEN)}, {sort})")
        kinds: dict[str, list[str]] = {}
        for pair in pairs:
            whose, _, what = pair.partition(_BETWEEN)
            if what.strip() and what.strip().lower() not in _MADE:
                kinds.setdefault(whose, []).append(what.strip())
        mixed = next((sorted(set(each)) for each in kinds.values() if len(set(each)) > 1), None)
        if mixed:
            ways = _each(raw, name, mixed)
            raise ColumnError(
                f"{raw.source}: a user has readings of several kinds, {', '.join(mixed[:4])}, by the column {name!r}; "
                f"read one of them, {ways}" + _together(value),
                kind="kinds",
            )


_TAKEN = frozenset(("consumption", "consumed", "import", "imported", "bezug", "afname", "consommation", "consumo"))
_GIVEN = frozenset(("generation", "production", "export", "exported", "return", "returned", "feed", "surplus")) | {
    "einspeisung",
    "erzeugung",
    "injectie",
    "injection",
    "teruglevering",
    "solar",
}
"""Words for energy that is taken from the grid or used, and for energy that is made or given to it."""


def check_directions(raw: SourceTable, names: Sequence[str], value: str | None) -> None:
    """Raise an error if a column distinguishes energy taken from energy given, be it of one user or of several."""
    for name in names:
        kinds = sorted(set(texts(raw.sample.column(name)))) if raw.sample.column(name).type == pa.string() else []
        if len(kinds) <= _ENOUGH and all(any(side & set(words(each)) for each in kinds) for side in (_TAKEN, _GIVEN)):
            raise ColumnError(
                f"{raw.source}: readings are of several directions, {', '.join(kinds[:4])}, by the column {name!r}; "
                f"read one of them, {_each(raw, name, kinds)}" + _together(value),
                kind="kinds",
            )


def _together(value: str | None) -> str:
    return f", or say `value={value!r}` where they belong together" if value else ""


_NAMES = frozenset(("entity", "statistic", "sensor", "topic", "channel"))
"""Words for a column whose names may say what a reading is of."""


def check_quantities(raw: SourceTable, name: str) -> None:
    """Raise an error if users are sensors whose names show different quantities, such as power and temperature."""
    if not _NAMES & set(words(name)):
        return
    users = [each for each in raw.distinct(quote(name)) if each]
    shown = {each: quantity_named(each) for each in users}
    if len(set(shown.values())) > 1 and any(shown.values()):
        some = ", ".join(f"{each} ({what})" if what else each for each, what in list(shown.items())[:4])
        raise ColumnError(
            f"{raw.source}: {name!r} names sensors of several quantities, {some}; read those of one quantity, "
            f"{_each(raw, name, users)}, or say `user={name!r}` where they belong together",
            kind="kinds",
        )


def check_user_column(raw: SourceTable, name: str) -> None:
    """Raise an error if the column chosen for the user is named like a kind of readings and has several values."""
    kinds = [kind for kind in raw.distinct(quote(name)) if kind] if _is_sort(name) else []
    if len(kinds) > 1:
        raise ColumnError(
            f"{raw.source}: no column looks like the user, and {name!r} tells kinds of readings apart by its name, "
            f"{', '.join(kinds[:4])}; read one of them, {_each(raw, name, kinds)}, or say `user={name!r}` where they "
            "are users",
            kind="kinds",
        )


def _is_sort(name: str) -> bool:
    return bool(words(name)) and words(name)[-1] in _SORTS


def _each(raw: SourceTable, name: str, kinds: Sequence[str]) -> str:
    """Return a query for each kind of readings, as advice in a message."""
    return " or ".join(Queries(raw.origin).where(f"{text_of(name)} in {in_list([kind])}") for kind in kinds[:4])
