"""The kinds of database, and what each does in its own way: one class per kind, entered in `DATABASES`.

All other statements are the same for every kind. Whatever the kind, a transaction is on disk when its commit returns.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Table, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from halfmask.errors import OptionError, RunError
from halfmask_device.instants import Instant

Stored = dict[int, dict[Instant, tuple[int, str, int]]]
"""Steps, setting and reward of stored reports, by producer and time."""
Range = tuple[int, Instant, Instant]
"""A producer, and the first and last of a range of times."""
Rows = Sequence[tuple[Any, ...]]
PATIENCE = 30
"""Seconds to wait while another process writes to a SQLite database."""
KEYS = 512
"""Keys (producer, time) per statement."""
SIZES = (64, 8, 1)
"""Rows per insert into SQLite. The sizes are few, so that the driver keeps the statements prepared."""
SPARE = 64
_REPORTS = "SELECT r.producer, r.time, r.steps, r.setting, r.reward FROM"
LOCK_PATIENCE = "SET LOCAL lock_timeout = '20ms'"
"""Longest wait of PostgreSQL for a lock on all reports: those who come meanwhile wait as long."""


@lru_cache(maxsize=64)
def _columns(table: Table) -> list[str]:
    return [column.name for column in table.c if column.autoincrement is not True]


@lru_cache(maxsize=64)
def _insert(table: Table, mark: str, rows: int) -> str:
    one = f"({', '.join([mark] * len(_columns(table)))})"
    return f"INSERT INTO {table.name} ({', '.join(_columns(table))}) VALUES {', '.join([one] * rows)}"


class Database:
    """The contract of a kind of database. Its methods suit a server that knows the SQL standard.

    ``driver``      the name under which SQLAlchemy knows the kind and its driver
    ``one_writer``  whether one transaction at a time can write, from its beginning
    ``durability``  what must be set for commits to reach the disk
    ``time``        the query for its clock in microseconds; empty if the database runs in this process
    ``partitions``  whether reports that are deleted together need a partition before the first is stored
    """

    driver: str
    one_writer = False
    durability: str
    time = ""
    partitions = False

    def engine(self, url: URL) -> Engine:
        """Return an engine whose commits are on disk when they return. `durable` checks the server's own settings."""
        options: dict[str, Any] = {"pool_pre_ping": True, "pool_size": 20, "pool_recycle": 1800}
        return create_engine(url, isolation_level="READ COMMITTED", connect_args={"connect_timeout": 5}, **options)

    def clock(self, connection: Connection) -> Instant | None:
        """Return the database's own clock, or None if it is this machine's."""
        return int(connection.execute(text(self.time)).scalar_one()) if self.time else None

    def durable(self, connection: Connection) -> bool:
        """Return whether the database writes to disk before it acknowledges."""
        raise NotImplementedError

    def insert(self, connection: Connection, table: Table, rows: Rows) -> None:
        """Insert rows of all columns except the one that the database numbers itself."""
        if rows:
            connection.exec_driver_sql(_insert(table, "%s", 1), list(rows))

    def add_partition(self, connection: Connection, low: int, high: int) -> None:
        """Make the partition of buckets from ``low`` to below ``high``, unless there is one."""
        raise NotImplementedError

    def clear(self, connection: Connection, low: int, high: int, most: int) -> int:
        """Delete reports of buckets from ``low`` to below ``high``, at most ``most``. Return 0 when none was left."""
        query = f"DELETE FROM reports WHERE bucket >= {low} AND bucket < {high} ORDER BY bucket, producer, time"
        return int(connection.exec_driver_sql(f"{query} LIMIT {most}").rowcount)

    def stored(self, connection: Connection, bucket: int, asked: Mapping[int, Sequence[Instant]]) -> Stored:
        """Find reports of a bucket by producer and time. Reports of other times may be among them."""
        found: Stored = {}
        keys = sorted({(producer, time) for producer, times in asked.items() for time in times})
        for start in range(0, len(keys), KEYS):
            for producer, time, *rest in self._at(connection, bucket, keys[start : start + KEYS]):
                found.setdefault(producer, {})[time] = (rest[0], rest[1], rest[2])
        return found

    def within(self, connection: Connection, bucket: int, ranges: Sequence[Range]) -> Iterable[Any]:
        """Find reports of a bucket by ranges of producers' times."""
        for start in range(0, len(ranges), KEYS):
            part = ranges[start : start + KEYS]
            where = " OR ".join(["(r.producer = %s AND r.time BETWEEN %s AND %s)"] * len(part))
            query = f"{_REPORTS} reports AS r WHERE r.bucket = {bucket} AND ({where})"
            yield from connection.exec_driver_sql(query, tuple(chain.from_iterable(part)))

    def _at(self, connection: Connection, bucket: int, keys: Sequence[tuple[int, Instant]]) -> Iterable[Any]:
        """Find the reports of exactly these keys."""
        pairs = ", ".join(["(%s, %s)"] * len(keys))
        query = f"{_REPORTS} reports AS r WHERE r.bucket = {bucket} AND (r.producer, r.time) IN ({pairs})"
        return connection.exec_driver_sql(query, tuple(chain.from_iterable(keys)))


