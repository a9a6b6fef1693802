"""Expressions in DuckDB's SQL that several rules of the readers need."""

from collections.abc import Sequence

KIND_OF_FILE = r"(\.[A-Za-z][A-Za-z0-9]{0,6}){1,2}$"
"""The end of a file's name: ``.csv``, ``.csv.gz``, ``.parquet``."""


def quote(name: str) -> str:
    """Return a column's name as an identifier, whatever characters it holds."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a string literal."""
    return "'" + text.replace("'", "''") + "'"


def matches(text: str, pattern: str) -> str:
    """True if the whole text matches the regular expression."""
    return f"regexp_full_match({text}, {literal(pattern)})"


def extract(text: str, pattern: str, group: int) -> str:
    """Return a group of a regular expression; an empty text if the group took no part in the match."""
    return f"regexp_extract({text}, {literal(pattern)}, {group})"


def parsed(text: str, formats: Sequence[str], cast: str) -> str:
    """Return microseconds since 1970 of a text in the first strptime format that fits.

    If no format fits, the query fails (``cast`` is CAST) or the result is null (TRY_CAST).
    """
    name = "strptime" if cast == "CAST" else "try_strptime"
    return f"epoch_us({name}(nullif(trim({text}), ''), [{', '.join(map(literal, formats))}]))"


def file_part(part: str) -> str:
    """The name of the file that a row comes from, without its ending; if ``part`` is "folder", its folder's name."""
    if part == "folder":
        return "parse_path(filename)[-2]"
    return f"regexp_replace(parse_filename(filename), {literal(KIND_OF_FILE)}, '')"


def to_local(instant: str, tz: str) -> str:
    """Return microseconds of the wall clock in ``tz``, from an instant in microseconds UTC."""
    return f"epoch_us(timezone({literal(tz)}, make_timestamptz({instant})))"


def to_instant(local: str, tz: str) -> str:
    """Return microseconds UTC, from microseconds of the wall clock in ``tz``."""
    return f"epoch_us(timezone({literal(tz)}, make_timestamp({local})))"


def file_list(files: Sequence[str]) -> str:
    """Return a list of files for DuckDB's readers, in which no character of a name is a pattern."""
    escaped = ("".join(f"[{letter}]" if letter in "*?[" else letter for letter in file) for file in files)
    return f"[{', '.join(map(literal, escaped))}]"
