"""A wall clock that is checked against the monotonic clock and the database's clock.

What cannot be undone waits until the wall clock has run steadily for a while: closing periods, and deleting their
reports. A clock that was days ahead for a few seconds would otherwise close these days for good.
"""

import logging
import threading
import time

from halfmask.service.request import Clock, system_clock
from halfmask_device.instants import MINUTE, SECOND, Instant

log = logging.getLogger("halfmask.service")
STEP = MINUTE
"""A larger difference between two clocks is a step."""


def monotonic_clock() -> Instant:
    """Return a clock that is never set, in microseconds. Its zero is arbitrary."""
    return time.monotonic_ns() // 1000


class SteadyClock:
    """Returns the current instant when called, and notices if the wall clock has been set since.

    ``settle``  how long the clock must have run steadily since the start and since any step
    ``steps``   (attribute) number of steps seen

    A step is a change of more than `STEP` between the wall clock and the monotonic clock within ``settle``. Slower
    changes are how a time server corrects a clock. The clock is also not steady while it differs from the database's
    clock by more than `STEP`.
    """

    def __init__(self, settle: Instant, wall: Clock = system_clock, monotonic: Clock = monotonic_clock) -> None:
        self.settle, self._wall, self._monotonic = settle, wall, monotonic
        self.steps, self._differs = 0, False
        self._lock = threading.Lock()
        self._since = self._compared = monotonic()
        self._offset = wall() - self._since

    def __call__(self) -> Instant:
        with self._lock:
            ticks, now = self._monotonic(), self._wall()
            moved = now - ticks - self._offset
            if abs(moved) > STEP:
                self.steps += 1
                self._since = ticks
                fields = {"seconds": round(moved / SECOND, 3), "settle_seconds": self.settle // SECOND}
                log.warning("the clock was set: no period closes until it has run steadily again", extra=fields)
            if abs(moved) > STEP or ticks - self._compared >= self.settle:
                self._offset, self._compared = now - ticks, ticks
            return now

    def compare(self, database: Instant | None) -> None:
        """Compare the wall clock with the database's clock, if it has one."""
        apart = 0 if database is None else self() - database
        with self._lock:
            differs = abs(apart) > STEP
            if differs:
                self._since = self._monotonic()
            if differs and not self._differs:
                fields = {"seconds": round(apart / SECOND, 3)}
                log.warning("the clock differs from the database's: no period closes until they agree", extra=fields)
            self._differs = differs

    def steady_for(self) -> Instant:
        """Return how long the clock has run steadily."""
        self()
        with self._lock:
            return self._monotonic() - self._since
