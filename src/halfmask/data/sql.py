"""Build SQL text: expressions for parsing columns, and queries that error messages advise.

Expressions are in DuckDB's SQL. An advised query is quoted so that it can be pasted into a shell.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

KIND_OF_FILE = r"(\.[A-Za-z][A-Za-z0-9]{0,6}){1,2}$"
"""The end of a file's name: ``.csv``, ``.csv.gz``, ``.parquet``."""
READINGS = "readings"
"""The name of the source in a caller's query, unless the source is a database."""


def quote(name: str) -> str:
    """Quote a column's name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def matches(text: str, pattern: str) -> str:
    """Return an SQL expression that is true if the whole text matches a regular expression."""
    return f"regexp_full_match({text}, {literal(pattern)})"


def extract(text: str, pattern: str, group: int) -> str:
    """Return an SQL expression for a group of a regular expression; empty if the group does not match."""
    return f"regexp_extract({text}, {literal(pattern)}, {group})"


def parsed(text: str, formats: Sequence[str], cast: str) -> str:
    """Return an SQL expression that parses a text into microseconds since 1970, by the first strptime format that fits.

    If no format fits, the query fails (``cast`` is CAST) or the result is null (TRY_CAST).
    """
    name = "strptime" if cast == "CAST" else "try_strptime"
    return f"epoch_us({name}(nullif(trim({text}), ''), [{', '.join(map(literal, formats))}]))"


def file_part(part: str) -> str:
    """Return an SQL expression for the name of a row's file without its ending, or of its folder (``part`` is
    "folder").
    """
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
    """Return a list of files for DuckDB's readers, with wildcard characters in the names escaped."""
    escaped = ("".join(f"[{letter}]" if letter in "*?[" else letter for letter in file) for file in files)
    return f"[{', '.join(map(literal, escaped))}]"


def advised(sql: str) -> str:
    """Return a query as an option for a message, quoted for the shell."""
    if "`" in sql:  # it would end the option
        return f"a query, `sql`: {sql}"
    escaped = sql.replace("\\", "\\\\").replace('"', '\\"')
    return f"`sql={shlex.quote(sql)}`" if set("$!") & set(sql) else f'`sql="{escaped}"`'


def typed_query(typed: str) -> str:
    """Return the query from an option that `advised` has quoted."""
    return shlex.split(typed)[0]


def text_of(column: str) -> str:
    """Return an SQL expression for a column's cells as text without outer blanks."""
    return f"trim(cast({quote(column)} as varchar))"


def in_list(texts: Sequence[str]) -> str:
    """Return texts as a list for SQL's IN."""
    return f"({', '.join(map(literal, texts))})"


@dataclass(frozen=True)
class Queries:
    """Queries that messages advise for one source.

    ``origin``  the text after FROM
    ``user``    the column that identifies users; empty if each user has a column
    ``others``  if each user has a column: the other columns
    ``files``   whether the readings are in files
    """

    origin: str = READINGS
    user: str = ""
    others: Sequence[str] = field(default=())
    files: bool = False

    def one(self) -> str:
        """Return the option for readings that are all of one user."""
        return "`user=@file`" if self.files else advised(f"select 'one' as \"user\", * from {self.origin}")

    def where(self, condition: str) -> str:
        """Return a query for the rows that meet a condition."""
        return advised(f"select * from {self.origin} where {condition}")

    def exclude(self, columns: Sequence[str]) -> str:
        """Return a query for all columns except these."""
        return advised(f"select * exclude ({', '.join(map(quote, columns))}) from {self.origin}")

    def replace(self, expressions: Mapping[str, str]) -> str:
        """Return a query for all columns that replaces some by expressions."""
        cells = ", ".join(f"{expression} as {quote(column)}" for column, expression in expressions.items())
        return advised(f"select * replace ({cells}) from {self.origin}")

    def filled(self) -> str:
        """Return advice for tables that write each user's name once, above its rows; empty if no column has names."""
        if not self.user or self.user.startswith("@"):
            return ""
        last = f"last_value(nullif({self._named()}, '') ignore nulls) over (rows unbounded preceding)"
        return f", or, where a name stands for the rows below it, fill it down, {self.replace({self.user: last})}"

    def without(self, users: Sequence[str]) -> str:
        """Return a query for all users except these."""
        return self.where(f"{self._named()} not in {in_list(users)}") if self.user else self.exclude(users)

    def only(self, users: Sequence[str]) -> str:
        """Return a query for these users only."""
        if self.user:
            return self.where(f"{self._named()} in {in_list(users)}")
        return advised(f"select {', '.join(map(quote, [*self.others, *users]))} from {self.origin}") + " with `wide`"

    def _named(self) -> str:
        """Return an SQL expression for a user's name without outer blanks."""
        return file_part(self.user[1:]) if self.user.startswith("@") else text_of(self.user)
