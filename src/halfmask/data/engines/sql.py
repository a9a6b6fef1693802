"""Expressions in DuckDB's SQL that several rules of the readers need."""

from collections.abc import Sequence

KIND_OF_FILE = r"(\.[A-Za-z][A-Za-z0-9]{0,6}){1,2}$"
"""The end of a file's name: ``.csv``, ``.csv.gz``, ``.parquet``."""


def quote(name: str) -> str:
    """Return a column's name as an SQL identifier, whatever characters it contains."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def matches(text: str, pattern: str) -> str:
    """Return an expression that is true if the whole text matches a regular expression."""
    return f"regexp_full_match({text}, {literal(pattern)})"


def extract(text: str, pattern: str, group: int) -> str:
    """Return an expression of a group of a regular expression; it is an empty text if the group did not match."""
    return f"regexp_extract({text}, {literal(pattern)}, {group})"


def parsed(text: str, formats: Sequence[str], cast: str) -> str:
    """Return an expression of microseconds since 1970, read from a text by the first strptime format that fits.

    If no format fits, the query fails (``cast`` is CAST) or the result is null (TRY_CAST).
    """
    name = "strptime" if cast == "CAST" else "try_strptime"
    return f"epoch_us({name}(nullif(trim({text}), ''), [{', '.join(map(literal, formats))}]))"


def file_part(part: str) -> str:
    """Return an expression of the name of a row's file without its ending, or of its folder if ``part`` is "folder"."""
    if part == "folder":
        return "parse_path(filename)[-2]"
    return f"regexp_replace(parse_filename(filename), {literal(KIND_OF_FILE)}, '')"


def to_local(instant: str, tz: str) -> str:
    """Return an expression that converts microseconds in UTC to microseconds of the wall clock of ``tz``."""
    return f"epoch_us(timezone({literal(tz)}, make_timestamptz({instant})))"


def to_instant(local: str, tz: str) -> str:
    """Return an expression that converts microseconds of the wall clock of ``tz`` to microseconds in UTC."""
    return f"epoch_us(timezone({literal(tz)}, make_timestamp({local})))"


def file_list(files: Sequence[str]) -> str:
    """Return a list of files for DuckDB's readers, escaped so that no character of a name acts as a pattern."""
    escaped = ("".join(f"[{letter}]" if letter in "*?[" else letter for letter in file) for file in files)
    return f"[{', '.join(map(literal, escaped))}]"
