"""Private files: only the owner can read or write them. They are written completely or not at all."""

import os
import stat
import time
from contextlib import suppress
from glob import escape
from pathlib import Path

from halfmask_device.errors import RunError

PATIENCE = 60.0
"""Seconds after which a temporary file may be removed."""


def create_once(path: Path, content: bytes) -> None:
    """Write a private file atomically, unless it exists. Of several writers, the first wins."""
    temporary = _written_beside(path, content)
    try:
        with suppress(FileExistsError):
            os.link(temporary, path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def replace(path: Path, content: bytes) -> None:
    """Write a private file atomically, replacing an existing one."""
    temporary = _written_beside(path, content)
    try:
        temporary.replace(path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files of ``path`` that killed programs left.

    Those of a running program are kept for `PATIENCE` seconds, because the program may be about to rename them.
    """
    for each in path.parent.glob(f".{escape(path.name)}.*.part"):
        process = each.name.removeprefix(f".{path.name}.").partition("-")[0]
        with suppress(FileNotFoundError):
            if not _runs(process) or time.time() - each.stat().st_mtime > PATIENCE:
                each.unlink()


def _runs(process: str) -> bool:
    """Return whether a process with this number is running."""
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except OSError:
        return True
    return True


def private(path: Path) -> Path:
    """Return the path. Raise a RunError if another user owns the file or has access to it."""
    _check_owner(path, stat.S_IRWXG | stat.S_IRWXO, "can be read by others: chmod 600 it, and take it as known to them")
    return path


def own_folder(folder: Path) -> None:
    """Create the folder. Raise a RunError if other users can write in it, because they could replace the device's
    files.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    message = "can be written by others, who could swap its files: chmod 700 it, or take another"
    _check_owner(folder, stat.S_IWGRP | stat.S_IWOTH, message)


def _check_owner(path: Path, others: int, message: str) -> None:
    found = path.stat()
    if found.st_mode & others:
        raise RunError(f"{path} {message}", kind="private")
    if found.st_uid != os.geteuid():
        raise RunError(f"{path} belongs to another user: take a folder of your own", kind="owner")


def _written_beside(path: Path, content: bytes) -> Path:
    """Write a temporary file of mode 0600 in the folder of ``path``. It is on disk when this returns."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.part")
    with open(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return temporary


def _sync(folder: Path) -> None:
    """Make sure that the folder's entries are on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
