"""A file of readings that was dropped on the page: kept in a temporary folder, and taken through all steps there."""

import shutil
import sys
import tempfile
from collections.abc import Callable
from io import BufferedIOBase
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Protocol

from halfmask.errors import HalfmaskError, OptionError

PIECE = 1 << 20
MOST_NAME = 80


class MakeResults(Protocol):
    """Makes a folder of results from a file of readings; ``advance`` receives the step in words, and its share."""

    def __call__(self, readings: Path, folder: Path, advance: Callable[[str, float], None]) -> None: ...


class DroppedFile:
    """One file at a time. Its copy is deleted when it was read; the results stay as long as the server runs."""

    def __init__(self, results: MakeResults, done: Callable[[Path], None]) -> None:
        self._results, self._done = results, done
        self._lock = Lock()
        self._state: dict[str, Any] = {"state": "waiting"}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Delete the results."""
        if self._folder is not None:
            self._folder.cleanup()

    def progress(self) -> dict[str, Any]:
        """Return the state: ``waiting``, ``working`` with step and share, ``done``, or ``failed`` with the reason."""
        return dict(self._state)

    def take(self, name: str, body: BufferedIOBase, length: str | None) -> None:
        """Copy a file and start to work on it. Raise an OptionError if another is being worked on."""
        if length is None or not length.isdecimal() or int(length) == 0:
            raise OptionError("the file is empty: drop one with readings", kind="empty")
        with self._lock:
            if self._state["state"] == "working":
                raise OptionError("another file is being read: wait for it", kind="busy")
            self._state = {"state": "working", "step": "copying the file", "share": 0.0}
        self.close()
        self._folder = tempfile.TemporaryDirectory(prefix="halfmask-")
        readings = Path(self._folder.name) / "dropped" / _plain(name)
        readings.parent.mkdir()
        left = int(length)
        with readings.open("wb") as target:
            while left and (piece := body.read(min(PIECE, left))):
                target.write(piece)
                left -= len(piece)
        if left:
            self._state = {"state": "failed", "error": "the file did not arrive whole: drop it again"}
            return
        Thread(target=self._work, args=(readings,), daemon=True).start()

    def _work(self, readings: Path) -> None:
        folder = readings.parent.parent / "results"
        try:
            folder.mkdir()
            self._results(readings, folder, self._advance)
            self._done(folder)
            self._state = {"state": "done"}
        except HalfmaskError as error:
            self._state = {"state": "failed", "error": str(error).replace(str(readings), readings.name)}
        except Exception as error:  # the edge: the page says it in one line
            print(f"halfmask: {readings.name}: unexpected {type(error).__name__}: {error}", file=sys.stderr)
            self._state = {"state": "failed", "error": f"unexpected {type(error).__name__}"}
        finally:
            shutil.rmtree(readings.parent, ignore_errors=True)

    def _advance(self, step: str, share: float) -> None:
        self._state = {"state": "working", "step": step, "share": min(max(share, 0.0), 1.0)}


def _plain(name: str) -> str:
    """Return a file's name without folders and without characters that a path could misread."""
    short = "".join(each if each.isalnum() or each in "-_. " else "_" for each in name)[-MOST_NAME:].lstrip(". ")
    return short or "readings.csv"
