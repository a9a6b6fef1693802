"""A table in a DuckDB, SQLite or PostgreSQL database, streamed; never all of it in memory."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import pyarrow as pa

from halfmask.data.engines.duckdb import DuckDBRaw, StreamRaw, headline
from halfmask.data.engines.sql import literal, quote
from halfmask.data.engines.streams import Stream
from halfmask.data.places import MEMORY
from halfmask.data.raw import SAMPLE_ROWS
from halfmask.errors import OptionError, ReadingError, SourceError

_FETCH = 50_000
"""SQLite and PostgreSQL quote identifiers as DuckDB does."""


def pick_table(source: str, tables: Sequence[str], asked: str | None) -> tuple[str, tuple[str, ...]]:
    """The table asked for, or the only one there is, with a note that says so."""
    listed = ", ".join(map(repr, tables[:40]))
    if asked is not None:
        if asked in tables:
            return asked, ()
        raise OptionError(f"{source} has no table {asked!r} for `table`; it has {listed or 'none'}")
    if not tables:
        raise SourceError(f"{source}: the database has no tables, so no readings")
    if len(tables) > 1:
        raise OptionError(f"{source} has {len(tables)} tables; name one with `table`: {listed}")
    return tables[0], (f"table = {tables[0]}",)


def open_duckdb(
    connection: duckdb.DuckDBPyConnection, path: str, table: str | None, sql: str | None = None
) -> DuckDBRaw:
    """A table, a view or a query of a DuckDB file, attached for reading alone; of no file, a query over others."""
    if path == MEMORY:
        if sql is None:
            raise OptionError(
                f"`db={MEMORY}` holds no tables: say with `sql` what to read, such as select * from 'x.csv'"
            )
        return DuckDBRaw(connection, "query", lambda _: f"({_query(sql)})")
    try:
        connection.execute(f"ATTACH {literal(path)} AS attached (READ_ONLY)")
        found = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'attached' UNION ALL "
            "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'attached' AND NOT internal "
            "ORDER BY ALL"
        ).fetchall()
    except duckdb.Error as error:
        raise SourceError(f"{path}: {headline(str(error))}; check that it is a DuckDB file nobody writes to") from error
    if sql is not None:
        connection.execute("USE attached")
        return DuckDBRaw(connection, f"{path}, query", lambda _: f"({_query(sql)})")
    names = {(name if schema == "main" else f"{schema}.{name}"): (schema, name) for schema, name in found}
    chosen, notes = pick_table(path, list(names), table)
    schema, name = names[chosen]
    qualified = f"attached.{quote(schema)}.{quote(name)}"
    raw = DuckDBRaw(connection, f"{path}, table {chosen}", lambda _: qualified)
    raw.notes, raw.origin = notes, f"{quote(schema)}.{quote(name)}"
    return raw


def _query(sql: str) -> str:
    """A query as part of another."""
    return sql.strip().rstrip(";")


def open_sqlite(
    connection: duckdb.DuckDBPyConnection, path: str, table: str | None, sql: str | None = None
) -> StreamRaw:
    """A table, a view or a query of a SQLite file.

    Its columns may hold any type in any row: what does not fit is an error.
    """
    try:
        with closing(_sqlite(path)) as database:
            query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
            names = [name for (name,) in database.execute(query) if not name.startswith("sqlite_")]
            chosen, notes = ("query", ()) if sql else pick_table(path, names, table)
            origin = f"({_query(sql)})" if sql else quote(chosen)
            cursor = database.execute(f"SELECT * FROM {origin} LIMIT {SAMPLE_ROWS}")
            declared = {column[0]: "" for column in cursor.description}
            if not sql:
                declared |= {row[1]: row[2] for row in database.execute(f"PRAGMA table_info({quote(chosen)})")}
            rows = cursor.fetchall()
    except sqlite3.Error as error:
        wrong = "check the query" if sql else "check that it is a SQLite file"
        raise SourceError(f"{path}: {error}; {wrong}") from error
    place = f"{path}, query" if sql else f"{path}, table {chosen}"
    cells = zip(declared, zip(*rows, strict=True) if rows else ((),) * len(declared), strict=True)
    types = {name: sqlite_type(declared[name], column) for name, column in cells}
    sample = arrow(rows, types, place, 0)

    def open_stream(columns: Sequence[str]) -> Stream:
        kept = {name: types[name] for name in columns}
        return Stream(pa.schema(list(kept.items())), lambda: _sqlite_batches(path, origin, kept, place))

    raw = StreamRaw(connection, place, open_stream, pa.Table.from_batches([sample]))
    raw.notes, raw.origin = notes, origin
    return raw


def _sqlite(path: str) -> sqlite3.Connection:
    """Read only; DuckDB pulls rows from threads of its own, one at a time."""
    return sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)


def sqlite_type(declared: str, column: Sequence[Any]) -> pa.DataType:
    """The Arrow type of a column: of what its first rows hold, and doubles where fractions were declared."""
    held = {type(cell) for cell in column if cell is not None}
    fractions = any(word in declared.upper() for word in ("REAL", "FLOA", "DOUB", "NUMERIC", "DECIMAL"))
    if held == {int} and not fractions:
        return pa.int64()
    if held and held <= {int, float}:
        return pa.float64()
    return pa.string()


def _sqlite_batches(path: str, origin: str, types: dict[str, pa.DataType], place: str) -> Iterator[pa.RecordBatch]:
    columns = ", ".join(map(quote, types))
    try:
        with closing(_sqlite(path)) as database:
            cursor = database.execute(f"SELECT {columns} FROM {origin}")
            done = 0
            while rows := cursor.fetchmany(_FETCH):
                yield arrow(rows, types, place, done)
                done += len(rows)
    except sqlite3.Error as error:
        raise SourceError(f"{place}: {error}; check the database") from error


def arrow(rows: Sequence[tuple[Any, ...]], types: dict[str, pa.DataType], place: str, done: int) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ((),) * len(types)
    arrays = [_array(cells, name, t, place, done) for cells, (name, t) in zip(columns, types.items(), strict=True)]
    return pa.record_batch(arrays, schema=pa.schema(list(types.items())))


def _array(cells: Sequence[Any], name: str, t: pa.DataType, place: str, done: int) -> pa.Array:
    if pa.types.is_string(t):
        cells = [cell if cell is None or isinstance(cell, str) else str(cell) for cell in cells]
    try:
        return pa.array(cells, t)
    except (pa.ArrowException, UnicodeError, OverflowError):
        at = next(i for i, cell in enumerate(cells) if not _fits(cell, t))
        wanted = "a whole number" if pa.types.is_integer(t) else "a number"
        where = f"{place}, row {done + at + 1}, column {name!r}"
        raise ReadingError(f"{where}: {str(cells[at])[:40]!r} is not {wanted} as the rows before it are") from None


def _fits(cell: Any, t: pa.DataType) -> bool:
    try:
        pa.array([cell], t)
    except (pa.ArrowException, UnicodeError, OverflowError):
        return False
    return True


def open_postgres(
    connection: duckdb.DuckDBPyConnection, url: str, table: str | None, sql: str | None = None
) -> StreamRaw:
    """A table, a view or a query of a PostgreSQL database, by URL; the password stays out of every message."""
    parts = urlsplit(url)
    server = f"postgresql://{parts.hostname or ''}{parts.path}"
    if sql is not None:
        return _postgres_query(connection, url, server, _query(sql))
    names = _ask(
        url,
        server,
        "SELECT table_schema, table_name FROM information_schema.tables "
        "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2",
    )
    tables = {
        (name if schema == "public" else f"{schema}.{name}"): (schema, name)
        for schema, name in zip(*(column.to_pylist() for column in names.columns), strict=True)
    }
    chosen, notes = pick_table(server, list(tables), table)
    schema, name = (part.replace("'", "''") for part in tables[chosen])
    described = _ask(
        url,
        server,
        "SELECT column_name, data_type FROM information_schema.columns "
        f"WHERE table_schema = '{schema}' AND table_name = '{name}' ORDER BY ordinal_position",
    )
    columns = dict(zip(*(column.to_pylist() for column in described.columns), strict=True))
    origin = ".".join(map(quote, tables[chosen]))
    place = f"{server}, table {chosen}"

    def query(kept: Sequence[str], rest: str = "") -> str:
        return f"SELECT {', '.join(postgres_column(name, columns[name]) for name in kept)} FROM {origin}{rest}"

    sample = _ask(url, server, query(list(columns), f" LIMIT {SAMPLE_ROWS}"))

    def open_stream(kept: Sequence[str]) -> Stream:
        schema = pa.schema([sample.schema.field(name) for name in kept])
        return Stream(schema, lambda: _postgres_batches(url, server, query(kept)))

    raw = StreamRaw(connection, place, open_stream, sample)
    raw.notes, raw.origin = notes, origin
    return raw


def _postgres_query(connection: duckdb.DuckDBPyConnection, url: str, server: str, sql: str) -> StreamRaw:
    """A query; decimals come as text, which is read as numbers."""
    sample = _ask(url, server, f"SELECT * FROM ({sql}) AS asked LIMIT {SAMPLE_ROWS}")
    sample = sample.cast(pa.schema([pa.field(f.name, _brought(f.type)) for f in sample.schema]))

    def batches(kept: Sequence[str]) -> Iterator[pa.RecordBatch]:
        target = pa.schema([sample.schema.field(name) for name in kept])
        for batch in _postgres_batches(url, server, f"SELECT {', '.join(map(quote, kept))} FROM ({sql}) AS asked"):
            yield from pa.Table.from_batches([batch]).cast(target).to_batches()

    def open_stream(kept: Sequence[str]) -> Stream:
        return Stream(pa.schema([sample.schema.field(name) for name in kept]), lambda: batches(kept))

    return StreamRaw(connection, f"{server}, query", open_stream, sample)


def _brought(t: pa.DataType) -> pa.DataType:
    """The driver's own type for what Arrow has none for, as the text it holds."""
    return t.storage_type if isinstance(t, pa.ExtensionType | pa.BaseExtensionType) else t


_PLAIN = {"smallint", "integer", "bigint", "real", "double precision", "text", "character varying", "boolean", "date"}
_PLAIN |= {"timestamp without time zone", "timestamp with time zone"}


def postgres_column(name: str, data_type: str) -> str:
    """A column as the driver can bring it: decimals as doubles, what has no Arrow type as text."""
    if data_type in _PLAIN:
        return quote(name)
    target = "double precision" if data_type == "numeric" else "text"
    return f"{quote(name)}::{target} AS {quote(name)}"


def _postgres_batches(url: str, server: str, query: str) -> Iterator[pa.RecordBatch]:
    dbapi = _driver()
    try:
        with dbapi.connect(url) as database, database.cursor() as cursor:
            cursor.execute(query)
            yield from cursor.fetch_record_batch()
    except (dbapi.Error, pa.ArrowException, OSError) as error:
        raise SourceError(f"{server}: {headline(str(error))}; check address, name and rights") from error


def _ask(url: str, server: str, query: str) -> pa.Table:
    batches = list(_postgres_batches(url, server, query))
    if not batches:
        raise SourceError(f"{server}: there are no readings in it")
    return pa.Table.from_batches(batches)


def _driver() -> Any:
    from adbc_driver_postgresql import dbapi

    return dbapi
