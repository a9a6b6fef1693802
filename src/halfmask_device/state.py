"""What a device remembers: its secret, and the noise it has drawn, so that a retry never hands out a second draw.

    noise.sqlite   key = BLAKE2b(sensor, time, lattice value), noise, seal = BLAKE2b(key, noise), under the secret
    secret         32 bytes of the operating system's
    terms.json     what `halfmask_device.terms` keeps

All is secret: noise and report together give the reading. No reading and no time is in it. Files are made in the order
empty store, secret, terms, each at once and whole, so that a folder that has lost one of them is recognised.
"""

import hashlib
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from halfmask_device.errors import FileFormatError, RunError

SECRET_BYTES = 32
HASH_BYTES = 16
TERMS = "terms.json"
TABLE = "CREATE TABLE IF NOT EXISTS noise (key BLOB PRIMARY KEY, noise TEXT NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID"
PATIENCE = 60.0
"""Seconds to wait while another process writes."""
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
_WAY_OUT = "bring the folder back from a copy, or begin a new one and never mask again what was reported from this one"


class State:
    """The memory of one device, in a folder that nobody else may read; several processes may use it at once."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._store, secret = self.folder / "noise.sqlite", self.folder / "secret"
        with _plainly(self.folder):
            if not secret.exists():
                self._begin(secret)
            self._secret = _private(secret).read_bytes()
            if len(self._secret) != SECRET_BYTES:
                raise FileFormatError(f"{secret} is damaged (it has {len(self._secret)} bytes): {_WAY_OUT}")
            self._check()

    def key(self, sensor: str, time: str, steps: int) -> bytes:
        """What the noise of a reading is kept under; without the secret it tells nothing of the reading."""
        parts = (part.encode("utf-8", "surrogateescape") for part in (sensor, time, str(steps)))
        return self._hash(b"key", *parts)

    def noise(self, keys: Sequence[bytes], draws: Callable[[int], list[int]]) -> list[int]:
        """The noise that each key has, drawn now where it has none; on disk before it is returned.

        The first draw for a key stays: of two processes that draw for it at once, both return the one stored first.
        """
        with _plainly(self.folder), closing(self._connect()) as store:
            known = self._known(store, keys)
            new = [key for key in dict.fromkeys(keys) if key not in known]
            if new:
                drawn = [(key, str(psi)) for key, psi in zip(new, draws(len(new)), strict=True)]
                store.execute("BEGIN IMMEDIATE")
                rows = [(key, psi, self._seal(key, psi)) for key, psi in drawn]
                store.executemany("INSERT OR IGNORE INTO noise VALUES (?, ?, ?)", rows)
                store.execute("COMMIT")
                known |= self._known(store, new)
        return [known[key] for key in keys]

    def _known(self, store: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, int]:
        found: dict[bytes, int] = {}
        for start in range(0, len(keys), 500):  # SQLite's least limit of parameters is 999
            part = keys[start : start + 500]
            marks = ",".join("?" * len(part))
            rows = store.execute(f"SELECT key, noise, seal FROM noise WHERE key IN ({marks})", part)
            found.update((key, self._unsealed(key, psi, seal)) for key, psi, seal in rows)
        return found

    def _hash(self, purpose: bytes, *parts: bytes) -> bytes:
        digest = hashlib.blake2b(key=self._secret, digest_size=HASH_BYTES, person=purpose)
        for part in parts:
            digest.update(len(part).to_bytes(8, "big") + part)
        return digest.digest()

    def _seal(self, key: bytes, psi: str) -> bytes:
        return self._hash(b"seal", key, psi.encode())

    def _unsealed(self, key: bytes, psi: str, seal: bytes) -> int:
        """The noise, if it is what this secret's device drew: SQLite itself does not notice a changed byte."""
        if not isinstance(psi, str) or seal != self._seal(key, psi):
            raise FileFormatError(f"{self._store} is damaged, or its secret is another's: {_WAY_OUT}")
        return int(psi)

    def _begin(self, secret: Path) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self._store, os.O_CREAT | os.O_RDWR, 0o600))
        with closing(self._connect()) as store:
            store.execute(TABLE)
            used = store.execute("SELECT 1 FROM noise LIMIT 1").fetchone() or (self.folder / TERMS).exists()
        if used and not secret.exists():  # asked last, since another process may have begun meanwhile
            raise FileFormatError(f"{secret} is missing, but the device was in use: {_WAY_OUT}")
        create_once(secret, os.urandom(SECRET_BYTES))

    def _check(self) -> None:
        if not self._store.exists():
            raise FileFormatError(f"{self._store} is missing, but the device has a secret: {_WAY_OUT}")
        _private(self._store)
        with closing(self._connect()) as store:
            for row in store.execute("SELECT key, noise, seal FROM noise LIMIT 1"):
                self._unsealed(*row)
            verdict = store.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise FileFormatError(f"{self._store} is damaged ({verdict}): {_WAY_OUT}")

    def _connect(self) -> sqlite3.Connection:
        """A connection for one task: none is kept, so none crosses a fork or a thread."""
        address = self._store.absolute().as_uri() + "?mode=rw"
        store = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)
        store.execute("PRAGMA synchronous = EXTRA")  # a report must not outlive its noise, not even a loss of power
        return store


def create_once(path: Path, content: bytes) -> None:
    """Write a private file that is whole or absent, unless there is one: of several writers the first wins."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        write_private(temporary, content)
        with suppress(FileExistsError):
            os.link(temporary, path)
        sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_private(path: Path, content: bytes) -> None:
    """A new file of mode 0600, on disk when this returns."""
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _private(path: Path) -> Path:
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise RunError(f"{path} can be read by others: chmod 600 it, and take it as known to them")
    return path


@contextmanager
def _plainly(folder: Path) -> Iterator[None]:
    """Turn what SQLite and the system say into errors that name the folder."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:  # the rest of the code tells the kind
            raise FileFormatError(f"the state in {folder} is damaged ({error}): {_WAY_OUT}") from error
        raise RunError(f"the state in {folder} cannot be used ({error}): nothing was reported") from error
    except OSError as error:
        raise RunError(f"the state in {folder} cannot be used ({error.strerror or error})") from error
