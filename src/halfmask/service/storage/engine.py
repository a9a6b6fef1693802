"""Engines for the three kinds of database, each set up to keep what it has acknowledged."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from halfmask.errors import OptionError, RunError

DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mysql+pymysql"}
PATIENCE = 30
"""Seconds to wait while another process writes to a SQLite database."""


def read_url(text: str) -> URL:
    """Parse the address of a database that ``--db`` names. The password stays out of every message."""
    try:
        url = make_url(text)
    except ArgumentError:
        raise OptionError("`db` is no address of a database: write sqlite:///halfmask.db or postgresql://...") from None
    kind = url.drivername.split("+")[0]
    if kind not in DRIVERS:
        raise OptionError(f"`db` names a database of kind {kind[:20]!r}; known are sqlite, postgresql, mysql, mariadb")
    if kind == "sqlite" and (not url.database or url.database == ":memory:"):
        raise OptionError("`db` must name a file, like sqlite:///halfmask.db: memory forgets what was accepted")
    return url.set(drivername=DRIVERS[kind])


def file_of(url: URL) -> Path | None:
    """Return the file of a SQLite database, or None for another kind."""
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def open_engine(url: URL) -> Engine:
    """Return an engine whose commits are on disk when they return."""
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"timeout": PATIENCE, "check_same_thread": False}, pool_size=20)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    options: dict[str, Any] = {"pool_pre_ping": True, "pool_size": 20, "pool_recycle": 1800}
    timeout = {"connect_timeout": 5}
    return create_engine(url, isolation_level="READ COMMITTED", connect_args=timeout, **options)


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


def assert_durable(engine: Engine) -> None:
    """Raise RunError if the server acknowledges before it has written to disk."""
    backend = engine.url.get_backend_name()
    try:
        with engine.connect() as connection:
            if backend == "postgresql":
                switches = [
                    connection.execute(text(f"SHOW {name}")).scalar() for name in ("synchronous_commit", "fsync")
                ]
                wrong = "off" in switches
            elif backend == "mysql":
                wrong = connection.execute(text("SELECT @@innodb_flush_log_at_trx_commit")).scalar() != 1
            else:
                wrong = connection.execute(text("PRAGMA synchronous")).scalar() != 2
    except DBAPIError as error:
        raise RunError(f"cannot reach the {backend} database: {headline(error)}") from error
    if wrong:
        raise RunError(
            f"the {backend} server acknowledges before it has written to disk: set synchronous_commit and fsync "
            "on (PostgreSQL) or innodb_flush_log_at_trx_commit=1 (MySQL, MariaDB)"
        )


def headline(error: DBAPIError) -> str:
    """Return the first line of a driver's message, without the statement and its values."""
    with suppress(IndexError):
        return str(error.orig).splitlines()[0][:200]
    return type(error.orig).__name__
