"""Times of readings: normalise their text, find the day whose key masks them, and convert them from a time zone."""

import re
from datetime import UTC, date, datetime, tzinfo

from halfmask_device.errors import ReadingError
from halfmask_device.instants import at, of_datetime

_CLOCK = re.compile(
    r"\d{1,2}[:.h]\d\d([:.]\d\d([.,]\d+)?)?\s*([ap]\.?m\.?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII | re.IGNORECASE
)
_EPOCH = date(1970, 1, 1).toordinal()
UNDATED = -(1 << 15)
"""The day number of times whose date cannot be parsed."""
LAST = 1 << 16
"""The number of days from 1970 for which a device has keys: up to the year 2149."""
_DATE = 10
"""Number of characters of a date, like 2026-11-16."""
_MEMO = 1 << 17
"""Largest number of cached times of day. A day has 86,400 seconds."""
_days: dict[str, int] = {}
_clocks: dict[str, str] = {}


def normalized_time(text: str, place: str = "the time") -> tuple[str, int]:
    """Return a time in normalised form and its day since 1970. If it has an offset, both are in UTC.

    Accepted are ISO 8601, and seconds or milliseconds since 1970 (10 or 13 digits). Text without a valid date is
    unchanged, on the day `UNDATED`. Raise a ReadingError for a time of day without a date, because it recurs every day.
    """
    day, clock = _days.get(text[:_DATE]), _clocks.get(text[_DATE:])
    if day is not None and clock is not None:
        return text[:_DATE] + clock, day
    stripped = text.strip()
    if stripped.isdigit() and stripped.isascii() and len(stripped) in (10, 13):
        seconds = int(stripped) / (1 if len(stripped) == 10 else 1000)
        found = datetime.fromtimestamp(seconds, UTC)
    else:
        try:
            found = datetime.fromisoformat(stripped)
        except ValueError:
            return _undated(stripped, place)
    if found.tzinfo is not None:
        try:
            found = found.astimezone(UTC)
        except OverflowError as error:
            raise ReadingError(
                f"{place} is beyond the calendar: mend it", kind="calendar", place=place.partition(":")[0]
            ) from error
    day = found.toordinal() - _EPOCH
    if not 0 <= day < LAST:
        raise ReadingError(
            f"{place} lies before 1970 or after 2149, for which a device has no key: mend it",
            kind="calendar",
            place=place.partition(":")[0],
        )
    _remember(text, found.isoformat(), day)
    return found.isoformat(), day


def _remember(text: str, spelled: str, day: int) -> None:
    """Cache date and time of day separately, so that any combination of cached parts need not be parsed.

    This is valid only if normalising does not change the date: without an offset, or with that of UTC.
    """
    date_, clock = text[:_DATE], text[_DATE:]
    apart = spelled[:_DATE] == date_ and clock[1:9] == spelled[_DATE + 1 :][:8] and clock[9:] in ("", "Z", "+00:00")
    if apart and len(_days) < LAST and len(_clocks) < _MEMO:
        _days[date_], _clocks[clock] = day, spelled[_DATE:]


def _undated(stripped: str, place: str) -> tuple[str, int]:
    if not stripped:
        raise ReadingError(
            f"{place} is missing, and without one a retry looks like another reading",
            kind="missing",
            place=place.partition(":")[0],
        )
    if _CLOCK.fullmatch(stripped):
        raise ReadingError(
            f"{place} is a time of day, which comes again every day, so it names no single reading: "
            "write date and time, like 2026-11-16T00:30:00Z",
            kind="time_of_day",
            place=place.partition(":")[0],
        )
    return stripped, UNDATED


def day_text(day: int) -> str:
    """Format a day since 1970 as a date; ``undated`` for `UNDATED`."""
    return "undated" if day == UNDATED else date.fromordinal(day + _EPOCH).isoformat()


def day_of(text: str) -> int:
    """Parse a date like 2026-11-16 to days since 1970."""
    return date.fromisoformat(text).toordinal() - _EPOCH


def time_zone(name: str) -> tzinfo:
    """Return a time zone by name. Raise a KeyError or a ValueError if the device does not have it."""
    from zoneinfo import ZoneInfo  # here, since masking without a campaign does not need it

    try:
        return ZoneInfo(name)
    except OSError as error:  # a folder of zones, such as Europe
        raise KeyError(name) from error


def aligned(when: int, zone: str, minutes: int) -> bool:
    """Return whether an instant is a multiple of ``minutes`` after the full hour, in this time zone."""
    try:
        local = at(when).astimezone(time_zone(zone))
    except (KeyError, ValueError):
        local = at(when)  # no time zones on this device: UTC here, and the service checks again
    return not (local.minute % minutes or local.second or local.microsecond)


def instant_of(time: str, zone: str | None, place: str) -> int:
    """Parse a time to microseconds since 1970. Without an offset, it is in the time zone ``zone``."""
    text, day = normalized_time(time, place)
    found = datetime.fromisoformat(text) if day >= 0 else None
    if found is None:
        raise ReadingError(
            f"{place} cannot be read: write it like 2026-11-16T00:30:00Z", kind="time", place=place.partition(":")[0]
        )
    if found.tzinfo is None:
        found = _local(found, zone, place)
    return of_datetime(found)


def _local(found: datetime, zone: str | None, place: str) -> datetime:
    if zone is None:  # read in each campaign's zone it would become two times, and one reading would be masked twice
        raise ReadingError(
            f"{place} has no offset, and the campaigns of this device differ in time zone: add one, like Z",
            kind="offset",
            place=place.partition(":")[0],
        )
    try:
        of = time_zone(zone)
    except (KeyError, ValueError) as error:
        raise ReadingError(
            f"{place} has no offset, and this device has no time zones: add one, like Z",
            kind="offset",
            place=place.partition(":")[0],
        ) from error
    either = [found.replace(tzinfo=of, fold=fold) for fold in (0, 1)]
    if either[0].utcoffset() != either[1].utcoffset():
        raise ReadingError(
            f"{place} is one that comes twice or never, as clocks change: add its offset",
            kind="twice",
            place=place.partition(":")[0],
        )
    return either[0]
