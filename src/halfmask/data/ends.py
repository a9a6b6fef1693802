"""Stamps that are the ends of intervals: clocks from 00:15, 00:30 or 01:00 to 24:00, and never midnight as 00:00."""

import re
from collections import defaultdict
from collections.abc import Sequence

from halfmask.data.columns import STARTS, words
from halfmask.data.engines.sql import extract, quote
from halfmask.data.raw import Raw

MINUTE = 60_000_000
_CLOCK = r"([0-9]{1,2}:[0-9]{2})"
"""The first clock in a text. Both engines and Python read it alike."""


def ends(raw: Raw, name: str, days: Sequence[str], clocks: Sequence[str]) -> int:
    """The microseconds of the intervals that a column's clocks end; 0 where they are no ends.

    ``days`` and ``clocks`` are the texts of the first rows, the same twice where one column has both. The clocks of all
    rows must be those of a day's ends, each of them. A source that writes midnight as 24:00 of the day before begins
    with it: then the first day has no other clock.
    """
    stamps = [(day, found[1]) for day, text in zip(days, clocks, strict=True) if (found := re.search(_CLOCK, text))]
    if STARTS & set(words(name)) or not stamps or any(_minutes(clock) == 0 for _, clock in stamps):
        return 0
    texts = raw.distinct(extract(f"CAST({quote(name)} AS VARCHAR)", _CLOCK, 1))
    times = sorted({_minutes(clock) for clock in texts if clock})
    if not times or times[-1] != 24 * 60 or times != list(range(times[0], 24 * 60 + 1, times[0])):
        return 0
    of_day: dict[str, set[int]] = defaultdict(set)
    for day, clock in stamps:
        of_day[day.partition(clock)[0]].add(_minutes(clock))
    begins = next(iter(of_day.values())) == {24 * 60}
    return 0 if begins else times[0] * MINUTE


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return 60 * int(hours) + int(minutes)
