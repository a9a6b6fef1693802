"""The state folder of a device, which no other user may read or write. Processes and threads may share it.

    secret          the keys (`halfmask_device.secret`); a second copy lies next to the folder
    terms.json      the terms (`halfmask_device.terms`), sealed with the secret
    budget.json     the budgets (`halfmask_device.privacy_budget`), sealed likewise
    memory.sqlite   for each sensor, time and law a hash of the reported value; the number of reports per day; coarser
                    laws that a budget switched to; campaigns and tokens, masked reports and their receipts; for
                    campaigns of totals the readings of periods that have not ended; the two shares of split totals
                    until both services have answered for them; the latest state of a meter's registers

Noise is not stored, because it is derived from the secret. If the memory is lost or rolled back, every reading still
gets the same report under the same setting. What is lost is the detection of revisions and changed settings, and the
counts.
"""

import hmac
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from halfmask_device.errors import FileFormatError, OptionError, RunError
from halfmask_device.private_files import create_once, own_folder, private, remove_leftovers
from halfmask_device.random_bits import keyed
from halfmask_device.reading_times import day_of
from halfmask_device.secret import Keys, find_secret, places, store_secret

TERMS = "terms.json"
BUDGET = "budget.json"
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
CREATE TABLE IF NOT EXISTS gathered (campaign TEXT, period INTEGER, time INTEGER, value TEXT,
    PRIMARY KEY (campaign, period, time)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS shares (number INTEGER PRIMARY KEY, nonce BLOB NOT NULL, leader BLOB NOT NULL,
    helper BLOB NOT NULL, at_helper INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS registers (source TEXT PRIMARY KEY, plain TEXT NOT NULL) WITHOUT ROWID;
"""
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_MENDED = (
    "bring it back from a copy, or remove it: readings keep their reports, but campaigns must be joined again, what "
    "waited to be sent is lost, and counts and the notice of revisions begin again"
)


class State:
    """The state of one device in ``folder``. A missing device is created, unless ``create`` is False."""

    def __init__(self, folder: str | Path, *, create: bool = True) -> None:
        self.folder = Path(folder)
        self.budget = self.folder / BUDGET
        if not create and not holds_device(self.folder):
            raise OptionError(
                f"there is no device in {self.folder}: `state` is the folder that masked, or that joined",
                kind="missing",
            )
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
            self._synchronous = "NORMAL"  # after a power loss intact, without the last transactions
            with self.memory() as memory:
                verdict = memory.execute("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise FileFormatError(f"{self._store} is damaged ({verdict}): {_MENDED}", kind="damaged")

    def forget(self, before: int) -> None:
        """Erase the keys of all days before ``before``. Stored hashes of those days can no longer be checked.

        If the program is killed during the erasure, the next program that opens the folder completes it.
        """
        with self._plainly(), self.memory():  # a transaction, so that no other process stores an earlier link
            self.secret = self.secret.forget(before)
            store_secret(self.folder, self.secret)
            for path in places(self.folder):
                remove_leftovers(path)  # of programs that were killed: they may hold an earlier link
            self.keys = Keys(self.secret)

    def forget_before(self, date: str) -> None:
        """Call `forget` for the days before a date like 2026-11-16."""
        try:
            day = day_of(date)
        except ValueError as error:
            raise OptionError("`forget_before` is not a date: write it like 2026-11-16", kind="date") from error
        if day > time.time() // 86_400:
            raise OptionError(
                "`forget_before` lies in the future: nothing could be masked until then, for good", kind="future"
            )
        self.forget(day)

    @contextmanager
    def memory(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction. It is stored completely or not at all, and locks out other threads and processes."""
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
        """Yield this process's connection to one thread at a time. After a fork, the child process opens a new one."""
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
        connection.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
        connection.executescript(SCHEMA)
        return connection

    def durable(self) -> None:
        """From now on, wait until each transaction is on disk.

        The queue of reports needs this, because it is stored nowhere else.
        """
        self._synchronous = "FULL"
        with self._alone() as memory:
            memory.execute("PRAGMA synchronous = FULL")

    def wipe(self) -> None:
        """Empty the write-ahead log, which still contains erased data. Concurrent readers may delay this."""
        with self._alone() as memory:
            memory.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def fleeting(self) -> None:
        """From now on, do not wait for the disk, and lock out other processes.

        This is for simulated devices, which need not survive a power failure.
        """
        with self._alone() as memory:
            memory.execute("PRAGMA locking_mode = EXCLUSIVE")
            memory.execute("PRAGMA synchronous = OFF")
            memory.execute("PRAGMA journal_mode = MEMORY")

    def close(self) -> None:
        """Close the connection. It is opened again when needed."""
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self.close()

    def sealed(self, plain: dict[str, Any]) -> bytes:
        """Return the content of a JSON file with a seal: a keyed hash that proves that this device wrote it."""
        return (json.dumps({**plain, "seal": self._seal(plain)}, indent=2) + "\n").encode()

    def read_sealed(self, path: Path) -> dict[str, Any] | None:
        """Return the content of a sealed file; None if the file is missing.

        Raise a FileFormatError if this device did not write the content.
        """
        try:
            plain = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RunError(f"cannot read {path}: {error.strerror or error}", kind="read") from error
        except ValueError as error:
            raise FileFormatError(f"{path} is damaged ({error}): bring it back from a copy", kind="damaged") from error
        seal = plain.pop("seal", None) if isinstance(plain, dict) else None
        if not isinstance(seal, str) or not hmac.compare_digest(seal, self._seal(plain)):
            message = f"{path} was changed by somebody without this device's secret: bring it back from a copy"
            raise FileFormatError(message, kind="seal")
        return dict(plain)

    def _seal(self, plain: dict[str, Any]) -> str:
        return keyed(self.keys.seal, b"terms", json.dumps(plain, sort_keys=True).encode()).hex()

    def _in_use(self) -> bool:
        return holds_device(self.folder) and not any(path.exists() for path in places(self.folder))

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        """Convert errors of SQLite and the operating system to errors that name the folder."""
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:  # the higher bits are details
                raise FileFormatError(
                    f"{self.folder / MEMORY} is damaged ({error}): {_MENDED}", kind="damaged"
                ) from error
            raise RunError(
                f"the state in {self.folder} cannot be used ({error}): nothing was reported", kind="state"
            ) from error
        except OSError as error:
            raise RunError(
                f"the state in {self.folder} cannot be used ({error.strerror or error})", kind="state"
            ) from error


def holds_device(folder: Path) -> bool:
    """Return whether a device was created in a folder.

    If the folder was emptied, the copy of the secret next to it shows this.
    """
    return any(path.exists() for path in (folder / TERMS, folder / MEMORY, *places(folder)))


def can_begin(folder: Path) -> None:
    """Raise an error if a device cannot be created in a folder.

    Call this before joining a campaign. Otherwise the token would be lost.
    """
    if folder.is_dir():
        own_folder(folder)
        _not_of_old(folder)
    above = next(each for each in folder.absolute().parents if each.exists())
    for place in (above, folder):
        if place.exists() and not (place.is_dir() and os.access(place, os.W_OK | os.X_OK)):
            raise RunError(f"the state in {folder} cannot be begun: you cannot write in {place}", kind="state")


def _not_of_old(folder: Path) -> None:
    if (folder / "noise.sqlite").exists():
        raise FileFormatError(
            f"{folder} was made by a version that stored its noise: finish it with that", kind="version"
        )


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log. Retry if another process does the same, because SQLite then fails at once."""
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
    """Return the stored tags by slot; slots without a tag are left out."""
    found: dict[int, int] = {}
    for start in range(0, len(slots), 500):  # SQLite's least limit of parameters is 999
        part = slots[start : start + 500]
        found.update(memory.execute(f"SELECT slot, tag FROM seen WHERE slot IN ({','.join('?' * len(part))})", part))
    return found


def add_counts(memory: sqlite3.Connection, law: str, days: Iterable[tuple[int, int, int]]) -> None:
    """Add (day, reports, revisions) to the counts of a law."""
    memory.executemany(
        "INSERT INTO counts VALUES (?, ?, ?, ?) ON CONFLICT (day, law) DO UPDATE SET "
        "reports = reports + excluded.reports, revisions = revisions + excluded.revisions",
        [(day, law, reports, revisions) for day, reports, revisions in days],
    )
