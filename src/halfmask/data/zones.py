"""The wall clocks of zones, in an engine's query or over an array.

In an hour that occurs twice, a reading of the second passing is placed a microsecond later. So both passings keep their
day and hour, and are not duplicates of each other.
"""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from halfmask.arrays import IntArray
from halfmask.data.day_parts import SECOND
from halfmask.data.engines.sql import to_instant, to_local
from halfmask.errors import OptionError

HOUR = 3_600_000_000
_YEARS = 130
_LOOKS = 10 * 86_400
"""Seconds between two looks at a clock: no zone has gone back and forth within ten days since 1970."""


def check_zone(tz: str) -> None:
    """Raise an error for a zone that is not in the time zone database."""
    try:
        ZoneInfo(tz)
    except (KeyError, ValueError, OSError) as error:
        raise OptionError(f"`tz` {tz!r} is not a time zone; write one such as Europe/Dublin or UTC") from error


def wall_clock(instant: str, tz: str) -> str:
    """Return an expression of the wall clock at an instant of UTC, in microseconds.

    ``tz`` may be an offset (+05:30).
    """
    if (ahead := _fixed(tz)) is not None:
        return f"(({instant}) + {ahead})"
    local = to_local(instant, tz)
    hours = second_passings(tz)
    if not hours:
        return local
    listed = ", ".join(map(str, hours))
    return f"({local} + CASE WHEN ({instant}) // {HOUR} IN ({listed}) THEN {SECOND} ELSE 0 END)"


def running_on(midnight: str, offset: str, tz: str) -> str:
    """Return an expression of a zone's wall clock at an offset in real time after midnight; both in microseconds."""
    return wall_clock(f"({to_instant(midnight, tz)} + ({offset}))", tz)


def wall_clocks(instants: IntArray, tz: str) -> IntArray:
    """Return `wall_clock` for an array of instants. Raise `pa.ArrowInvalid` for instants before 1970 or after 2099."""
    if (always := _fixed(tz)) is not None:
        return instants + always
    edges, ahead = _stretches(tz)
    if len(instants) and not (edges[0] <= instants.min() and instants.max() < edges[-1]):
        raise pa.ArrowInvalid("CSV conversion error: a time before 1970 or after 2099")
    found: IntArray = instants + ahead[np.searchsorted(edges, instants, "right") - 1]
    return found


def zone_of(tz: str) -> tzinfo:
    """Return a zone by its name, or a fixed offset (+05:30)."""
    ahead = _fixed(tz)
    return ZoneInfo(tz) if ahead is None else timezone(timedelta(microseconds=ahead))


def _fixed(tz: str) -> int | None:
    """Return by how many microseconds a fixed offset is ahead of UTC; None for the name of a zone."""
    if tz[0] not in "+-":
        return None
    return int(f"{tz[0]}1") * (60 * int(tz[1:3]) + int(tz[4:6])) * 60_000_000


@cache
def second_passings(tz: str) -> tuple[int, ...]:
    """Return the hours (since 1970, in UTC) that a zone's clock shows for the second time, up to 2100."""
    back = (after for after, before in _changes(tz) if ahead_of_utc(tz, after) < before)
    return tuple(after // 3600 for after in back)


@cache
def _stretches(tz: str) -> tuple[IntArray, IntArray]:
    """Return instants from 1970, and by how many microseconds a clock is ahead of UTC from each instant to the next."""
    again = {hour * 3600 for hour in second_passings(tz)}
    starts = sorted({0, *(after for after, _ in _changes(tz)), *again, *(start + 3600 for start in again)})
    ahead = [ahead_of_utc(tz, start) * 1_000_000 + (SECOND if start - start % 3600 in again else 0) for start in starts]
    return np.array([*starts, _YEARS * 365 * 86_400]) * 1_000_000, np.array([*ahead, 0])


@cache
def _changes(tz: str) -> tuple[tuple[int, int], ...]:
    """Return the seconds since 1970 at which a zone's clock is changed, and how far ahead of UTC it was before."""
    found = []
    for begin in range(0, _YEARS * 365 * 86_400, _LOOKS):
        low, high = begin, begin + _LOOKS
        before = ahead_of_utc(tz, low)
        if before == ahead_of_utc(tz, high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if ahead_of_utc(tz, middle) == before else (low, middle)
        found.append((high, before))
    return tuple(found)


def ahead_of_utc(tz: str, second: int) -> int:
    """Return by how many seconds a zone's clock is ahead of UTC."""
    offset = datetime.fromtimestamp(second, UTC).astimezone(ZoneInfo(tz)).utcoffset()
    return round((offset or timedelta(0)).total_seconds())
