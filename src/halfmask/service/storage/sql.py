"""The store on SQLAlchemy Core: SQLite, PostgreSQL and MySQL or MariaDB with one set of statements."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from halfmask.service.storage.base import Store, StoreConflictError, StoreFullError, StoreGoneError, Transaction
from halfmask.service.storage.engine import file_of
from halfmask.service.storage.transaction import SqlTransaction

LEAST_ROOM = 64 * 2**20
"""Bytes that must be free on the disk of a SQLite file to take more: its log is merged into the file later."""
_GIVEN_UP = ("40P01", "40001", 1213)
"""Codes of PostgreSQL and MySQL for a deadlock that this transaction has lost."""
_FULL = ("full", "no space left", "53100")


class SqlStore(Store):
    """One database; the engine's pool gives each thread its own connection."""

    def __init__(self, engine: Engine, least_room: int = LEAST_ROOM) -> None:
        self.engine, self.least_room = engine, least_room
        self._writing = engine.execution_options(writes=True)
        file = file_of(engine.url)
        self._folder = Path(file).absolute().parent if file else None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with _plainly(), self._writing.begin() as connection:
            yield SqlTransaction(connection)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with _plainly(), self.engine.connect() as connection:
            yield SqlTransaction(connection)

    def check(self) -> None:
        with _plainly(), self.engine.connect() as connection:
            connection.execute(text("SELECT 1 FROM campaigns WHERE id = 0"))

    def has_room(self) -> bool:
        return self._folder is None or shutil.disk_usage(self._folder).free >= self.least_room

    def close(self) -> None:
        self.engine.dispose()


@contextmanager
def _plainly() -> Iterator[None]:
    """Translate drivers' errors to those of the store. A violated constraint is a bug and is raised as it is."""
    try:
        yield
    except OperationalError as error:
        raise _told(error.orig) from error
    except sqlite3.OperationalError as error:  # from the driver's own cursor, see `bulk`
        raise _told(error) from error
    except DBAPIError as error:
        if error.connection_invalidated or type(error).__name__ == "InterfaceError":
            raise StoreGoneError(type(error.orig).__name__) from error
        raise
    except SQLAlchemyError as error:
        if type(error).__name__ == "TimeoutError":  # no connection of the pool is free
            raise StoreGoneError("no connection is free") from error
        raise


def _told(error: BaseException | None) -> Exception:
    code = getattr(error, "sqlstate", None) or next(iter(getattr(error, "args", ())), None)
    if code in _GIVEN_UP:
        return StoreConflictError(type(error).__name__)
    text = f"{getattr(error, 'sqlstate', '')} {error}".lower()
    return (StoreFullError if any(word in text for word in _FULL) else StoreGoneError)(type(error).__name__)
