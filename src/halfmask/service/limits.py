"""Rate limits, each process its own: buckets that fill steadily and are emptied by requests."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from halfmask.service.refusal import Refusal

MOST_BUCKETS = 100_000


@dataclass(frozen=True)
class Limits:
    """How much is taken: requests a second of one token, joins a minute of one campaign; None is no limit."""

    requests_per_second: float | None = 100
    joins_per_minute: float | None = 1000
    waiting: int = 20_000
    """Requests that may wait for the writer before more are turned away."""
    streams: int = 1000
    """Event streams that may be open."""


class Buckets:
    """A bucket per key. It holds what one interval brings, so that a burst of that size is taken."""

    def __init__(
        self, name: str, most: float | None, seconds: float, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self.name, self.most, self.rate, self.timer = name, most, (most or 0) / seconds, timer
        self.holds = max(1.0, most or 0)  # one at least, or nothing could ever be taken
        self.unit = "second" if seconds == 1 else "minute"
        self._left: OrderedDict[object, tuple[float, float]] = OrderedDict()

    def take(self, key: object, dropped: str) -> None:
        """Take one, or refuse with a 429 that says which limit it was, what was dropped and when to come back."""
        if self.most is None:
            return
        now = self.timer()
        left, since = self._left.pop(key, (self.holds, now))
        left = min(self.holds, left + (now - since) * self.rate)
        if left < 1:
            self._left[key] = (left, now)
            wait = max(1, math.ceil((1 - left) / self.rate))  # as the header says it, in whole seconds
            when = f"come back in {wait} second{'s' * (wait > 1)}"
            message = f"more than {self.most:g} {self.name} a {self.unit}: {dropped}; {when}"
            raise Refusal(429, "rate_limited", message, self.name, after=wait)
        self._left[key] = (left - 1, now)
        if len(self._left) > MOST_BUCKETS:
            self._left.popitem(last=False)
