"""The store: one database with its transactions. `prepare_database` makes or upgrades it, `open_store` opens it.

The service relies on four rules. A transaction is all or nothing, and on disk when ``transaction()`` has ended without
an error. ``lock`` lets one transaction at a time work on a campaign. Keys are unique. A reader sees what was committed.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, TimeoutError

from halfmask.errors import OptionError, RunError
from halfmask.service.refusal import Refusal
from halfmask.service.storage.campaign_rows import CampaignStatements
from halfmask.service.storage.cell_rows import CellStatements
from halfmask.service.storage.database_kinds import DATABASES, file_of, read_url
from halfmask.service.storage.identity_rows import IdentityStatements
from halfmask.service.storage.operator_rows import OperatorStatements
from halfmask.service.storage.period_rows import PeriodStatements
from halfmask.service.storage.repeat_rows import RepeatStatements
from halfmask.service.storage.report_rows import ReportStatements
from halfmask.service.storage.retention_rows import RetentionStatements
from halfmask.service.storage.split_rows import SplitStatements
from halfmask.service.storage.tables import newest_version, upgrade, version_of

T = TypeVar("T")
LEAST_ROOM = 64 * 2**20
"""Bytes that must be free on the disk of a SQLite file to take more: its log is merged into the file later."""
_GIVEN_UP = ("40P01", "40001", 1213)
"""Codes of PostgreSQL and MySQL for a deadlock that this transaction has lost."""
_FULL = ("full", "no space left", "53100")


class StoreGoneError(Refusal):
    """The store cannot be reached, or gave up for now. Nothing was written, and trying again may help."""

    def __init__(self) -> None:
        message = "the store cannot be reached; nothing was taken, send it again"
        super().__init__(503, "store_unavailable", message, after=1)


class StoreConflictError(StoreGoneError):
    """The store gave up a transaction in favour of another one (a deadlock). Trying again will do."""


class StoreFullError(Refusal):
    """The store is full. Nothing was written."""

    def __init__(self) -> None:
        super().__init__(507, "storage_full", "the disk of the service is nearly full; nothing was taken", after=60)


class Transaction(
    IdentityStatements,
    CampaignStatements,
    ReportStatements,
    CellStatements,
    PeriodStatements,
    OperatorStatements,
    RetentionStatements,
    RepeatStatements,
    SplitStatements,
):
    """Everything that is read or written together. The store begins and ends it."""


class Store:
    """One database; the engine's pool gives each thread its own connection.

    Its failures are `StoreGoneError` or `StoreFullError`.
    """

    def __init__(self, engine: Engine, least_room: int = LEAST_ROOM) -> None:
        self.engine, self.least_room = engine, least_room
        self._writing = engine.execution_options(writes=True)
        file = file_of(engine.url)
        self._folder = Path(file).absolute().parent if file else None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Read and write. Everything is on disk when the block ends; after an error nothing is."""
        with _plainly(), self._writing.begin() as connection:
            yield Transaction(connection, writes=True)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Read only, without waiting for those who write."""
        with _plainly(), self.engine.connect() as connection:
            yield Transaction(connection)

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Return the result of ``work`` in a transaction that only reads."""
        with self.reading() as tx:
            return work(tx)

    @property
    def one_writer(self) -> bool:
        """Return whether one transaction at a time can write."""
        return DATABASES[self.engine.dialect.name].one_writer

    def room(self) -> int | None:
        """Return the free bytes of the disk of a SQLite file; None if the database is elsewhere."""
        return None if self._folder is None else shutil.disk_usage(self._folder).free

    def has_room(self) -> bool:
        """Return whether there is room for more, as far as can be seen from here."""
        room = self.room()
        return room is None or room >= self.least_room

    def close(self) -> None:
        self.engine.dispose()


def prepare_database(url: str) -> tuple[Store, str | None]:
    """Make the tables, or bring them up to date. Return the store and the version that it had before."""
    parsed = read_url(url)
    file = file_of(parsed)
    if file is not None and not file.absolute().parent.is_dir():
        message = f"there is no folder {file.absolute().parent} for the database: make it first"
        raise OptionError(message, kind="folder", field="db")
    if file is not None:
        try:  # only its owner can read it. SQLite gives its log and its index the same rights
            file.touch(mode=0o600)
        except OSError as error:
            raise RunError(f"cannot make the database {file}: {error.strerror or error}", kind="database") from error
    engine = DATABASES[parsed.get_backend_name()].engine(parsed)
    with _reached("open"):
        before = version_of(engine)
    _assert_durable(engine)
    with _reached("make the tables of"), engine.execution_options(writes=True).begin() as connection:
        upgrade(connection)
    return Store(engine), before


def open_store(url: str, least_room: int = LEAST_ROOM) -> Store:
    """Return the store of a prepared database. Raise OptionError if its file is missing or its tables are outdated."""
    parsed = read_url(url)
    file = file_of(parsed)
    if file is not None and not file.exists():
        message = f"there is no database {file}: make it with 'halfmask serve', `init` and this `db`"
        raise OptionError(message, kind="missing")
    engine = DATABASES[parsed.get_backend_name()].engine(parsed)
    with _reached("open"):
        version = version_of(engine)
    if version != newest_version():
        engine.dispose()
        state = "is not initialised" if version is None else f"has tables of version {version}"
        shown = parsed.render_as_string(hide_password=True)
        message = f"the database {shown} {state}: run 'halfmask serve' with `init` and the same `db` once"
        raise OptionError(message, kind="version")
    _assert_durable(engine)
    return Store(engine, least_room)


def _assert_durable(engine: Engine) -> None:
    """Raise RunError if the database acknowledges before it has written to disk."""
    backend = engine.url.get_backend_name()
    database = DATABASES[backend]
    with _reached("open"), engine.connect() as connection:
        durable = database.durable(connection)
    if not durable:
        message = f"the {backend} server acknowledges before it has written to disk: set {database.durability}"
        raise RunError(message, kind="durability")


@contextmanager
def _reached(work: str) -> Iterator[None]:
    """Translate a driver's error to one line of its message, without the statement and its values."""
    try:
        yield
    except DBAPIError as error:
        headline = type(error.orig).__name__
        with suppress(IndexError):
            headline = str(error.orig).splitlines()[0][:200]
        raise RunError(f"cannot {work} the database: {headline}; check `db`", kind="database") from error


@contextmanager
def _plainly() -> Iterator[None]:
    """Translate drivers' errors to those of the store.

    A violated constraint is a bug, so its error is not translated.
    """
    try:
        yield
    except (OperationalError, sqlite3.OperationalError) as error:  # the latter from the driver's own cursor in `Sqlite`
        raise _store_error(getattr(error, "orig", error)) from error
    except (InterfaceError, TimeoutError) as error:  # the latter if no connection of the pool is free
        raise StoreGoneError from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise StoreGoneError from error
        raise


def _store_error(error: BaseException | None) -> Exception:
    code = getattr(error, "sqlstate", None) or next(iter(getattr(error, "args", ())), None)
    if code in _GIVEN_UP:
        return StoreConflictError()
    message = f"{getattr(error, 'sqlstate', '')} {error}".lower()
    return StoreFullError() if any(word in message for word in _FULL) else StoreGoneError()