class MySql(Database):
    """MySQL and MariaDB. Reports are stored in order of their key, so those of a bucket are together."""

    driver = "mysql+pymysql"
    durability = "innodb_flush_log_at_trx_commit=1"

    time = "SELECT UNIX_TIMESTAMP(SYSDATE(6)) * 1000000"

    def durable(self, connection: Connection) -> bool:
        return connection.execute(text("SELECT @@innodb_flush_log_at_trx_commit")).scalar() == 1


class PostgreSql(Database):
    """PostgreSQL, over a network: columns are sent as arrays, for few parameters and one round trip per statement.

    The reports that are deleted together are a partition, so that nothing is searched and no space is lost.
    """

    driver = "postgresql+psycopg"
    durability = "synchronous_commit and fsync on"
    kinds = {int: "bigint", str: "text", bytes: "bytea"}  # noqa: RUF012
    partitions = True

    def engine(self, url: URL) -> Engine:
        engine = super().engine(url)
        event.listen(engine, "connect", _prepare_postgresql)
        return engine

    time = "SELECT extract(epoch FROM clock_timestamp()) * 1000000"

    def durable(self, connection: Connection) -> bool:
        names = ("synchronous_commit", "fsync")
        return "off" not in [connection.execute(text(f"SHOW {name}")).scalar() for name in names]

    def insert(self, connection: Connection, table: Table, rows: Rows) -> None:
        if not rows:
            return
        names = _columns(table)
        kinds = [self.kinds[table.c[name].type.python_type] for name in names]
        arrays = ", ".join(f"%s::{kind}[]" for kind in kinds)
        query = f"INSERT INTO {table.name} ({', '.join(names)}) SELECT * FROM unnest({arrays})"
        connection.exec_driver_sql(query, tuple(map(list, zip(*rows, strict=True))))

    def _at(self, connection: Connection, bucket: int, keys: Sequence[tuple[int, Instant]]) -> Iterable[Any]:
        wanted = "unnest(%s::bigint[], %s::bigint[]) AS k(p, t)"
        joined = f"JOIN reports AS r ON r.bucket = {bucket} AND r.producer = k.p AND r.time = k.t"
        return connection.exec_driver_sql(f"{_REPORTS} {wanted} {joined}", tuple(map(list, zip(*keys, strict=True))))

    def add_partition(self, connection: Connection, low: int, high: int) -> None:
        name = f"reports_{low}"
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(20261119)")
        if connection.exec_driver_sql(f"SELECT to_regclass('{name}')").scalar() is None:
            connection.exec_driver_sql(f"CREATE TABLE {name} (LIKE reports INCLUDING ALL)")
            bounds = f"FOR VALUES FROM ({low}) TO ({high})"
            connection.exec_driver_sql(f"ALTER TABLE reports ATTACH PARTITION {name} {bounds}")

    def clear(self, connection: Connection, low: int, high: int, most: int) -> int:  # noqa: ARG002
        """Empty a partition, or drop an empty one. Only the second locks all reports, and for a moment."""
        names = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'reports'::regclass"
        parts = [name for (name,) in connection.exec_driver_sql(names) if low <= int(name.split("_")[-1]) < high]
        for name in parts[:1]:
            connection.exec_driver_sql(LOCK_PATIENCE)
            held = connection.exec_driver_sql(f"SELECT EXISTS (SELECT FROM {name})").scalar()
            connection.exec_driver_sql(f"{'TRUNCATE' if held else 'DROP'} TABLE {name}")
        return len(parts)


