"""Find the clock of times that have a zone or an offset, and convert instants to wall-clock times.

``2026-07-01T00:30+02:00`` belongs to a day that begins at 22:00 UTC. If all texts have one offset, that offset is the
clock. If there are several, the clock is that of a zone that has each offset at the times written with it, such as
+01:00 in winter and +02:00 in summer. All zones that fit give the same wall clock.

When clocks go back, an hour occurs twice. Readings of its second occurrence get a time one microsecond later, so that
both keep their day and hour and are not duplicates.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

import narwhals as nw
import numpy as np
import pyarrow as pa

from halfmask.arrays import IntArray
from halfmask.data.column_types import ZONE, ZONE_GROUP, ZONED_TIME
from halfmask.data.day_parts import SECOND
from halfmask.data.source_table import SourceTable
from halfmask.data.sql import extract, to_local
from halfmask.errors import OptionError, ReadingError

HOUR = 3_600_000_000
_YEARS = 130
_LOOKS = 10 * 86_400
"""Seconds between two checks of a zone's offset. No zone has changed it twice within ten days since 1970."""
USUAL = (
    *("Europe/London", "Europe/Berlin", "Europe/Helsinki", "America/New_York", "America/Chicago", "America/Denver"),
    *("America/Los_Angeles", "Australia/Sydney"),
)
"""Zones that are tried first, so that a well-known name is shown."""
_SHORT = re.compile(r"[+-]\d\d:\d\d")
_BEHIND = rf":[0-9][0-9](?:\.[0-9]+)? ?({ZONE})(?:\[[A-Za-z_/]+\])?$"
"""Group 1 is the zone after a time of day. The pattern works in DuckDB and in Python."""
_NAMED = re.compile(r"\[([A-Za-z_/]+)\]$")


def check_zone(tz: str) -> None:
    """Raise an error if a zone is not in the time zone database."""
    try:
        ZoneInfo(tz)
    except (KeyError, ValueError, OSError) as error:
        raise OptionError(f"`tz` {tz!r} is not a time zone; write one such as Europe/Dublin or UTC") from error


def wall_clock(instant: str, tz: str) -> str:
    """Return an SQL expression that converts microseconds in UTC to wall-clock microseconds.

    ``tz``  the name of a zone, or an offset (+05:30)
    """
    if (ahead := _fixed(tz)) is not None:
        return f"(({instant}) + {ahead})"
    local = to_local(instant, tz)
    hours = second_passings(tz)
    if not hours:
        return local
    listed = ", ".join(map(str, hours))
    return f"({local} + CASE WHEN ({instant}) // {HOUR} IN ({listed}) THEN {SECOND} ELSE 0 END)"


def wall_clocks(instants: IntArray, tz: str) -> IntArray:
    """Convert an array of microseconds in UTC like `wall_clock`.

    Raise `pa.ArrowInvalid` for instants before 1970 or after 2099.
    """
    if (always := _fixed(tz)) is not None:
        return instants + always
    edges, ahead = _stretches(tz)
    if len(instants) and not (edges[0] <= instants.min() and instants.max() < edges[-1]):
        raise pa.ArrowInvalid("CSV conversion error: a time before 1970 or after 2099")
    found: IntArray = instants + ahead[np.searchsorted(edges, instants, "right") - 1]
    return found


def zone_of(tz: str) -> tzinfo:
    """Return the zone of a name or of a fixed offset (+05:30)."""
    ahead = _fixed(tz)
    return ZoneInfo(tz) if ahead is None else timezone(timedelta(microseconds=ahead))


def _fixed(tz: str) -> int | None:
    """Return how many microseconds a fixed offset is ahead of UTC; None for the name of a zone."""
    return _ahead(tz) * 1_000_000 if tz[0] in "+-" else None


