"""The clock of the service."""

import time
from collections.abc import Callable

from halfmask_device.instants import Instant

Clock = Callable[[], Instant]
"""Returns the current instant. It is read once per request. Tests and simulations pass another clock."""
LATEST = 253_370_764_800_000_000
"""The beginning of the year 9999, the last year that calendars know."""


def system_clock() -> Instant:
    return time.time_ns() // 1000
