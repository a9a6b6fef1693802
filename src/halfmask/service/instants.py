"""Units of time in instants, and the clock. Instants themselves are the protocol's: `halfmask_device.instants`."""

import time
from collections.abc import Callable

from halfmask_device.instants import Instant

Clock = Callable[[], Instant]
"""Gives the instant of now. It is read once a request, and tests and simulations bring their own."""

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 86_400 * SECOND
LATEST = 253_370_764_800_000_000
"""Year 9999: the last year that calendars know."""


def system_clock() -> Instant:
    return time.time_ns() // 1000
