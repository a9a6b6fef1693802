"""Read SQLite files through the standard library. A cell that does not fit its column's type is an error."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from halfmask.data.formats._databases import RowDatabase

_FRACTIONS = ("REAL", "FLOA", "DOUB", "NUMERIC", "DECIMAL")


class SqliteFile(RowDatabase):
    """A SQLite file. One table or view is read, or the result of a query."""

    kind = "SQLite"
    extensions = (".sqlite", ".sqlite3", ".db")
    magic = b"SQLite format 3\0"
    names = r"""SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
        ORDER BY name"""
    remedy = "check that it is a SQLite file, and the query"

    def driver(self) -> Any:
        return sqlite3

    def connect(self, source: str) -> sqlite3.Connection:
        """Open the file as read-only. DuckDB's threads may share the connection, one at a time."""
        return sqlite3.connect(f"{Path(source).absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)

    def fractions(self, source: str, origin: str) -> frozenset[str]:
        if origin.startswith("("):  # a query declares nothing
            return frozenset()
        with closing(self.connect(source)) as database:
            declared = database.execute(f"PRAGMA table_info({origin})").fetchall()
        return frozenset(row[1] for row in declared if any(word in row[2].upper() for word in _FRACTIONS))
