"""The queries that messages advise for reading a part of a source, in a form that can be typed."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from halfmask.data.engines.sql import file_part, literal, quote

READINGS = "readings"
"""The name by which a query calls a source that is not a database; every cell of the table is text."""


def advised(sql: str) -> str:
    """Return a query as an option in a message, quoted for the shell."""
    if "`" in sql:  # it would end the option
        return f"a query, `sql`: {sql}"
    escaped = sql.replace("\\", "\\\\").replace('"', '\\"')
    return f"`sql={shlex.quote(sql)}`" if set("$!") & set(sql) else f'`sql="{escaped}"`'


def typed_query(typed: str) -> str:
    """Return the query in an option that `advised` has quoted."""
    return shlex.split(typed)[0]


def text_of(column: str) -> str:
    """Return an expression of a column's cells as text, without leading and trailing blanks."""
    return f"trim(cast({quote(column)} as varchar))"


def in_list(texts: Sequence[str]) -> str:
    """Return texts as a list for SQL's IN."""
    return f"({', '.join(map(literal, texts))})"


@dataclass(frozen=True)
class Queries:
    """The queries that messages advise for one source.

    ``origin``  what follows FROM
    ``user``    the column that identifies users; empty if each user has a column
    ``others``  if each user has a column, the other columns
    ``files``   whether the readings are in files
    """

    origin: str = READINGS
    user: str = ""
    others: Sequence[str] = field(default=())
    files: bool = False

    def one(self) -> str:
        """Return the option that says that all readings are of one user."""
        return "`user=@file`" if self.files else advised(f"select 'one' as \"user\", * from {self.origin}")

    def where(self, condition: str) -> str:
        """Return a query for the rows that meet a condition."""
        return advised(f"select * from {self.origin} where {condition}")

    def exclude(self, columns: Sequence[str]) -> str:
        """Return a query for all columns except some."""
        return advised(f"select * exclude ({', '.join(map(quote, columns))}) from {self.origin}")

    def replace(self, expressions: Mapping[str, str]) -> str:
        """Return a query for all columns, in which expressions take the place of some."""
        cells = ", ".join(f"{expression} as {quote(column)}" for column, expression in expressions.items())
        return advised(f"select * replace ({cells}) from {self.origin}")

    def filled(self) -> str:
        """Return advice for names of users that are written once for several rows; empty if no column has names."""
        if not self.user or self.user.startswith("@"):
            return ""
        last = f"last_value(nullif({self._named()}, '') ignore nulls) over (rows unbounded preceding)"
        return f", or, where a name stands for the rows below it, fill it down, {self.replace({self.user: last})}"

    def without(self, users: Sequence[str]) -> str:
        """Return a query for all users except some."""
        return self.where(f"{self._named()} not in {in_list(users)}") if self.user else self.exclude(users)

    def only(self, users: Sequence[str]) -> str:
        """Return a query for some users only."""
        if self.user:
            return self.where(f"{self._named()} in {in_list(users)}")
        return advised(f"select {', '.join(map(quote, [*self.others, *users]))} from {self.origin}") + " with `wide`"

    def _named(self) -> str:
        """Return an expression of a user's name, without leading and trailing blanks."""
        return file_part(self.user[1:]) if self.user.startswith("@") else text_of(self.user)
