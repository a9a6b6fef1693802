"""Periods, for which aggregates are computed, and the division of time into them.

Times are microseconds of local wall-clock time since 1970-01-01T00:00, as in a Panel.
"""

import re
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import IntArray
from halfmask.errors import OptionError

SECOND = 1_000_000
DAY = 86_400 * SECOND
WEEK = 7 * DAY
MONDAY = -3 * DAY  # 1970-01-01 was a Thursday

SHORT = {"quarter_hour": "15m", "half_hour": "30m", "hour": "1h"}
NAMES = {**SHORT, "day": "1d", "week": "1w", "month": "month", "year": "year"}
"""Names of periods. Campaigns use the same names."""
UNITS = {"s": SECOND, "m": 60 * SECOND, "min": 60 * SECOND, "h": 3600 * SECOND, "d": DAY, "w": WEEK}
CALENDAR = {"month": "M", "year": "Y"}

SLOTS = 48  # readings a chunk holds at most: sums of 2^slot stay exact in a double


@dataclass(frozen=True)
class Period:
    """A length of time that starts on the hour, at midnight, on a Monday or on the first: ``30m``, ``day``, ``month``.

    A period of fixed length starts at ``origin + k * base``. A month or year consists of days (``base`` is a day).
    """

    text: str
    base: int
    origin: int
    calendar: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Period":
        """Parse a name such as ``half_hour``, ``day`` or ``month``, or a number with a unit: ``30m``, ``6h``."""
        plain = text.strip().lower()
        if plain in CALENDAR:
            return cls(plain, DAY, 0, CALENDAR[plain])
        found = re.fullmatch(r"(\d+)\s*(s|m|min|h|d|w)", NAMES.get(plain, plain))
        if not found or int(found[1]) < 1:
            raise OptionError(
                f"period '{text}' is not a length of time: use {', '.join(NAMES)} or a number with a unit "
                "(30m, 15min, 6h, 2d)",
                field="period",
            )
        length = int(found[1]) * UNITS[found[2]]
        if length < DAY and DAY % length:
            raise OptionError(
                f"period '{text}' does not divide a day: use one that does, such as 15m, 30m, 1h or 6h", field="period"
            )
        if length > 1000 * WEEK:
            raise OptionError(f"period '{text}' is longer than 1000 weeks", field="period")
        return cls(plain, length, MONDAY if length % WEEK == 0 else 0)

    def chunk(self, step: int | None) -> int:
        """Return the length of the chunks in which a pass counts: they divide ``base`` evenly and have at most 48
        steps.

        If ``step`` is None, return ``base``.
        """
        if step is None or self.base <= SLOTS * step:
            return self.base
        parts = -(-self.base // (SLOTS * step))
        while self.base % parts:
            parts += 1
        return self.base // parts

    def start(self, times: IntArray) -> IntArray:
        """Return the start of each time's period."""
        if self.calendar:
            return (
                times.astype("datetime64[us]")
                .astype(f"datetime64[{self.calendar}]")
                .astype("datetime64[us]")
                .astype(np.int64)
            )
        return (times - self.origin) // self.base * self.base + self.origin

    def label(self, start: int) -> str:
        """Return a period's start as text."""
        moment = np.datetime64(int(start), "us")
        if self.calendar:
            return str(moment.astype(f"datetime64[{self.calendar}]"))
        return str(moment.astype("datetime64[D]" if self.base % DAY == 0 else "datetime64[s]")).replace("T", " ")
