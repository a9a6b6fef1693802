"""Read from PostgreSQL servers through ADBC, which returns Arrow batches.

An address is ``postgresql://user:password@host:port/database``.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa

from halfmask.data.engines.duckdb import DuckDBTable, StreamedTable, headline
from halfmask.data.formats import OpenRequest
from halfmask.data.formats._databases import Tables
from halfmask.data.source_table import SAMPLE_ROWS
from halfmask.data.sql import quote
from halfmask.errors import SourceError

_TABLES = """SELECT table_schema, table_name FROM information_schema.tables
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"""


class Postgres(Tables):
    """A PostgreSQL server. One table or view is read, or the result of a query."""

    kind = "PostgreSQL"
    addresses = ("postgresql://", "postgres://")

    def tables(self, asked: OpenRequest) -> Mapping[str, str]:
        with self._result(asked, _TABLES) as result:
            names = [tuple(row.values()) for row in result.read_all().to_pylist()]
        return {
            (name if schema == "public" else f"{schema}.{name}"): f"{quote(schema)}.{quote(name)}"
            for schema, name in names
        }

    def read(self, asked: OpenRequest, origin: str, place: str) -> DuckDBTable:
        with self._result(asked, f"SELECT * FROM {origin} AS asked LIMIT 0") as result:
            columns = {field.name: _column(field) for field in result.schema}

        def select(kept: Sequence[str]) -> str:
            return f"SELECT {', '.join(columns[name] for name in kept)} FROM {origin} AS asked"

        with self._result(asked, f"{select(list(columns))} LIMIT {SAMPLE_ROWS}") as result:
            sample = result.read_all()

        def batches(schema: pa.Schema) -> Iterator[pa.RecordBatch]:
            with self._result(asked, select(schema.names)) as result:
                yield from result

        return StreamedTable(asked.connection, place, sample, batches)

    @contextmanager
    def _result(self, asked: OpenRequest, query: str) -> Iterator[pa.RecordBatchReader]:
        from adbc_driver_postgresql import dbapi

        try:
            with dbapi.connect(asked.found.source) as database, database.cursor() as cursor:
                cursor.execute(query)
                yield cursor.fetch_record_batch()
        except (dbapi.Error, pa.ArrowException, OSError) as error:
            shown = self.shown(asked.found.source)
            raise SourceError(
                f"{shown}: {headline(str(error))}; check address, name, rights and query", kind="database", place=shown
            ) from error


def _column(field: pa.Field) -> str:
    """Return a column for SELECT: decimals are cast to doubles, and types that Arrow lacks to text."""
    name, t = quote(field.name), field.type
    if getattr(t, "type_name", "") == "numeric":
        return f"{name}::double precision AS {name}"
    plain = pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_boolean(t) or pa.types.is_string(t)
    return name if plain or pa.types.is_date(t) or pa.types.is_timestamp(t) else f"{name}::text AS {name}"
