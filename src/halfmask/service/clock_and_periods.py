"""The clock, units of time in instants, and the calendar that divides time into periods.

Instants are defined by the protocol in `halfmask_device.instants`. The periods of a campaign are hours, days, weeks,
months or years in the campaign's time zone. They partition time.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from halfmask.service.refusal import unfit
from halfmask_device.instants import EPOCH, Instant, of_datetime

Clock = Callable[[], Instant]
"""Returns the current instant. It is read once per request. Tests and simulations pass another clock."""

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 86_400 * SECOND
LATEST = 253_370_764_800_000_000
"""The beginning of the year 9999, the last year that calendars know."""


def system_clock() -> Instant:
    return time.time_ns() // 1000


KINDS = ("hour", "day", "week", "month", "year")
HOUR = 60 * MINUTE


@dataclass(frozen=True)
class Span:
    """One period: its name and its range, begins <= instant < ends."""

    key: str
    begins: Instant
    ends: Instant


_zones = lru_cache(maxsize=1)(available_timezones)


class Calendar:
    """Divides time into periods. A day runs from one local midnight to the next: 23 or 25 hours when clocks change.

    If midnight is skipped, the day begins at the instant of the change. Hours are UTC hours in every zone, because
    local hours are not all equally long; their names say so ("2026-11-16T13Z").
    """

    def __init__(self, kind: str, zone: str) -> None:
        if kind not in KINDS:
            raise unfit("period", f"the period must be one of {', '.join(KINDS)}")
        if zone not in _zones():
            raise unfit("time_zone", "the time zone must be a name of the IANA database, like Europe/Dublin")
        self.kind, self.zone = kind, ZoneInfo(zone)
        self.span_at = lru_cache(maxsize=4096)(self._span_at)
        self._last = Span("", 0, 0)

    def span_of(self, instant: Instant) -> Span:
        """Return the period that holds an instant.

        The last period found is tried first, because reports mostly come in order of time.
        """
        last = self._last
        if not last.begins <= instant < last.ends:
            last = self._last = self._search(instant)
        return last

    def _search(self, instant: Instant) -> Span:
        if self.kind == "hour":
            return _hour(instant // HOUR * HOUR)
        day = (EPOCH + timedelta(microseconds=instant)).astimezone(self.zone).date()
        span = self.span_at(self._first_day(self._key(day)))
        while instant < span.begins:
            span = self.span_at(self._first_day(self._key(self._first_day(span.key) - timedelta(days=1))))
        while instant >= span.ends:
            span = self.span_at(self._next(self._first_day(span.key)))
        return span

    def spans(self, begins: Instant, ends: Instant) -> Iterator[Span]:
        """Yield the periods that overlap [begins, ends), in order. A day that the time zone skipped is left out."""
        while begins < ends:
            span = self.span_of(begins)
            yield span
            begins = span.ends

    def named(self, key: str) -> Span | None:
        """Return the period of this name, or None if the calendar does not have it."""
        try:
            if self.kind == "hour":
                span = _hour(of_datetime(datetime.fromisoformat(key)) // HOUR * HOUR)
            else:
                span = self.span_at(self._first_day(key))
        except (ValueError, OverflowError, TypeError, IndexError):
            return None
        return span if span.key == key and span.begins < span.ends else None

    def number_of(self, span: Span) -> int:
        """Return the period's number: the next period has the next number. A day that was skipped has one too."""
        if self.kind == "hour":
            return span.begins // HOUR
        first = self._first_day(span.key)
        if self.kind in ("day", "week"):
            return first.toordinal() // (7 if self.kind == "week" else 1)
        return 12 * first.year + first.month if self.kind == "month" else first.year

    def _first_day(self, key: str) -> date:
        """Return the first local day of the period with a name that this calendar gives."""
        numbers = [int(part) for part in re.findall(r"\d+", key)]
        if self.kind == "week":
            return date.fromisocalendar(numbers[0], numbers[1], 1)
        return date(*[*numbers, 1, 1][:3])

    def _span_at(self, first: date) -> Span:
        """Return the period whose first local day is ``first``."""
        return Span(self._key(first), self._midnight(first), self._midnight(self._next(first)))

    def _midnight(self, day: date) -> Instant:
        return of_datetime(datetime(day.year, day.month, day.day, tzinfo=self.zone))

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


def _hour(begins: Instant) -> Span:
    moment = EPOCH + timedelta(microseconds=begins)
    return Span(f"{moment:%Y-%m-%dT%H}Z", begins, begins + HOUR)