class Sqlite(Database):
    """SQLite, in the same process: a statement costs little, and one more row in a statement costs even less.

    It uses the driver's own cursor, because what SQLAlchemy adds to a statement costs more than the statement.
    """

    driver = "sqlite"
    one_writer = True
    durability = "synchronous=FULL"

    def engine(self, url: URL) -> Engine:
        engine = create_engine(url, connect_args={"timeout": PATIENCE, "check_same_thread": False}, pool_size=20)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine

    def durable(self, connection: Connection) -> bool:
        return connection.execute(text("PRAGMA synchronous")).scalar() == 2

    def insert(self, connection: Connection, table: Table, rows: Rows) -> None:
        """Insert many rows per statement.

        The interpreter's lock is released once per statement, not once per row, so that other threads get on as well.
        """
        cursor, start = connection.connection.cursor(), 0
        for size in SIZES:
            query = _insert(table, "?", size)
            while len(rows) - start >= size:
                cursor.execute(query, list(chain.from_iterable(rows[start : start + size])))
                start += size

    def clear(self, connection: Connection, low: int, high: int, most: int) -> int:
        """Delete up to the key of the report that is ``most`` places behind the first."""
        cursor = connection.connection.cursor()
        those = "FROM reports WHERE bucket >= ? AND bucket < ? ORDER BY bucket, producer, time LIMIT 1 OFFSET ?"
        end = cursor.execute(f"SELECT bucket, producer, time {those}", (low, high, most)).fetchone()
        upto = "DELETE FROM reports WHERE bucket >= ? AND (bucket, producer, time) < (?, ?, ?)"
        return int(cursor.execute(upto, (low, *(end or (high, -(2**62), 0)))).rowcount)

    def stored(self, connection: Connection, bucket: int, asked: Mapping[int, Sequence[Instant]]) -> Stored:
        """Read the whole range of a producer's times if it holds few reports, else look up each time.

        A producer's reports of a bucket are stored together, so a range is read fast.
        """
        cursor = connection.connection.cursor()
        found: Stored = {}
        query = f"{_REPORTS} reports AS r WHERE r.bucket = ? AND r.producer = ? AND r.time BETWEEN ? AND ? LIMIT ?"
        for producer, times in asked.items():
            if not times:
                continue
            most = 2 * len(times) + SPARE
            rows = cursor.execute(query, (bucket, producer, min(times), max(times), most)).fetchall()
            if len(rows) == most:
                found |= super().stored(connection, bucket, {producer: times})
            elif rows:
                found[producer] = {row[1]: row[2:] for row in rows}
        return found

    def within(self, connection: Connection, bucket: int, ranges: Sequence[Range]) -> Iterable[Any]:
        cursor = connection.connection.cursor()
        query = f"{_REPORTS} reports AS r WHERE r.bucket = ? AND r.producer = ? AND r.time BETWEEN ? AND ?"
        for each in ranges:
            yield from cursor.execute(query, (bucket, *each)).fetchall()

    def _at(self, connection: Connection, bucket: int, keys: Sequence[tuple[int, Instant]]) -> Iterable[Any]:
        """Join a list of values, because SQLite would read the whole table for a pair that is IN a list."""
        values = ", ".join(["(?, ?)"] * len(keys))
        joined = f"(VALUES {values}) AS k CROSS JOIN reports AS r"
        where = "r.bucket = ? AND r.producer = k.column1 AND r.time = k.column2"
        cursor: Iterable[Any] = connection.connection.cursor().execute(
            f"{_REPORTS} {joined} WHERE {where}", (*chain.from_iterable(keys), bucket)
        )
        return cursor


def _prepare_postgresql(connection: Any, _: object) -> None:
    """Plan each statement for its own buckets: a plan for any bucket would lock all partitions."""
    with connection.cursor() as cursor:
        cursor.execute("SET plan_cache_mode = force_custom_plan")
    connection.commit()


def _prepare_sqlite(connection: Any, _: object) -> None:
    """Set up a connection: transactions begin explicitly, commits reach the disk, deleted reports are overwritten."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    if cursor.fetchone()[0] != "wal":
        raise RunError("SQLite could not switch to its write-ahead log: is the database on a network folder?")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA secure_delete=ON")
    cursor.execute("PRAGMA synchronous")
    if cursor.fetchone()[0] != 2:
        raise RunError("SQLite does not keep synchronous=FULL: what was accepted could be lost with the power")
    cursor.close()


def _begin_sqlite(connection: Any) -> None:
    """Begin a transaction. One that writes takes the lock at once: nobody writes between its reads and its writes."""
    mode = "BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN"
    connection.exec_driver_sql(mode)


DATABASES: dict[str, Database] = {"sqlite": Sqlite(), "postgresql": PostgreSql(), "mysql": MySql(), "mariadb": MySql()}
"""The kinds, by the name that an address begins with and that SQLAlchemy calls the dialect."""


def read_url(address: str) -> URL:
    """Parse the address of a database that ``--db`` names. The password stays out of every message."""
    try:
        url = make_url(address)
    except ArgumentError:
        message = "`db` is not the address of a database: write sqlite:///halfmask.db or postgresql://..."
        raise OptionError(message, kind="address") from None
    kind = url.drivername.split("+")[0]
    if kind not in DATABASES:
        message = f"`db` names a database of kind {kind[:20]!r}; known are {', '.join(DATABASES)}"
        raise OptionError(message, kind="unknown")
    if kind == "sqlite" and (not url.database or url.database == ":memory:"):
        message = "`db` must name a file, like sqlite:///halfmask.db: memory forgets what was accepted"
        raise OptionError(message, kind="memory")
    return url.set(drivername=DATABASES[kind].driver)


def file_of(url: URL) -> Path | None:
    """Return the file of a SQLite database, or None for another kind."""
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None
