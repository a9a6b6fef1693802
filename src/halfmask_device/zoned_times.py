"""Times in the time zone of a campaign: the instant of a time without an offset, and the times that it takes."""

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from halfmask_device.errors import ReadingError
from halfmask_device.instants import at, of_datetime
from halfmask_device.reading_times import moment


def aligned(when: int, zone: str, minutes: int) -> bool:
    """Return whether an instant is a whole multiple of ``minutes`` after the hour, in the campaign's time zone."""
    try:
        local = at(when).astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError):
        local = at(when)  # no time zones on this device: UTC here, and the service checks again
    return not (local.minute % minutes or local.second or local.microsecond)


def instant_of(time: str, zone: str | None, place: str) -> int:
    """Return microseconds since 1970; a time without an offset is read in the time zone ``zone``."""
    text, day = moment(time, place)
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
        of = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
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
