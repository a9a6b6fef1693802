"""The time of day in the names of columns: one column for each part of the day."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DAY = 86_400_000_000
PARTS = (24, 48, 96, 144, 288, 1440)
_CLOCK = re.compile(r"\D*?(\d{1,2})[:h.](\d{2})(?::\d{2})?(?:\s*(?:-|–|to)\s*(\d{1,2})[:h.](\d{2})(?::\d{2})?)?\D*")
_COMPACT = re.compile(r"[A-Za-z_ ]*([01]\d|2[0-4])([0-5]\d)")
_PREFIXES = frozenset(
    ("", "h", "hh", "hr", "hour", "hours", "slot", "period", "settlementperiod", "sp", "halfhour", "t")
)
_NUMBERED = re.compile(r"([A-Za-z_ .\-]*)(\d{1,4})")


@dataclass(frozen=True)
class Slots:
    """Columns that each hold a part of the day, with their microseconds from midnight, and why."""

    offsets: Mapping[str, int]
    evidence: str


def slots(names: Sequence[str]) -> Slots | None:
    """The columns among these that are parts of a day, if they make up one; None otherwise."""
    return _by_clock(names) or _by_number(names)


def _by_clock(names: Sequence[str]) -> Slots | None:
    for pattern in (_CLOCK, _COMPACT):
        found = {name: match for name in names if (match := pattern.fullmatch(name.strip()))}
        starts = {name: (int(m[1]) * 60 + int(m[2])) for name, m in found.items() if int(m[2]) < 60 and int(m[1]) <= 24}
        if len(starts) not in PARTS or len(set(starts.values())) != len(starts):
            continue
        step = 1440 // len(starts)
        minutes = sorted(starts.values())
        shift = 0
        if minutes == list(range(step, 1441, step)) or (minutes[0] == 0 and list(starts.values())[-1] == 0):
            # Named by their ends: 00:30 ... 24:00, or ... 00:00 as the last of the row.
            shift = step
        elif minutes != list(range(0, 1440, step)):
            continue
        offsets = {name: ((start - shift) % 1440) * 60_000_000 for name, start in starts.items()}
        how = "ends" if shift else "starts"
        first, *_, last = starts
        return Slots(offsets, f"{len(starts)} columns from {first} to {last} are named by the {how} of parts of a day")
    return None


def _by_number(names: Sequence[str]) -> Slots | None:
    """``h1`` to ``h24``, ``HH_0`` to ``HH_47``: as many as parts of a day, without a gap, in order."""
    groups: dict[str, dict[str, int]] = {}
    for name in names:
        if match := _NUMBERED.fullmatch(name.strip()):
            prefix = re.sub(r"[^a-z]", "", match[1].lower())
            if prefix in _PREFIXES:
                groups.setdefault(prefix, {})[name] = int(match[2])
    for prefix, group in groups.items():
        numbers = sorted(group.values())
        first, count = numbers[0], len(numbers)
        if count in PARTS and first in (0, 1) and numbers == list(range(first, first + count)):
            offsets = {name: (number - first) * (DAY // count) for name, number in group.items()}
            shown = f"{prefix}{first} to {prefix}{numbers[-1]}"
            return Slots(offsets, f"{count} columns {shown} are parts of a day, the first from midnight")
    return None