@cache
def second_passings(tz: str) -> tuple[int, ...]:
    """Return the hours (since 1970, in UTC) that a zone's clock shows for the second time, up to 2100."""
    back = (after for after, before in _changes(tz) if ahead_of_utc(tz, after) < before)
    return tuple(after // 3600 for after in back)


@cache
def _stretches(tz: str) -> tuple[IntArray, IntArray]:
    """Return the instants since 1970 at which a zone's offset changes, and the offset from each on, in microseconds.

    In the second occurrence of an hour, the offset is `SECOND` larger.
    """
    again = {hour * 3600 for hour in second_passings(tz)}
    starts = sorted({0, *(after for after, _ in _changes(tz)), *again, *(start + 3600 for start in again)})
    ahead = [ahead_of_utc(tz, start) * 1_000_000 + (SECOND if start - start % 3600 in again else 0) for start in starts]
    return np.array([*starts, _YEARS * 365 * 86_400]) * 1_000_000, np.array([*ahead, 0])


@cache
def _changes(tz: str) -> tuple[tuple[int, int], ...]:
    """Return when a zone's clock changes (seconds since 1970), each with the seconds ahead of UTC before the change."""
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
    """Return how many seconds a zone's clock is ahead of UTC."""
    offset = datetime.fromtimestamp(second, UTC).astimezone(ZoneInfo(tz)).utcoffset()
    return round((offset or timedelta(0)).total_seconds())


@dataclass(frozen=True)
class Stretch:
    """The times of one date that are written with one offset.

    ``ahead``  seconds ahead of UTC
    ``first``  the first instant, in seconds since 1970
    ``last``   the last instant
    ``rows``   the number of times
    """

    ahead: int
    first: int
    last: int
    rows: int


def own_clock(raw: SourceTable, name: str, text: str, sample: Sequence[str]) -> str:
    """Return the zone or fixed offset in whose wall clock a column's times are written.

    ``text``    the SQL expression of the texts
    ``sample``  the first texts

    The whole column is read. Raise an error if no zone has each of the column's offsets.
    """
    offsets = {_offset(each) for each in sample}
    first = min(offsets)
    if offsets == {"Z"}:
        return "UTC"
    # It is fast to check that all texts end with the same offset. Otherwise the whole column is analysed.
    if len(offsets) == 1 and _SHORT.fullmatch(first) and raw.count([f"{text} NOT LIKE '%{first}'"]) == [0]:
        return fixed(_ahead(first))
    return clock_of(name, list(_written(raw, text)), [zone for each in sample for zone in _NAMED.findall(each)])


def clock_of(name: str, stretches: Sequence[Stretch], named: Sequence[str] = ()) -> str:
    """Return the zone that has each offset at the times written with it, or the only offset.

    ``named``  zones that the texts name
    """
    offsets: Counter[int] = Counter()
    for each in stretches:
        offsets[each.ahead] += each.rows
    if len(offsets) <= 1:
        return fixed(next(iter(offsets), 0))
    if zone := _fitting(stretches, named):
        return zone
    ((most, _),) = offsets.most_common(1)
    usual = _fitting([each for each in stretches if each.ahead == most], named)
    listed = ", ".join(f"{fixed(ahead)} {rows:,} rows" for ahead, rows in offsets.most_common(4))
    ways = [f"`tz={usual}` by the clock that most rows may be written in"] * (usual not in (None, "UTC"))
    raise ReadingError(
        f"column {name!r}: its times have several offsets ({listed}), and no zone has each of them at the times "
        f"written with it; say in which zone days are cut: {', '.join([*ways, '`tz=UTC` by that of UTC'])}",
        kind="offsets",
    )


def stretch_of(text: str) -> Stretch:
    """Parse a text with an offset as a stretch of one time."""
    found = re.fullmatch(ZONED_TIME, text.strip())
    if found is None:
        raise ReadingError(f"{text!r} is not an ISO time with an offset", kind="cell")
    hours, minutes, seconds = (found[1][at : at + 2] or "0" for at in (11, 14, 17))
    clock = timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds))
    local = datetime.fromisoformat(found[1][:10]).replace(tzinfo=UTC) + clock
    ahead = _ahead(found[ZONE_GROUP])
    second = int(local.timestamp()) - ahead
    return Stretch(ahead, second, second, 1)


def fixed(ahead: int) -> str:
    """Return a fixed offset as text, such as +05:30; "UTC" if it is 0."""
    minutes = abs(ahead) // 60
    return f"{'-' if ahead < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}" if ahead else "UTC"


def _written(raw: SourceTable, text: str) -> Iterator[Stretch]:
    """Yield the stretches of a whole column: one for each date and offset."""
    behind = extract(text, _BEHIND, 1)
    columns = {"offset": behind, "day": f"substr({text}, 1, 10)", "text": f"replace({text}, 'T', ' ')"}
    texts = raw.select(columns, ordered=False).filter(nw.col("offset") != "").group_by("offset", "day")
    ends = texts.agg(nw.col("text").min().alias("first"), nw.col("text").max().alias("last"), nw.len().alias("rows"))
    for each in raw.engine.collect(ends).to_pylist():
        if all(re.fullmatch(ZONED_TIME, each[end].strip()) for end in ("first", "last")):
            first, last = stretch_of(each["first"]), stretch_of(each["last"])
            yield Stretch(first.ahead, first.first, last.last, int(each["rows"]))


def _fitting(stretches: Sequence[Stretch], named: Sequence[str]) -> str | None:
    """Return the first zone that has every offset at the times written with it, or None."""
    zones = available_timezones()
    for zone in dict.fromkeys((*named, *USUAL, *sorted(zones))):
        if zone in zones and all(
            ahead_of_utc(zone, each.first) == ahead_of_utc(zone, each.last) == each.ahead for each in stretches
        ):
            return zone
    return None


def _offset(text: str) -> str:
    """Return the offset in a time's text; Z for all spellings of UTC; empty if there is none."""
    found = re.fullmatch(ZONED_TIME, text)
    return "" if found is None else "Z" if found[ZONE_GROUP][0] not in "+-" else found[ZONE_GROUP]


def _ahead(offset: str) -> int:
    """Return how many seconds an offset, written as +02:00, +0200, +02 or Z, is ahead of UTC."""
    if offset[0] not in "+-":
        return 0
    digits = f"{offset[1:].replace(':', '')}00"
    return (-1 if offset[0] == "-" else 1) * (int(digits[:2]) * 3600 + int(digits[2:4]) * 60)
