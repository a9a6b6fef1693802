"""A table or a query of a MySQL or MariaDB database, streamed; never all of it in memory."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import unquote, urlsplit

import duckdb
import pyarrow as pa

from halfmask.data.engines.duckdb import StreamRaw, headline
from halfmask.data.engines.streams import Stream
from halfmask.data.formats.databases import arrow, pick_table
from halfmask.data.raw import SAMPLE_ROWS
from halfmask.errors import SourceError

_FETCH = 50_000
_PORT = 3306


def open_mysql(connection: duckdb.DuckDBPyConnection, url: str, table: str | None, sql: str | None = None) -> StreamRaw:
    """``mysql://user:password@host:port/database``; the password stays out of every message."""
    parts = urlsplit(url)
    server = f"mysql://{parts.hostname or ''}{parts.path}"
    if sql is not None:
        origin, place, notes = f"({sql.strip().rstrip(';')}) AS asked", f"{server}, query", ()
    else:
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1"
        names = [str(row[0]) for row in _rows(url, server, query)[1]]
        chosen, notes = pick_table(server, names, table)  # type: ignore[assignment]
        origin, place = _quote(chosen), f"{server}, table {chosen}"
    columns, rows = _rows(url, server, f"SELECT * FROM {origin} LIMIT {SAMPLE_ROWS}")
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    types = {name: _type(column) for name, column in zip(columns, cells, strict=True)}
    sample = arrow([_plain(row) for row in rows], types, place, 0)

    def open_stream(kept: Sequence[str]) -> Stream:
        wanted = {name: types[name] for name in kept}
        query = f"SELECT {', '.join(map(_quote, kept))} FROM {origin}"
        return Stream(pa.schema(list(wanted.items())), lambda: _batches(url, server, query, wanted, place))

    raw = StreamRaw(connection, place, open_stream, pa.Table.from_batches([sample]))
    raw.notes, raw.origin = notes, origin
    return raw


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _type(column: Sequence[Any]) -> pa.DataType:
    """The Arrow type of a column, by what its first rows hold."""
    held = {type(cell) for cell in column if cell is not None}
    if held == {int}:
        return pa.int64()
    if held and held <= {int, float, Decimal}:
        return pa.float64()
    if held == {datetime}:
        return pa.timestamp("us")
    return pa.date32() if held == {date} else pa.string()


def _plain(row: Sequence[Any]) -> tuple[Any, ...]:
    """A row in the types of `_type`: decimals as doubles, times of day as text."""
    return tuple(
        float(cell) if isinstance(cell, Decimal) else str(cell).rjust(8, "0") if isinstance(cell, timedelta) else cell
        for cell in row
    )


def _batches(url: str, server: str, query: str, types: dict[str, pa.DataType], place: str) -> Iterator[pa.RecordBatch]:
    driver = _driver()
    try:
        with closing(_connect(driver, url)) as database, closing(database.cursor()) as cursor:
            cursor.execute(query)
            done = 0
            while rows := cursor.fetchmany(_FETCH):
                yield arrow([_plain(row) for row in rows], types, place, done)
                done += len(rows)
    except (driver.Error, OSError) as error:
        raise SourceError(f"{server}: {headline(str(error))}; check address, name, rights and query") from error


def _rows(url: str, server: str, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    driver = _driver()
    try:
        with closing(_connect(driver, url)) as database, closing(database.cursor()) as cursor:
            cursor.execute(query)
            return [column[0] for column in cursor.description], list(cursor.fetchall())
    except (driver.Error, OSError) as error:
        raise SourceError(f"{server}: {headline(str(error))}; check address, name, rights and query") from error


def _connect(driver: Any, url: str) -> Any:
    """Rows stay on the server until they are fetched."""
    parts = urlsplit(url)
    return driver.connect(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or _PORT,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=parts.path.lstrip("/"),
        cursorclass=driver.cursors.SSCursor,
        init_command="SET time_zone = '+00:00'",
    )


def _driver() -> Any:
    import pymysql  # type: ignore[import-untyped]
    import pymysql.cursors  # type: ignore[import-untyped]

    return pymysql
