"""Find and parse the ids of users: in a column (by its name, or the only one left), or in the names of files or
folders.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from halfmask.data.arrow_blocks import ArrowCells
from halfmask.data.column_types import CLOCKS, FRACTIONS, TEXTS, TIMES, ColumnType, is_time, texts
from halfmask.data.columns import candidates, listing, present, role_of, several, words
from halfmask.data.date_formats import is_compact
from halfmask.data.options import ReadOptions
from halfmask.data.other_columns import is_flag
from halfmask.data.panel import Guess
from halfmask.data.source_table import SAMPLE_ROWS, Rule, SourceTable, operand
from halfmask.data.sql import KIND_OF_FILE, advised, extract, file_part, literal, quote
from halfmask.data.units import NAMES as UNIT_NAMES
from halfmask.errors import ColumnError

FROM_FILE, FROM_FOLDER = "@file", "@folder"
_MONTH = r"[-_ .]*(?:19|20)[0-9]{2}[-_.]?(?:0[1-9]|1[0-2])(?:[-_.]?[0-3][0-9])?"
"""A month or a date in a file's name. The pattern works in DuckDB and in Python."""
_KEPT = '^="(.*)"$'
"""Matches ``="0123"``, which keeps a spreadsheet from reading an id as a number."""


def user_of(raw: SourceTable, found: Mapping[str, ColumnType], options: ReadOptions) -> tuple[str, Guess]:
    """Return the column of the user (or `FROM_FILE`, `FROM_FOLDER`), and the guess with its evidence."""
    if options.user in (FROM_FILE, FROM_FOLDER):
        return options.user, Guess("user", options.user, "`user`", "`user`")
    if options.user is not None:
        return present(found, options.user, "user"), Guess("user", options.user, "`user`", "`user`")
    named = candidates("user", found, {})
    if len(named) > 1:
        raise several("user", named)
    if named:
        return named[0], Guess("user", named[0], "its name says so", "`user`")
    left = [
        name
        for name, kind in found.items()
        if kind is ColumnType.TEXT and not UNIT_NAMES & set(words(name)) and not is_flag(name)
    ]
    if len(left) == 1:
        return left[0], Guess("user", left[0], "the only column of text", "`user`", sure=False)
    return of_files(raw, found)


def of_files(raw: SourceTable, found: Mapping[str, ColumnType]) -> tuple[str, Guess]:
    """Return `FROM_FILE` or `FROM_FOLDER`, for a source without a column of users; and the guess with its evidence.

    Raise a ColumnError if neither file names nor folder names can identify users.
    """
    if not raw.files:
        raise ColumnError(f"no column looks like the user; name one with `user` ({listing(found)})", kind="missing")
    stems = [re.sub(KIND_OF_FILE, "", Path(file).name) for file in raw.files]
    folders = {Path(file).absolute().parent.name for file in raw.files}
    times = all(is_time(_spread(stem)) or is_compact(stem) or (stem.isdigit() and len(stem) < 3) for stem in stems)
    if len(folders) > 1 and (len(set(stems)) < len(stems) or times):
        evidence = f"no column names users, and {len(folders)} folders hold files of the same names"
        return FROM_FOLDER, Guess("user", "the folder's name", evidence, "`user`")
    if times and len(stems) > 1:
        raise ColumnError(
            f"no column looks like the user, and the files' names are dates; name a column with `user`, or the files "
            f"with `user={FROM_FILE}` ({listing(found)})",
            kind="missing",
        )
    _check_months(raw, stems)
    shown = ", ".join(stems[:2]) + (", ..." if len(stems) > 2 else "")
    evidence = f"no column names users, and there are {len(stems)} files: {shown}"
    return FROM_FILE, Guess("user", "the file's name", evidence, "`user`")


def _check_months(raw: SourceTable, stems: list[str]) -> None:
    """Raise an error if file names differ only in the month, so that one meter would count as several users."""
    meters = {re.sub(_MONTH, "", stem) for stem in stems}
    if len(meters) == len(stems):
        return
    name = file_part("file")
    query = f"select regexp_replace({name}, '{_MONTH}', '') as meter, * from {raw.origin}"
    raise ColumnError(
        f"{raw.source}: no column looks like the user, and the names of {len(stems)} files differ in a month alone: "
        f"say `user={FROM_FILE}` where each is a user, or take the {len(meters)} names without it, {advised(query)}",
        kind="months",
    )


