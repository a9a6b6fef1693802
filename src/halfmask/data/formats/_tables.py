"""What databases share: one of their tables is read, or a query that the database runs."""

from abc import abstractmethod
from collections.abc import Mapping

from halfmask.data.engines.duckdb import DuckDBTable
from halfmask.data.formats import Format, OpenRequest
from halfmask.errors import OptionError, SourceError

_LISTED = 40


class Tables(Format):
    """A database."""

    options = frozenset({"table", "sql"})
    database = True

    def shown(self, source: str) -> str:
        """Return the name of the database for messages, without a password."""
        return source

    @abstractmethod
    def tables(self, asked: OpenRequest) -> Mapping[str, str]:
        """Return the tables by name, and how a query names each."""

    @abstractmethod
    def read(self, asked: OpenRequest, origin: str, place: str) -> DuckDBTable:
        """Return what a query has after FROM as a table of the connection; ``place`` is its name for messages."""

    def open(self, asked: OpenRequest) -> DuckDBTable:
        shown = self.shown(asked.found.source)
        notes: tuple[str, ...] = ()
        if asked.options.sql is not None:
            origin, place = f"({asked.options.sql.strip().rstrip(';')})", f"{shown}, query"
        else:
            tables = self.tables(asked)
            table = self._pick(shown, list(tables), asked.options.table)
            notes = (f"table = {table}",) if asked.options.table is None else ()
            origin, place = tables[table], f"{shown}, table {table}"
        raw = self.read(asked, origin, place)
        raw.notes, raw.origin = notes, origin
        return raw

    def _pick(self, shown: str, tables: list[str], asked: str | None) -> str:
        """Return the table asked for, or the only one."""
        if asked in tables:
            return asked
        listed = ", ".join(map(repr, tables[:_LISTED])) or "none"
        if asked is not None:
            message = f"{shown} has no table {asked!r} for `table`; it has {listed}"
            raise OptionError(message, kind="missing", field="table", place=shown)
        if not tables:
            raise SourceError(f"{shown}: the database has no tables, so no readings", kind="empty", place=shown)
        if len(tables) > 1:
            message = f"{shown} has {len(tables)} tables; name one with `table`: {listed}"
            raise OptionError(message, kind="several", field="table", place=shown)
        return tables[0]
