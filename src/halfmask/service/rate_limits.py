"""Rate limits, separate in each process: each is a bucket that fills steadily, and from which requests take."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from halfmask.service.refusal import Refusal

MOST_BUCKETS = 100_000


@dataclass(frozen=True)
class Limits:
    """The limits of the service: requests per second and token, joins per minute and campaign. None means no limit."""

    requests_per_second: float | None = 100
    joins_per_minute: float | None = 1000
    waiting: int = 20_000
    """Most requests that may wait for the writer; more are refused."""
    streams: int = 1000
    """Most event streams that may be open."""


class Buckets:
    """One bucket per key. It holds what one interval brings, so that a burst of that size is accepted."""

    def __init__(
        self, name: str, most: float | None, seconds: float, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self.name, self.most, self.rate, self.timer = name, most, (most or 0) / seconds, timer
        self.holds = max(1.0, most or 0)  # at least one, or nothing could ever be taken
        self.unit = "second" if seconds == 1 else "minute"
        self._left: OrderedDict[object, tuple[float, float]] = OrderedDict()

    def take(self, key: object, dropped: str) -> None:
        """Take one, or refuse with a 429 that says which limit was reached, what was dropped and when to come back."""
        if self.most is None:
            return
        now = self.timer()
        left, since = self._left.pop(key, (self.holds, now))
        left = min(self.holds, left + (now - since) * self.rate)
        if left < 1:
            self._left[key] = (left, now)
            wait = max(1, math.ceil((1 - left) / self.rate))  # in whole seconds, as in the header
            when = f"come back in {wait} second{'s' * (wait > 1)}"
            message = f"more than {self.most:g} {self.name} a {self.unit}: {dropped}; {when}"
            raise Refusal(429, "rate_limited", message, self.name, after=wait)
        self._left[key] = (left - 1, now)
        if len(self._left) > MOST_BUCKETS:
            self._left.popitem(last=False)
