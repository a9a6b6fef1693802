"""Series arranged by day and time of day, as attacks on days need them."""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.profiles.periods import DAY, MONDAY
from halfmask.protection.evidence import Evidence, some_of

PRESENT = 0.8
"""Least share of a user's readings, or of a day's, that must be present."""


@dataclass(frozen=True, eq=False)
class ReportDays:
    """Which readings of which users make up which day.

    ``evidence``  the evidence of the users with few gaps
    ``day``       (times,) number of the day of each column; a period longer than a day counts as a day
    ``place``     (times,) place within the day
    ``days``      number of days
    ``places``    readings in a day
    """

    evidence: Evidence
    day: IntArray
    place: IntArray
    days: int
    places: int

    def arranged(self, series: FloatArray) -> FloatArray:
        """Return a series (users, times) as (users, days, places); NaN if missing."""
        cube = np.full((len(series), self.days, self.places), np.nan)
        cube[:, self.day, self.place] = series
        return cube

    @property
    def weekdays(self) -> IntArray:
        """The day of the week of each day, Monday first."""
        first = int(self.evidence.times[0] - MONDAY) // DAY - int(self.day[0])
        return (first + np.arange(self.days)) % 7


def report_days(evidence: Evidence) -> ReportDays | None:
    """Return the arrangement of all whole days of users with few gaps; None if days cannot be told apart."""
    rows, step = evidence.complete(PRESENT), evidence.step
    if not evidence.single or not len(rows) or (step < DAY and DAY % step):
        return None
    if step > DAY:
        count = len(evidence.times)
        return ReportDays(some_of(evidence, rows), np.arange(count), np.zeros(count, np.int64), count, 1)
    day, places = evidence.times // DAY, DAY // step
    place = evidence.times % DAY // step
    first, last = int(day[0]) + bool(place[0]), int(day[-1]) - bool(place[-1] < places - 1)
    held = (day >= first) & (day <= last)
    if last < first:
        return None
    some = some_of(evidence, rows, held)
    return ReportDays(some, day[held] - first, place[held], last - first + 1, places)
