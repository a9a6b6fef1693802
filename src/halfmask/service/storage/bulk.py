"""Many rows at once, the way each kind of database does it fastest; what they do is the same."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Table

from halfmask_device.instants import Instant

Standing = dict[int, dict[Instant, tuple[int, str, int]]]
Rows = Sequence[tuple[Any, ...]]
KEYS = 512
"""Keys (producer, time) that a statement asks for at once."""
SIZES = (64, 8, 1)
"""Rows of an insert: few texts, so that the driver keeps them prepared."""
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
    """By statements that every kind understands."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def insert(self, table: Table, rows: Rows) -> None:
        """Rows of all columns but the one that the database numbers itself."""
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
    """In the same process: a statement costs little, a row within one less than a row of its own."""

    def insert(self, table: Table, rows: Rows) -> None:
        """The interpreter's lock is given back once a statement, not once a row, so that others get on as well."""
        cursor, start = self._cursor(), 0
        for size in SIZES:
            text = _insert(table, "?", size)
            while len(rows) - start >= size:
                cursor.execute(text, list(chain.from_iterable(rows[start : start + size])))
                start += size

    def standing(self, asked: Mapping[int, Sequence[Instant]]) -> Standing:
        """A producer's reports lie together: the range of its times is read where it holds few, else each is sought."""
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
        """SQLite would read the whole table for a pair that is IN a list."""
        values = ", ".join(["(?, ?)"] * len(keys))
        joined = f"(VALUES {values}) AS k JOIN reports AS r ON r.producer = k.column1 AND r.time = k.column2"
        yield from self._cursor().execute(f"{_REPORTS} {joined}", tuple(chain.from_iterable(keys)))

    def _cursor(self) -> Any:
        """The driver's own: what SQLAlchemy adds to a statement costs more than the statement."""
        return self.connection.connection.cursor()


class PostgreSql(Bulk):
    """Over a wire: columns go as arrays, so that a statement has few parameters and one round trip."""

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
