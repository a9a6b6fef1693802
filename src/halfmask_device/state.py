"""What a device remembers, in a folder that nobody else may read or write. Processes and threads may share it.

    secret          the keys (`halfmask_device.secret`); the same file stands beside the folder
    terms.json      what `halfmask_device.terms` keeps, sealed by the secret
    limit.json      what `halfmask_device.limit` keeps, likewise
    memory.sqlite   for each sensor, time and law a hash of which value was reported; how many reports each day has;
                    coarser laws that a limit moved to; campaigns and tokens, masked reports and their receipts

Noise is not stored: it follows from the secret. The memory may be lost or rolled back without a second look at any
reading under the same setting; what is lost with it is the notice of revisions and of changed settings, and counts.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from halfmask_device.errors import FileFormatError, OptionError, RunError
from halfmask_device.private import create_once, own_folder, private
from halfmask_device.secret import WAY_OUT, Keys, find_secret, keep, places
from halfmask_device.times import day_of

TERMS = "terms.json"
LIMIT = "limit.json"
MEMORY = "memory.sqlite"
PATIENCE = 60.0
"""Seconds to wait while another process writes."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS seen (slot INTEGER PRIMARY KEY, tag INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS counts (day INTEGER, law TEXT, reports INTEGER, revisions INTEGER, PRIMARY KEY (day, law))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS moved (who TEXT, law TEXT, PRIMARY KEY (who, law)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS campaigns (id TEXT PRIMARY KEY, plain TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS queue (number INTEGER PRIMARY KEY AUTOINCREMENT, campaign TEXT, time TEXT, steps TEXT,
    setting TEXT, outcome TEXT, reward INTEGER, UNIQUE (campaign, time));
"""
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_MENDED = (
    "bring it back from a copy, or remove it: readings keep their reports, but campaigns must be joined again, what "
    "waited to be sent is lost, and counts and the notice of revisions begin again"
)


class State:
    """The memory of one device; a new one is begun where there is none, unless ``create`` says not to."""

    def __init__(self, folder: str | Path, *, create: bool = True) -> None:
        self.folder = Path(folder)
        self.limit = self.folder / LIMIT
        if not create and not holds_device(self.folder):
            raise OptionError(f"there is no device in {self.folder}: `state` is the folder that masked, or that joined")
        with self._plainly():
            own_folder(self.folder)
            _not_of_old(self.folder)
            self.secret = find_secret(self.folder, self._in_use)
            self.keys = Keys(self.secret)
            self._store = self.folder / MEMORY
            if not self._store.exists():
                create_once(self._store, b"")
            private(self._store)
            self._connection: sqlite3.Connection | None = None
            self._process, self._lock = os.getpid(), threading.RLock()
            self._synchronous = "NORMAL"  # whole after a loss of power, if a little behind
            with self.memory() as memory:
                verdict = memory.execute("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise FileFormatError(f"{self._store} is damaged ({verdict}): {_MENDED}")

    def forget(self, before: int) -> None:
        """Delete the keys of days before ``before``, and what is remembered of them stays unreadable hashes."""
        with self._plainly():
            self.secret = self.secret.forget(before)
            keep(self.folder, self.secret)
            self.keys = Keys(self.secret)

    def forget_before(self, date: str) -> None:
        """`forget` days before a date like 2026-11-16."""
        try:
            day = day_of(date)
        except ValueError as error:
            raise OptionError("`forget_before` is no date: write it like 2026-11-16") from error
        if day > time.time() // 86_400:
            raise OptionError("`forget_before` lies in the future: nothing could be masked until then, for good")
        self.forget(day)

    @contextmanager
    def memory(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is stored, or nothing. Locks keep other threads and processes out meanwhile."""
        with self._alone() as memory:
            memory.execute("BEGIN IMMEDIATE")
            try:
                yield memory
                memory.execute("COMMIT")
            except BaseException:
                if memory.in_transaction:
                    memory.execute("ROLLBACK")
                raise

    @contextmanager
    def _alone(self) -> Iterator[sqlite3.Connection]:
        """The connection of this process, for one thread at a time. One from before a fork is left to the parent."""
        if self._process != os.getpid():
            self._process, self._lock, self._connection = os.getpid(), threading.RLock(), None
        with self._lock, self._plainly():
            if self._connection is None:
                self._connection = self._open()
            yield self._connection

    def _open(self) -> sqlite3.Connection:
        where = self._store.absolute().as_uri() + "?mode=rw"
        connection = sqlite3.connect(where, timeout=PATIENCE, isolation_level=None, check_same_thread=False, uri=True)
        _log_ahead(connection)
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.executescript(SCHEMA)
        return connection

    def durable(self) -> None:
        """From here on every transaction is on disk when it ends: for what is queued, which nothing else holds."""
        self._synchronous = "FULL"
        with self._alone() as memory:
            memory.execute("PRAGMA synchronous = FULL")

    def fleeting(self) -> None:
        """From here on nothing is waited for, nor shared: for simulated devices, whose power does not fail."""
        with self._alone() as memory:
            memory.execute("PRAGMA locking_mode = EXCLUSIVE")
            memory.execute("PRAGMA synchronous = OFF")
            memory.execute("PRAGMA journal_mode = MEMORY")

    def close(self) -> None:
        """Give the store back; it opens again when it is needed."""
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self.close()

    def _in_use(self) -> bool:
        return holds_device(self.folder) and not any(path.exists() for path in places(self.folder))

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        """Turn what SQLite and the system say into errors that name the folder."""
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:  # the rest of the code tells the kind
                raise FileFormatError(f"{self.folder / MEMORY} is damaged ({error}): {_MENDED}") from error
            raise RunError(f"the state in {self.folder} cannot be used ({error}): nothing was reported") from error
        except OSError as error:
            raise RunError(f"the state in {self.folder} cannot be used ({error.strerror or error})") from error


