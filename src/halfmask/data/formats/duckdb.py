"""Read DuckDB files, attached as read-only.

The address ``:memory:`` is a database without a file. It lets a query read other files.
"""

from collections.abc import Mapping

import duckdb

from halfmask.data.engines.duckdb import DuckDBTable, headline
from halfmask.data.formats import OpenRequest
from halfmask.data.formats._databases import Tables
from halfmask.data.sql import literal, quote
from halfmask.errors import OptionError, SourceError

MEMORY = ":memory:"
_TABLES = """SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'attached' UNION ALL
    SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'attached' AND NOT internal ORDER BY ALL"""


class DuckDBFile(Tables):
    """A DuckDB file. One table or view is read, or the result of a query."""

    kind = "DuckDB"
    extensions = (".duckdb", ".ddb")
    addresses = (MEMORY,)

    def sniff(self, file: str, head: bytes) -> bool:  # noqa: ARG002
        return head[8:12] == b"DUCK"

    def open(self, asked: OpenRequest) -> DuckDBTable:
        for file in asked.found.files:
            try:
                asked.connection.execute(f"ATTACH {literal(file)} AS attached (READ_ONLY); USE attached")
            except duckdb.Error as error:
                raise SourceError(
                    f"{file}: {headline(str(error))}; check that it is a DuckDB file nobody writes to",
                    kind="database",
                    place=file,
                ) from error
        return super().open(asked)

    def tables(self, asked: OpenRequest) -> Mapping[str, str]:
        if not asked.found.files:
            raise OptionError(
                f"`db={MEMORY}` holds no tables: say with `sql` what to read, such as select * from 'x.csv'",
                kind="needed",
                field="sql",
            )
        names = asked.connection.execute(_TABLES).fetchall()
        return {
            (name if schema == "main" else f"{schema}.{name}"): f"{quote(schema)}.{quote(name)}"
            for schema, name in names
        }

    def read(self, asked: OpenRequest, origin: str, place: str) -> DuckDBTable:
        return DuckDBTable(asked.connection, place, lambda _: origin)
