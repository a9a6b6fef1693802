"""Recognise tables with one column per part of the day, by the columns' names.

A day on which clocks go back has 25 hours. If columns are numbered, the numbers continue (``h25``), and only the zone
shows which hour occurs twice. If columns are named by the time of day, a repeated name (``02:00B``) is that hour's
second occurrence.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DAY = 86_400_000_000
PARTS = (24, 48, 96, 144, 288, 1440)
_CLOCK = re.compile(
    r"\D*?(\d{1,2})[:h.](\d{2})(?::\d{2})?(?:\s*(?:-|–|to)\s*(\d{1,2})[:h.](\d{2})(?::\d{2})?)?(?:\D*|[ _(]+[12]\)?)"
)
_COMPACT = re.compile(r"[A-Za-z_ ]*([01]\d|2[0-4])([0-5]\d)")
_PREFIXES = frozenset(
    ("", "h", "hh", "hr", "hour", "hours", "slot", "period", "settlementperiod", "sp", "halfhour", "t")
)
_NUMBERED = re.compile(r"([A-Za-z_ .\-]*)(\d{1,4})")
SECOND = 1
"""Microseconds added to times in the second occurrence of an hour, so that they differ from the first."""


@dataclass(frozen=True)
class Slots:
    """Columns that each hold one part of the day, and the evidence.

    ``offsets``  start of each column's part, in microseconds from midnight
    ``beyond``   extra numbered columns for days on which clocks go back
    """

    offsets: Mapping[str, int]
    evidence: str
    beyond: tuple[str, ...] = ()


def slots(names: Sequence[str]) -> Slots | None:
    """Return the columns that together make up a day; None if there are none."""
    return _by_clock(names) or _by_number(names)


def is_part_number(name: str) -> bool:
    """Return whether a name can be the number of a part of a day, such as ``h25`` or ``49``."""
    match = _NUMBERED.fullmatch(name.strip())
    return match is not None and re.sub(r"[^a-z]", "", match[1].lower()) in _PREFIXES


def _by_clock(names: Sequence[str]) -> Slots | None:
    for pattern in (_CLOCK, _COMPACT):
        found = {name: match for name in names if (match := pattern.fullmatch(name.strip()))}
        found = {name: m for name, m in found.items() if int(m[2]) < 60 and int(m[1]) <= 24}
        clocks = {name: (int(m[1]) * 60 + int(m[2])) for name, m in found.items()}
        again = _again(clocks)
        starts = {name: start for name, start in clocks.items() if name not in again}
        if len(starts) not in PARTS or len(set(starts.values())) != len(starts):
            continue
        step = 1440 // len(starts)
        minutes = sorted(starts.values())
        shift = 0
        if minutes == list(range(step, 1441, step)) or (minutes[0] == 0 and list(starts.values())[-1] == 0):
            # The names are ends of intervals: 00:30 to 24:00, or 00:00 in the last column.
            shift = step
        elif minutes != list(range(0, 1440, step)):
            continue
        offsets = {
            name: ((start - shift) % 1440) * 60_000_000 + (SECOND if name in again else 0)
            for name, start in clocks.items()
        }
        how = "ends" if shift else "starts"
        first, *_, last = starts
        twice = f", and {', '.join(again)} by the second passing of that hour" if again else ""
        return Slots(
            offsets, f"{len(starts)} columns from {first} to {last} are named by the {how} of parts of a day{twice}"
        )
    return None


def _again(clocks: Mapping[str, int]) -> list[str]:
    """Return the columns that repeat an earlier time of day up to 04:00, as on days when clocks go back.

    The list is empty if the repeated columns cover more than one hour.
    """
    earlier: set[int] = set()
    again = []
    for name, start in clocks.items():
        if start in earlier and 0 < start <= 240:
            again.append(name)
        earlier.add(start)
    return again if again and 24 * len(again) <= len(clocks) else []


def _by_number(names: Sequence[str]) -> Slots | None:
    """Return columns numbered like ``h1`` to ``h24`` or ``HH_0`` to ``HH_47``, if they make up a day; else None."""
    groups: dict[str, dict[str, int]] = {}
    for name in names:
        if match := _NUMBERED.fullmatch(name.strip()):
            prefix = re.sub(r"[^a-z]", "", match[1].lower())
            if prefix in _PREFIXES:
                groups.setdefault(prefix, {})[name] = int(match[2])
    for prefix, group in groups.items():
        numbers = sorted(group.values())
        first, count = numbers[0], len(numbers)
        long_day = count % 25 == 0
        parts = count * 24 // 25 if long_day else count
        if parts in PARTS and first in (0, 1) and numbers == list(range(first, first + count)):
            offsets = {name: (number - first) * (DAY // parts) for name, number in group.items()}
            shown = f"{prefix}{first} to {prefix}{numbers[-1]}"
            beyond = tuple(name for name, offset in offsets.items() if offset >= DAY)
            return Slots(offsets, f"{count} columns {shown} are parts of a day, the first from midnight", beyond)
    return None
