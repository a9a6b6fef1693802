"""Numbers that the processes of a service count together, each in its own file in one folder.

A file is mapped into memory, so that counting costs no system call and what was counted survives `kill -9`. A record
is the length of its name, its value and its name. The length is written last: a reader meanwhile sees whole records.
"""

import mmap
import os
import struct
import threading
from collections import defaultdict
from pathlib import Path

WAITING = "halfmask_writer_waiting"
SETTLING = "halfmask_clocks_settling"
STEPS = "halfmask_clock_steps_total"
NOW = frozenset({WAITING, SETTLING})
"""Numbers that say how things are now: they end with their process."""
SIZE = 2**24
"""Bytes of a file, of which the disk holds those that were written. Names beyond it are not counted."""
_LENGTH, _VALUE = struct.Struct("=Q"), struct.Struct("=d")
_HEAD = _LENGTH.size + _VALUE.size


class Counters:
    """The numbers of this process by name, and the sums over all processes.

    ``folder``  where the processes keep their files; None if there is one process
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder, self._end, self._lock = folder, 0, threading.Lock()
        self._places: dict[str, int] = {}
        if folder is None:
            self._memory = mmap.mmap(-1, SIZE)
            return
        file = os.open(folder / f"{os.getpid()}.counters", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.truncate(file, SIZE)
            self._memory = mmap.mmap(file, SIZE)
        finally:
            os.close(file)
        for name, place, _ in _records(self._memory):  # of an earlier process with this number
            self._places[name], self._end = place, place + _VALUE.size + _padded(name.encode())
        for name in NOW & self._places.keys():
            self.put(name, 0)

    def add(self, name: str, amount: float = 1.0) -> None:
        """Add to a number of this process."""
        with self._lock:
            place = self._place(name)
            if place is not None:
                (before,) = _VALUE.unpack_from(self._memory, place)
                _VALUE.pack_into(self._memory, place, before + amount)

    def put(self, name: str, value: float) -> None:
        """Set a number of this process."""
        with self._lock:
            place = self._place(name)
            if place is not None:
                _VALUE.pack_into(self._memory, place, value)

    def _place(self, name: str) -> int | None:
        """Return where a number is, and make its record if it is new; None if the file is full."""
        place = self._places.get(name)
        if place is None:
            raw, start = name.encode(), self._end
            if start + _HEAD + _padded(raw) > SIZE - _LENGTH.size:
                return None
            place = self._places[name] = start + _LENGTH.size
            self._memory[place + _VALUE.size : place + _VALUE.size + len(raw)] = raw
            _LENGTH.pack_into(self._memory, start, len(raw))
            self._end = start + _HEAD + _padded(raw)
        return place

    def totals(self) -> dict[str, float]:
        """Return the numbers of all processes together. Those that have ended still count, except in `NOW`."""
        found: defaultdict[str, float] = defaultdict(float)
        for name, _, value in _records(self._memory):
            found[name] += value
        for path in sorted(self._folder.glob("*.counters")) if self._folder else ():
            if path.stem == str(os.getpid()):
                continue
            ended = not Path(f"/proc/{path.stem}").exists()
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
                for name, _, value in _records(memory):
                    found[name] += 0.0 if ended and name in NOW else value
        return dict(found)


def _padded(raw: bytes) -> int:
    """Return the room that a name takes: values stay at multiples of 8 bytes, so that they are written at once."""
    return -(-len(raw) // 8) * 8


def _records(memory: mmap.mmap) -> list[tuple[str, int, float]]:
    """Return name, place and value of each record."""
    found, start = [], 0
    while start + _HEAD <= len(memory):
        (length,) = _LENGTH.unpack_from(memory, start)
        if not length:
            break
        place = start + _LENGTH.size
        raw = memory[place + _VALUE.size : place + _VALUE.size + length]
        found.append((raw.decode(), place, _VALUE.unpack_from(memory, place)[0]))
        start = place + _VALUE.size + _padded(raw)
    return found
