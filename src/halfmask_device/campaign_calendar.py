"""The division of time into the periods of a campaign.

Periods are quarters of an hour, half-hours, hours, days, weeks, months or years in the campaign's time zone. Service
and device use the same calendar, so that they add up the same readings.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache

from halfmask_device.instants import HOUR, MINUTE, Instant, at, of_datetime
from halfmask_device.reading_times import time_zone

LENGTHS = {"quarter_hour": 15 * MINUTE, "half_hour": 30 * MINUTE, "hour": HOUR}
"""Lengths of the periods that are shorter than a day."""
KINDS = (*LENGTHS, "day", "week", "month", "year")


@dataclass(frozen=True)
class Span:
    """One period: its name, and its range begins <= instant < ends."""

    key: str
    begins: Instant
    ends: Instant


class Calendar:
    """Divides time into periods. Raises a KeyError or a ValueError if the kind or the time zone is unknown.

    A day lasts from one local midnight to the next: 23 or 25 hours when clocks change. If midnight is skipped, the day
    begins when the clock changes. Hours and shorter periods are those of UTC in every zone, because local hours are not
    all equally long. Their names end in Z: "2026-11-16T13Z", "2026-11-16T1330Z".
    """

    def __init__(self, kind: str, zone: str) -> None:
        if kind not in KINDS:
            raise ValueError(kind)
        self.kind, self.length = kind, LENGTHS.get(kind, 0)
        self._zone = None if self.length else time_zone(zone)
        self.span_at = lru_cache(maxsize=4096)(self._span_at)
        self._last = Span("", 0, 0)

    def span_of(self, instant: Instant) -> Span:
        """Return the period that contains an instant.

        The last result is tried first, because most reports come in order of time.
        """
        last = self._last
        if not last.begins <= instant < last.ends:
            last = self._last = self._search(instant)
        return last

    def begins_at(self, instant: Instant) -> bool:
        """Return whether a period begins at an instant; False outside the years that `datetime` supports."""
        try:
            return self.span_of(instant).begins == instant
        except (OverflowError, ValueError):
            return False

    def _search(self, instant: Instant) -> Span:
        if self.length:
            return self._short(instant // self.length)
        day = at(instant).astimezone(self._zone).date()
        span = self.span_at(self._first_day(self._key(day)))
        while instant < span.begins:
            span = self.span_at(self._first_day(self._key(self._first_day(span.key) - timedelta(days=1))))
        while instant >= span.ends:
            span = self.span_at(self._next(self._first_day(span.key)))
        return span

    def spans(self, begins: Instant, ends: Instant) -> Iterator[Span]:
        """Yield the periods that overlap [begins, ends), in order, without days that the time zone skipped."""
        while begins < ends:
            span = self.span_of(begins)
            yield span
            begins = span.ends

    def named(self, key: str) -> Span | None:
        """Return the period of this name; None if there is none."""
        try:
            if self.length:
                span = self._short(of_datetime(datetime.fromisoformat(key)) // self.length)
            else:
                span = self.span_at(self._first_day(key))
        except (ValueError, OverflowError, TypeError, IndexError):
            return None
        return span if span.key == key and span.begins < span.ends else None

    def number_of(self, span: Span) -> int:
        """Return the period's number. Successive periods have successive numbers; a skipped day has one too."""
        if self.length:
            return span.begins // self.length
        first = self._first_day(span.key)
        if self.kind in ("day", "week"):
            return first.toordinal() // (7 if self.kind == "week" else 1)
        return 12 * first.year + first.month if self.kind == "month" else first.year

    def _short(self, number: int) -> Span:
        """Return the period with this number, for periods shorter than a day."""
        begins = number * self.length
        form = "%Y-%m-%dT%HZ" if self.kind == "hour" else "%Y-%m-%dT%H%MZ"
        return Span(at(begins).strftime(form), begins, begins + self.length)

    def _first_day(self, key: str) -> date:
        """Return the first local day of the period with this name."""
        numbers = [int(part) for part in re.findall(r"\d+", key)]
        if self.kind == "week":
            return date.fromisocalendar(numbers[0], numbers[1], 1)
        return date(*[*numbers, 1, 1][:3])

    def _span_at(self, first: date) -> Span:
        """Return the period whose first local day is ``first``."""
        return Span(self._key(first), self._midnight(first), self._midnight(self._next(first)))

    def _midnight(self, day: date) -> Instant:
        return of_datetime(datetime(day.year, day.month, day.day, tzinfo=self._zone))

    def _next(self, first: date) -> date:
        if self.kind == "month":
            return (first.replace(day=28) + timedelta(days=4)).replace(day=1)
        if self.kind == "year":
            return first.replace(year=first.year + 1)
        return first + timedelta(days=7 if self.kind == "week" else 1)

    def _key(self, first: date) -> str:
        if self.kind == "week":
            year, week, _ = first.isocalendar()
            return f"{year:04}-W{week:02}"
        return first.isoformat()[: {"day": 10, "month": 7, "year": 4}[self.kind]]
