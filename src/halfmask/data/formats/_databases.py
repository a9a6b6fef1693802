"""The base classes of database formats. They read one table, or the result of a query."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from halfmask.data.engines.duckdb import DuckDBTable, StreamedTable, headline
from halfmask.data.formats import Format, OpenRequest
from halfmask.data.locate import without_password
from halfmask.data.source_table import SAMPLE_ROWS
from halfmask.data.sql import quote
from halfmask.errors import OptionError, ReadingError, SourceError

_FETCH = 50_000
_LISTED = 40
_UNFIT = (pa.ArrowException, UnicodeError, OverflowError)
Row = tuple[Any, ...]


class Tables(Format):
    """A database with tables."""

    options = frozenset({"table", "sql"})
    database = True

    def shown(self, source: str) -> str:
        """Return the database's name without a password, for messages."""
        return without_password(source) if "://" in source else source

    @abstractmethod
    def tables(self, asked: OpenRequest) -> Mapping[str, str]:
        """Return, for each table's name, the expression by which a query refers to it."""

    @abstractmethod
    def read(self, asked: OpenRequest, origin: str, place: str) -> DuckDBTable:
        """Open a table or query of the database as a table of the connection.

        ``origin``  the text after FROM in the database's query
        ``place``   the table's or query's name for messages
        """

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
        """Return the table that the caller named, or the only one."""
        if asked in tables:
            return asked
        listed = ", ".join(map(repr, tables[:_LISTED])) or "none"
        if asked is not None:
            raise OptionError(
                f"{shown} has no table {asked!r} for `table`; it has {listed}",
                kind="missing",
                field="table",
                place=shown,
            )
        if not tables:
            raise SourceError(f"{shown}: the database has no tables, so no readings", kind="empty", place=shown)
        if len(tables) > 1:
            raise OptionError(
                f"{shown} has {len(tables)} tables; name one with `table`: {listed}",
                kind="several",
                field="table",
                place=shown,
            )
        return tables[0]


class RowDatabase(Tables):
    """A database whose driver returns rows as Python objects (DB-API 2.0).

    ``names``   the query for the names of its tables
    ``remedy``  advice at the end of error messages
    """

    names: str
    remedy: str

    @abstractmethod
    def driver(self) -> Any:
        """Return the driver's module."""

    @abstractmethod
    def connect(self, source: str) -> Any:
        """Return a connection to the database."""

    def quote(self, name: str) -> str:
        """Return a name as an identifier of the database."""
        return quote(name)

    def fractions(self, source: str, origin: str) -> frozenset[str]:  # noqa: ARG002
        """Return the columns that are declared as fractions, for drivers whose first values do not show it."""
        return frozenset()

    def tables(self, asked: OpenRequest) -> Mapping[str, str]:
        names = (row[0] for _, rows in self._fetched(asked.found.source, self.names) for row in rows)
        return {name: self.quote(name) for name in names}

    def read(self, asked: OpenRequest, origin: str, place: str) -> DuckDBTable:
        source = asked.found.source
        names, rows = next(self._fetched(source, f"SELECT * FROM {origin} AS asked LIMIT {SAMPLE_ROWS}"))
        fractions = self.fractions(source, origin)
        types = {name: _type([row[i] for row in rows], name in fractions) for i, name in enumerate(names)}

        def batches(schema: pa.Schema) -> Iterator[pa.RecordBatch]:
            query, done = f"SELECT {', '.join(map(self.quote, schema.names))} FROM {origin} AS asked", 0
            for _, some in self._fetched(source, query):
                yield _batch(some, schema, place, done)
                done += len(some)

        sample = pa.Table.from_batches([_batch(rows, pa.schema(list(types.items())), place, 0)])
        return StreamedTable(asked.connection, place, sample, batches)

    def _fetched(self, source: str, query: str) -> Iterator[tuple[list[str], list[Row]]]:
        """Yield the columns' names with batches of rows. For an empty result, yield the names once."""
        failures = (self.driver().Error, OSError)
        try:
            with closing(self.connect(source)) as database, closing(database.cursor()) as cursor:
                cursor.execute(query)
                names = [column[0] for column in cursor.description]
                rows = cursor.fetchmany(_FETCH)
                yield names, rows
                while rows := cursor.fetchmany(_FETCH):
                    yield names, rows
        except failures as error:
            raise SourceError(
                f"{self.shown(source)}: {headline(str(error))}; {self.remedy}",
                kind="database",
                place=self.shown(source),
            ) from error


def _type(column: Sequence[Any], fractions: bool) -> pa.DataType:
    """Return the Arrow type of a column, from its first rows."""
    held = {type(cell) for cell in column if cell is not None}
    if held == {int} and not fractions:
        return pa.int64()
    if held and held <= {int, float, Decimal}:
        return pa.float64()
    if held == {datetime}:
        return pa.timestamp("us")
    return pa.date32() if held == {date} else pa.string()


def _batch(rows: Sequence[Row], schema: pa.Schema, place: str, done: int) -> pa.RecordBatch:
    return pa.record_batch(
        [_array([row[i] for row in rows], each, place, done) for i, each in enumerate(schema)], schema=schema
    )


def _array(cells: Sequence[Any], field: pa.Field, place: str, done: int) -> pa.Array:
    if pa.types.is_string(field.type):
        cells = [cell if cell is None or isinstance(cell, str) else _text(cell) for cell in cells]
    try:
        return pa.array(cells, field.type)
    except _UNFIT:  # Arrow does not read decimals as doubles
        cells = [float(cell) if isinstance(cell, Decimal) else cell for cell in cells]
    try:
        return pa.array(cells, field.type)
    except _UNFIT:
        at = next(i for i, cell in enumerate(cells) if not _fits(cell, field.type))
        wanted = "a whole number" if pa.types.is_integer(field.type) else "a number"
        where = f"{place}, row {done + at + 1}, column {field.name!r}"
        shown = repr(str(cells[at])[:40])
        raise ReadingError(
            f"{where}: {shown} is not {wanted} as the rows before it are", kind="type", place=where
        ) from None


def _text(cell: Any) -> str:
    return str(cell).rjust(8, "0") if isinstance(cell, timedelta) else str(cell)


def _fits(cell: Any, t: pa.DataType) -> bool:
    try:
        pa.array([cell], t)
    except _UNFIT:
        return False
    return True
