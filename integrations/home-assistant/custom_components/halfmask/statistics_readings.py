"""Readings of a campaign, made from the statistics that Home Assistant's recorder keeps of a sensor.

A statistic has a row per hour, kept for good, or per five minutes, kept for some days. A meter's row has the change of
its register since the row before, whatever happened in between. So after a restart the rows still add up to the
register.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from halfmask_device.campaign_calendar import Calendar, Span
from halfmask_device.errors import OptionError
from halfmask_device.instants import HOUR, MINUTE, SECOND, Instant, instant_text
from halfmask_device.meter_register import interval_minutes
from halfmask_device.protocol import CampaignTerms
from halfmask_device.reading_times import aligned
from halfmask_device.setting import TOTAL

SLACK = 10
"""A period's total counts if the register is known within a tenth of the period before its begin and before its end."""
DIGITS = 6
"""Digits of a reading: fewer than a float has, so that the same rows always give the same reading."""


@dataclass(frozen=True)
class Row:
    """One row of a statistic: the change of a register, or the mean of a measurement, from ``begins`` to ``ends``."""

    begins: Instant
    ends: Instant
    value: float


@dataclass(frozen=True)
class ReadingPlan:
    """How a campaign's readings are made.

    ``rows``     the recorder's name of the rows to take
    ``row``      length of a row
    ``minutes``  length of a reading; 0 if the campaign takes a period's total
    """

    rows: Literal["hour", "5minute"]
    minutes: int

    @classmethod
    def of(cls, terms: CampaignTerms) -> "ReadingPlan":
        """Return the plan for a campaign. Raise an OptionError if its readings cannot be made of whole rows."""
        calendar = Calendar(terms.period, terms.time_zone)
        if terms.release == TOTAL:
            return cls("5minute" if 0 < calendar.length < HOUR else "hour", 0)
        minutes = interval_minutes(terms, 60)
        if minutes is None or minutes > 60 or 60 % minutes or minutes % 5:
            raise OptionError(
                "the campaign takes readings at intervals that Home Assistant does not keep: 5, 10, 15, 20, 30 and 60 "
                "minutes can be shared, and totals of periods",
                kind="interval",
            )
        return cls("hour" if minutes == 60 else "5minute", minutes)

    @property
    def row(self) -> Instant:
        return HOUR if self.rows == "hour" else 5 * MINUTE


def open_periods(calendar: Calendar, after: Instant, now: Instant, terms: CampaignTerms) -> list[Span]:
    """Return the periods that have ended, end after ``after``, and still take reports."""
    grace = terms.offer.get("grace_minutes")
    first = max(after, now - (grace if isinstance(grace, int) else 0) * MINUTE, terms.begins)
    return [span for span in calendar.spans(first, min(now, terms.ends)) if span.ends <= now]


def readings_of_totals(spans: Iterable[Span], rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield the readings of each period whose total is known: the register's changes, each at the end of its row."""
    for span in spans:
        slack = (span.ends - span.begins) // SLACK
        known = [any(edge - slack < row.ends <= edge for row in rows) for edge in (span.begins, span.ends)]
        if all(known):
            yield from ((instant_text(row.ends - SECOND), _text(row.value)) for row in rows if _within(row, span))


def _within(row: Row, span: Span) -> bool:
    return span.begins < row.ends <= span.ends


def readings_of_slots(rows: Sequence[Row], minutes: int, zone: str, *, mean: bool) -> Iterator[tuple[str, str]]:
    """Yield a reading for each interval of ``minutes`` that has all of its rows: their sum, or their mean."""
    by_begin = {row.begins: row for row in rows}
    for row in rows:
        if aligned(row.begins, zone, minutes):
            step = row.ends - row.begins
            slot = [by_begin.get(begins) for begins in range(row.begins, row.begins + minutes * MINUTE, step)]
            values = [each.value for each in slot if each is not None]
            if len(values) == len(slot):
                yield instant_text(row.begins), _text(math.fsum(values) / (len(values) if mean else 1))


def _text(value: float) -> str:
    return f"{value:.{DIGITS}f}"
