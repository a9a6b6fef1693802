"""Mask the totals of readings in a CSV stream: one masked total per sensor and period is written."""

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import BinaryIO

from halfmask_device.budget_guard import Guard, UserNotes
from halfmask_device.campaign_calendar import Calendar, Span
from halfmask_device.csv_stream import STANDARD, ByteSource, Table, write_rows
from halfmask_device.device_state import State
from halfmask_device.errors import OptionError, ReadingError, StoppedError
from halfmask_device.instants import DAY, Instant, instant_text
from halfmask_device.lattice import exact_reading
from halfmask_device.masking import Channel, DatedReading, mask
from halfmask_device.period_totals import enough_readings, total_time
from halfmask_device.producer import BATCH, REFUSALS
from halfmask_device.reading_times import instant_of
from halfmask_device.terms import Terms, TotalTerms

Periods = dict[tuple[Span, str], dict[Instant, Decimal]]
"""The readings of each period and sensor, by time."""
WHY = {
    "open": "period(s) have not ended: nothing is reported for them yet",
    "few": "period(s) have fewer than 90 % of their readings: nothing is reported for them; `partial` reports them too",
}


def mask_csv_totals(
    source: ByteSource, target: BinaryIO, state: State, terms: Terms, notes: UserNotes, now: Instant, *,
    partial: bool = False, revise: bool = False,
) -> int:  # fmt: skip
    """Mask the total of each period and sensor, and return the number of totals written.

    The output has the columns of time (the period's first instant), value and, if the device has several, sensor. The
    same readings always give the same report. If a total may not be reported, those of earlier periods are still
    written.

    ``now``      instant; periods that end later are left out
    ``partial``  also report periods with fewer than 90 % of their readings
    ``revise``   report a different total for a period that was already reported
    """
    if terms.totals is None:
        raise OptionError("these terms are for readings, not for totals", kind="release")
    table = Table(source, terms.columns, STANDARD)
    chosen, left = _ended(_periods(table, terms.totals), terms.totals, now, partial=partial)
    for why, count in left.items():
        notes.note(f"{count} {WHY[why]}")
    readings = list[DatedReading]()
    for (span, sensor), values in chosen.items():
        day = span.begins // DAY
        total = terms.lattice.nearest(sum(map(Fraction, values.values()), Fraction(0)))
        readings.append((sensor, total_time(span), day, state.keys.of(day, f"{span.key}: the period"), total))
    channel = Channel.of(terms.setting_text, terms.lattice)
    past = [Channel.of(each, terms.lattice) for each in terms.past]
    guard = Guard(state, channel, terms.menu.values(), notes)
    masked = mask(state, channel, readings, guard, past=past, revise=revise, stop=True)
    rows = []
    for (span, sensor), report in zip(chosen, masked.reports, strict=True):
        if report is None:
            break
        rows.append([instant_text(span.begins), terms.lattice.text(report), sensor][: len(table.places)])
    write_rows(target, [[table.header[place] for place in table.places], *rows])
    for i, why in masked.refused.items():
        key = list(chosen)[i][0].key
        raise StoppedError(f"{key}: {REFUSALS[why]}: periods before it are reported", kind=why, place=key)
    return len(rows)


def _periods(table: Table, totals: TotalTerms) -> Periods:
    """Return the readings of a table by period and sensor, in order, without missing values."""
    time, value, *sensor = table.places
    names, found = [table.header[place] for place in table.places], Periods()
    calendar = Calendar(totals.period, totals.time_zone)
    for first, rows in table.batches(BATCH):
        for number, row in enumerate(rows, first):
            when = instant_of(row[time], totals.time_zone, f"row {number}, column {names[0]}: the time")
            reading = exact_reading(row[value], f"row {number}, column {names[1]}: the reading")
            if reading is None:
                continue
            readings = found.setdefault((calendar.span_of(when), row[sensor[0]] if sensor else ""), {})
            if readings.setdefault(when, reading) != reading:
                place = f"row {number}, column {names[1]}"
                message = "another value of this time stands in an earlier row: name the `sensor`, or mend the file"
                raise ReadingError(f"{place}: {message}", kind="revision", place=place)
    return dict(sorted(found.items(), key=lambda each: (each[0][0].begins, each[0][1])))


def _ended(found: Periods, totals: TotalTerms, now: Instant, *, partial: bool) -> tuple[Periods, Mapping[str, int]]:
    """Return the periods to report, and the numbers of periods left out, by reason."""
    chosen, left = Periods(), Counter[str]()
    for key, readings in found.items():
        if key[0].ends > now:
            left["open"] += 1
        elif partial or enough_readings(len(readings), totals.readings_expected):
            chosen[key] = readings
        else:
            left["few"] += 1
    return chosen, left
