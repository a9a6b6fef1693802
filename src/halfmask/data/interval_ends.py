"""Times that are ends of intervals: clocks from 00:15, 00:30 or 01:00 to 24:00, and never midnight as 00:00."""

import re
from collections import defaultdict

from halfmask.data.columns import STARTS, words
from halfmask.data.engines.sql import extract, quote
from halfmask.data.interpretation import Interpretation

MINUTE = 60_000_000
_CLOCK = r"([0-9]{1,2}:[0-9]{2})"
"""The first clock in a text. DuckDB and Python read it alike."""


def interval_ended(table: Interpretation, day: str, clock: str) -> int:
    """Return the length of the intervals whose ends a column has, in microseconds, with a note; 0 if they are not ends.

    ``day`` and ``clock`` are columns of texts; they are the same column if it has both. The clocks of all rows must be
    ends of a day's intervals, and each of those must occur. A source that writes midnight as 24:00 of the day before
    begins with it: then the first day has no other clock.
    """
    days, clocks = ([str(cell or "") for cell in table.sample(name).to_pylist()] for name in (day, clock))
    stamps = [(each, found[1]) for each, text in zip(days, clocks, strict=True) if (found := re.search(_CLOCK, text))]
    if STARTS & set(words(clock)) or not stamps or any(_minutes(stamp) == 0 for _, stamp in stamps):
        return 0
    texts = table.raw.distinct(extract(f"CAST({quote(clock)} AS VARCHAR)", _CLOCK, 1))
    times = sorted({_minutes(text) for text in texts if text})
    if not times or times[-1] != 24 * 60 or times != list(range(times[0], 24 * 60 + 1, times[0])):
        return 0
    of_day: dict[str, set[int]] = defaultdict(set)
    for each, stamp in stamps:
        of_day[each.partition(stamp)[0]].add(_minutes(stamp))
    begins = next(iter(of_day.values())) == {24 * 60}
    if begins:
        return 0
    table.notes.append(
        f"{clock} runs to 24:00 and never has 00:00: the ends of intervals of {times[0]} min, "
        "each of which is taken by its start"
    )
    return times[0] * MINUTE


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return 60 * int(hours) + int(minutes)