def _spread(stem: str) -> str:
    """Return ``2012-01`` or ``2012_01`` as the first day of that month. In any other text, replace underscores by
    hyphens.
    """
    plain = stem.replace("_", "-")
    return f"{plain}-01" if len(plain) == 7 and plain[4] == "-" else plain


def has_user(raw: SourceTable, kinds: Mapping[str, ColumnType], time: str | None, value: str | None) -> bool:
    """Return whether a column may identify users: by its name, or because it is left after time and value."""
    if candidates("user", kinds, {}):
        return True
    rest = [name for name in kinds if name not in (time, value)]
    if len(kinds) == 2:
        return False
    times = [name for name in rest if kinds[name] in TIMES | CLOCKS or role_of(name, kinds[name]) == "time"]
    values = candidates("value", {name: kinds[name] for name in rest}, {})
    left = [name for name in _telling(raw, kinds) if name in rest and name not in times and name not in values]
    return bool(left) or not values


def _telling(raw: SourceTable, kinds: Mapping[str, ColumnType]) -> dict[str, ColumnType]:
    """Leave out columns that cannot identify users: fractions, times of day, flags and constant texts.

    Columns named like a user, a time or a value are kept. If the source has no files, all columns are kept.
    """
    if not raw.files:
        return dict(kinds)
    dull = FRACTIONS | {ColumnType.EMPTY} | CLOCKS
    left = {
        name: kind
        for name, kind in kinds.items()
        if not (is_flag(name) and kind is ColumnType.TEXT) and (role_of(name, kind) or kind not in dull)
    }
    constant = [n for n, kind in left.items() if kind is ColumnType.TEXT and not role_of(n, kind) and _constant(raw, n)]
    return {name: kind for name, kind in left.items() if name not in constant}


def _constant(raw: SourceTable, name: str) -> bool:
    """Return whether a column has the same text in every row of the source."""
    if name not in raw.sample.column_names:
        return False
    first, *others = dict.fromkeys(raw.sample.column(name).to_pylist()) or [None]
    if others or raw.sample.num_rows < SAMPLE_ROWS or first is None:
        return not others
    return raw.count([f"{quote(name)} <> {literal(first)}"]) == [0]


def user_rule(raw: SourceTable, kinds: Mapping[str, ColumnType], name: str) -> Rule:
    """Return how to parse the user's id, from a column or from the names of files or folders.

    ``name``  the column, `FROM_FILE` or `FROM_FOLDER`

    Ids stored as floats (1392.0) become integers if no id in the column has a fraction.
    """
    if name.startswith("@"):
        return Rule("user", name, file_part(name.removeprefix("@")))
    kind, column = kinds[name], raw.sample.column(name)
    quoted = sql = operand(name, column)
    if kind is ColumnType.FLOAT:
        whole = raw.count([f"NOT isnan({quoted}) AND {quoted} <> floor({quoted})"]) == [0]
        target = "BIGINT" if whole else "VARCHAR"
        sql = f"CAST(CASE WHEN isnan({quoted}) THEN NULL ELSE {quoted} END AS {target})"
    elif kind in {ColumnType.DECIMAL, ColumnType.OTHER, ColumnType.BOOLEAN}:
        sql = f"CAST({quoted} AS VARCHAR)"
    elif kind is ColumnType.TEXT_NUMBER and all(re.fullmatch(r"\d+(\.0*)?", text) for text in texts(column)):
        zeros = literal(r"\.0+$")
        sql = f"nullif(regexp_replace(trim({quoted}), {zeros}, ''), '')"
    elif kind in TEXTS and any(re.fullmatch(_KEPT, text) for text in texts(column)):
        text = f"trim({quoted})"
        sql = f"nullif(coalesce(nullif({extract(text, _KEPT, 1)}, ''), {text}), '')"
    elif kind in TEXTS:
        # Exporters may pad names with blanks. The faster readers keep them; they are looked for later, among the users.
        return Rule("user", name, f"nullif(trim({quoted}), '')", quick=quoted, cells=ArrowCells(pa.string()))
    return Rule("user", name, sql, cells=ArrowCells(column.type) if kind is ColumnType.INTEGER else None)