def holds_device(folder: Path) -> bool:
    """Whether a device was begun there; of a folder that was emptied, the secret beside it tells."""
    return any(path.exists() for path in (folder / TERMS, folder / MEMORY, *places(folder)))


def can_begin(folder: Path) -> None:
    """Raise an error where no device could be begun: before a service is asked for a token, which would be lost."""
    if folder.is_dir():
        own_folder(folder)
        _not_of_old(folder)
    above = next(each for each in folder.absolute().parents if each.exists())
    for place in (above, folder):
        if place.exists() and not (place.is_dir() and os.access(place, os.W_OK | os.X_OK)):
            raise RunError(f"the state in {folder} cannot be begun: {place} is no folder that is yours to write in")


def _not_of_old(folder: Path) -> None:
    if (folder / "noise.sqlite").exists():
        raise FileFormatError(f"{folder} was made by a version that stored its noise: finish it with that")


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log. SQLite refuses at once while another process does so too: it is asked again."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def known_tags(memory: sqlite3.Connection, slots: Sequence[int]) -> dict[int, int]:
    """The tags of those slots that have one."""
    found: dict[int, int] = {}
    for start in range(0, len(slots), 500):  # SQLite's least limit of parameters is 999
        part = slots[start : start + 500]
        found.update(memory.execute(f"SELECT slot, tag FROM seen WHERE slot IN ({','.join('?' * len(part))})", part))
    return found


def add_counts(memory: sqlite3.Connection, law: str, days: Iterable[tuple[int, int, int]]) -> None:
    """Add (day, reports, revisions) to what is counted of a law."""
    memory.executemany(
        "INSERT INTO counts VALUES (?, ?, ?, ?) ON CONFLICT (day, law) DO UPDATE SET "
        "reports = reports + excluded.reports, revisions = revisions + excluded.revisions",
        [(day, law, reports, revisions) for day, reports, revisions in days],
    )


__all__ = ["MEMORY", "TERMS", "WAY_OUT", "State", "add_counts", "can_begin", "holds_device", "known_tags"]
