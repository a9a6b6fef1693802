"""Reading and writing many rows at once, in the fastest way for each kind of database. The results are the same."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Table

from halfmask_device.instants import Instant

Standing = dict[int, dict[Instant, tuple[int, str, int]]]
Rows = Sequence[tuple[Any, ...]]
KEYS = 512
"""Keys (producer, time) per statement."""
SIZES = (64, 8, 1)
"""Rows per insert. The sizes are few, so that the driver keeps the statements prepared."""
SPARE = 64
_REPORTS = "SELECT r.producer, r.time, r.steps, r.setting, r.reward FROM"


@lru_cache(maxsize=64)
def _columns(table: Table) -> list[str]:
    return [column.name for column in table.c if column.autoincrement is not True]


@lru_cache(maxsize=64)
def _insert(table: Table, mark: str, rows: int) -> str:
    one = f"({', '.join([mark] * len(_columns(table)))})"
    return f"INSERT INTO {table.name} ({', '.join(_columns(table))}) VALUES {', '.join([one] * rows)}"


class Bulk:
    """Statements that every kind of database understands."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def insert(self, table: Table, rows: Rows) -> None:
        """Insert rows of all columns except the one that the database numbers itself."""
        if rows:
            self.connection.exec_driver_sql(_insert(table, "%s", 1), list(rows))

    def standing(self, asked: Mapping[int, Sequence[Instant]]) -> Standing:
        """See `Transaction.standing`."""
        found: Standing = {}
        keys = sorted({(producer, time) for producer, times in asked.items() for time in times})
        for start in range(0, len(keys), KEYS):
            for producer, time, *rest in self._exactly(keys[start : start + KEYS]):
                found.setdefault(producer, {})[time] = (rest[0], rest[1], rest[2])
        return found

    def _exactly(self, keys: Sequence[tuple[int, Instant]]) -> Iterator[Any]:
        text = f"{_REPORTS} reports AS r WHERE (r.producer, r.time) IN ({', '.join(['(%s, %s)'] * len(keys))})"
        yield from self.connection.exec_driver_sql(text, tuple(chain.from_iterable(keys)))


class Sqlite(Bulk):
    """SQLite, in the same process: a statement costs little, and a row within a longer statement costs even less."""

    def insert(self, table: Table, rows: Rows) -> None:
        """Insert many rows per statement.

        The interpreter's lock is released once per statement, not once per row, so that other threads get on as well.
        """
        cursor, start = self._cursor(), 0
        for size in SIZES:
            text = _insert(table, "?", size)
            while len(rows) - start >= size:
                cursor.execute(text, list(chain.from_iterable(rows[start : start + size])))
                start += size

    def standing(self, asked: Mapping[int, Sequence[Instant]]) -> Standing:
        """Read the whole range of a producer's times if it holds few reports, else look up each time.

        A producer's reports are stored together, so a range is read fast.
        """
        cursor = self._cursor()
        found: Standing = {}
        for producer, times in asked.items():
            if not times:
                continue
            most = 2 * len(times) + SPARE
            text = f"{_REPORTS} reports AS r WHERE r.producer = ? AND r.time BETWEEN ? AND ? LIMIT ?"
            rows = cursor.execute(text, (producer, min(times), max(times), most)).fetchall()
            if len(rows) == most:
                found |= super().standing({producer: times})
            elif rows:
                found[producer] = {row[1]: row[2:] for row in rows}
        return found

    def _exactly(self, keys: Sequence[tuple[int, Instant]]) -> Iterator[Any]:
        """Join a list of values, because SQLite would read the whole table for a pair that is IN a list."""
        values = ", ".join(["(?, ?)"] * len(keys))
        joined = f"(VALUES {values}) AS k JOIN reports AS r ON r.producer = k.column1 AND r.time = k.column2"
        yield from self._cursor().execute(f"{_REPORTS} {joined}", tuple(chain.from_iterable(keys)))

    def _cursor(self) -> Any:
        """Return the driver's own cursor: what SQLAlchemy adds to a statement costs more than the statement."""
        return self.connection.connection.cursor()


class PostgreSql(Bulk):
    """PostgreSQL, over a network: columns are sent as arrays, for few parameters and one round trip per statement."""

    kinds = {int: "bigint", str: "text"}  # noqa: RUF012

    def insert(self, table: Table, rows: Rows) -> None:
        if not rows:
            return
        names = _columns(table)
        kinds = [self.kinds[table.c[name].type.python_type] for name in names]
        arrays = ", ".join(f"%s::{kind}[]" for kind in kinds)
        text = f"INSERT INTO {table.name} ({', '.join(names)}) SELECT * FROM unnest({arrays})"
        self.connection.exec_driver_sql(text, tuple(map(list, zip(*rows, strict=True))))

    def _exactly(self, keys: Sequence[tuple[int, Instant]]) -> Iterator[Any]:
        wanted = "unnest(%s::bigint[], %s::bigint[]) AS k(p, t)"
        text = f"{_REPORTS} {wanted} JOIN reports AS r ON r.producer = k.p AND r.time = k.t"
        yield from self.connection.exec_driver_sql(text, tuple(map(list, zip(*keys, strict=True))))


def bulk_of(connection: Connection) -> Bulk:
    kind = connection.dialect.name
    return (Sqlite if kind == "sqlite" else PostgreSql if kind == "postgresql" else Bulk)(connection)
