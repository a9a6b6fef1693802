"""Totals of a campaign's periods: the device adds up its readings, and masks the sum when the period has ended.

Readings are kept in the memory until the period's total is masked. Then their values are erased. Their times are kept,
so that the same rows can be given again. A total is fixed before it is masked (its row in the queue has the outcome
`MASKING`). So a device that is killed continues with the same total, and every period has one total and one draw.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from halfmask_device.budget_guard import Guard, UserNotes
from halfmask_device.campaign_calendar import Calendar, Span
from halfmask_device.device_state import State, add_counts
from halfmask_device.errors import RunError
from halfmask_device.instants import DAY, MINUTE, Instant, instant_text
from halfmask_device.lattice import Value, exact_reading
from halfmask_device.masking import Channel, DatedReading, mask
from halfmask_device.membership import Membership, earlier_joins
from halfmask_device.reading_times import normalized_time
from halfmask_device.report_queue import Queued, read_time
from halfmask_device.split_services import cut_total

MASKING = "masking"
"""The outcome of a total that is fixed but not masked yet."""
MISSED = ""
"""The stored value of a reading that came too late; it makes sure that its owner is notified once. Erased values are
NULL."""
HELD = "value > ''"
"""The condition for values that are neither erased nor missed."""
ENOUGH = Fraction(9, 10)
"""The least share of the expected readings with which a total is reported, unless the owner allows fewer."""
NEAR = Fraction(3, 2)
"""A period has its last reading if one lies within this many usual intervals of its end."""
LATE = (
    "readings came after the total of their period was reported: they change nothing, because each period is reported "
    "once"
)
BEYOND = "a total lies outside the campaign's range and counts as its end: are the readings in the campaign's unit?"


@dataclass(frozen=True)
class Gathered:
    """The readings kept for a period whose total is not masked yet.

    ``last``   time of the latest reading
    ``fixed``  whether the total is fixed and only has to be masked
    """

    span: Span
    readings: int
    last: Instant
    fixed: bool


def enough_readings(readings: int, expected: int) -> bool:
    """Return whether a period has enough readings to report its total."""
    return readings >= ENOUGH * expected


def total_time(span: Span) -> str:
    """Return the text that identifies a total when its noise is derived. No reading has such a time."""
    return "/".join(normalized_time(instant_text(each))[0] for each in (span.begins, span.ends))


class CampaignTotals:
    """The totals of a campaign whose devices mask totals."""

    def __init__(self, state: State, member: Membership) -> None:
        self._state, self._member, self._terms, self.campaign = state, member, member.terms, member.campaign
        try:
            self._calendar = Calendar(self._terms.period, self._terms.time_zone)
        except (KeyError, ValueError) as error:
            raise RunError(
                f"campaign {member.campaign} counts by periods or a time zone that this device does not have: "
                "update the program and install its time zones (package tzdata)",
                kind="time_zone",
            ) from error
        self._expected = self._terms.readings_expected or 1
        grace = member.offer.get("grace_minutes")
        self._grace = grace * MINUTE if isinstance(grace, int) else 0

    def put(self, batch: Sequence[tuple[str, Value]], first: int, zone: str | None, queued: Queued) -> None:
        """Keep readings for the totals of their periods. Readings of a reported period are refused.

        ``first``  number of the first row, for errors
        ``zone``   time zone of times without an offset
        """
        by_period: dict[Span, list[tuple[Instant, Decimal]]] = {}
        for row, (time, value) in enumerate(batch, first):
            when = read_time(time, zone, row)[0]
            number = exact_reading(value, f"row {row}, column value: the reading")
            if number is None:
                queued.refused["missing"] += 1
            elif not self._terms.begins <= when < self._terms.ends:
                queued.refused["outside_campaign"] += 1
            else:
                by_period.setdefault(self._calendar.span_of(when), []).append((when, number))
        with self._state.memory() as memory:
            for span, readings in by_period.items():
                self._keep(memory, span, readings, queued)

    def _keep(
        self, memory: sqlite3.Connection, span: Span, readings: Iterable[tuple[Instant, Decimal]], queued: Queued
    ) -> None:
        key = (self._member.campaign, span.begins)
        kept = dict(memory.execute("SELECT time, value FROM gathered WHERE campaign = ? AND period = ?", key))
        reported = self._reported(memory, instant_text(span.begins))
        new = []
        for when, number in readings:
            if kept.get(when) == MISSED or (when not in kept and reported):
                queued.refused["late"] += 1
                if when not in kept:
                    queued.notes.note(LATE)
                    kept[when] = MISSED
                    new.append((*key, when, MISSED))
            elif when not in kept and span.begins // DAY < self._state.secret.day:
                queued.refused["forgotten"] += 1
            elif when not in kept:
                kept[when] = str(number)
                new.append((*key, when, str(number)))
                queued.gathered += 1
            elif kept[when] is not None and Decimal(kept[when]) != number:
                queued.refused["revision"] += 1
            else:
                queued.gathered += 1
        memory.executemany("INSERT INTO gathered VALUES (?, ?, ?, ?)", new)

    def _reported(self, memory: sqlite3.Connection, time: str) -> bool:
        """Return whether the period that begins at ``time`` was reported, or its total is fixed.

        A campaign with a split setting accepts one report per period over all joins, because the services could compare
        two. So reports of earlier joins count too.
        """
        id, split = self._member.campaign, self._terms.split_id is not None
        before = earlier_joins(id)
        here = "campaign = ? OR (? AND substr(campaign, 1, ?) = ? AND setting > '')"
        query = f"SELECT 1 FROM queue WHERE time = ? AND ({here})"
        return memory.execute(query, (time, id, split, len(before), before)).fetchone() is not None

    def gathered(self) -> list[Gathered]:
        """Return the periods whose total is not masked yet, in order."""
        with self._state.memory() as memory:
            rows = memory.execute(
                f"SELECT period, count(*), max(time) FROM gathered WHERE campaign = ? AND {HELD} "
                "GROUP BY period ORDER BY period",
                (self._member.campaign,),
            ).fetchall()
            fixed = memory.execute(
                "SELECT time FROM queue WHERE campaign = ? AND outcome = ?", (self._member.campaign, MASKING)
            ).fetchall()
        texts = {time for (time,) in fixed}
        spans = [self._calendar.span_of(period) for period, _, _ in rows]
        return [
            Gathered(span, readings, last, instant_text(span.begins) in texts)
            for span, (_, readings, last) in zip(spans, rows, strict=True)
        ]

    def due(self, now: Instant, *, partial: bool = False) -> bool:
        """Return whether the total of a period can be masked; for ``partial`` see `mask_ended`."""
        found = self.gathered()
        return any(self._can_be_masked(each, found, now, partial) for each in found)

    def _can_be_masked(self, each: Gathered, found: Sequence[Gathered], now: Instant, partial: bool) -> bool:
        return each.fixed or (self._has_ended(each, found, now) and (partial or self._enough(each)))

    def mask_ended(self, now: Instant, notes: UserNotes, *, partial: bool = False) -> None:
        """Mask and queue the totals of periods that have ended.

        A period has ended if its time is over and its last reading has arrived: one near the period's end, or a later
        one. The device waits for it until half of the campaign's grace is over. Periods with too few readings wait
        until the grace is over; then their readings are erased, and nothing is reported.

        ``partial``  also report periods with too few readings
        """
        found = self.gathered()
        chosen, over = [], []
        for each in found:
            if self._can_be_masked(each, found, now, partial):
                chosen.append(each)
            elif each.span.ends <= now and not self._enough(each):
                notes.note(self._too_few(each, now))
                if now >= each.span.ends + self._grace:
                    over.append(each)
        self._fix(chosen)
        (self._cut if self._member.splits else self._mask)(chosen, notes)
        with self._state.memory() as memory:
            for each in over:
                self._end(memory, each.span, "partial")
        if chosen or over:
            self._state.wipe()

    def _enough(self, each: Gathered) -> bool:
        return enough_readings(each.readings, self._expected)

    def _has_ended(self, each: Gathered, found: Sequence[Gathered], now: Instant) -> bool:
        begins, ends = each.span.begins, each.span.ends
        near = ends - NEAR * (ends - begins) / self._expected
        return ends <= now and (max(other.last for other in found) >= near or now >= ends + self._grace // 2)

    def _too_few(self, each: Gathered, now: Instant) -> str:
        told = f"{each.span.key} of campaign {self._member.campaign} has {each.readings} of {self._expected} readings"
        if now < each.span.ends + self._grace:
            return f"{told}: its total is not reported before more come, unless you allow it with `partial`"
        return f"{told}, and takes no reports any more: its total was not reported"

    def _fix(self, chosen: Iterable[Gathered]) -> None:
        """Accept no more readings for these periods, so that their totals do not change."""
        rows = [(self._member.campaign, instant_text(each.span.begins), "", "", MASKING) for each in chosen]
        with self._state.memory() as memory:
            memory.executemany(
                "INSERT OR IGNORE INTO queue (campaign, time, steps, setting, outcome) VALUES (?, ?, ?, ?, ?)", rows
            )

    def _cut(self, chosen: Sequence[Gathered], notes: UserNotes) -> None:
        """Cut totals into two shares. In one transaction per total, they are stored, counted and queued."""
        channel = Channel.of(self._terms.menu[self._member.setting], self._terms.lattice)
        guard = Guard(self._state, channel, (), notes, f"{self._member.address} {self._member.campaign}")
        for each in chosen:
            steps, day = self._total(each.span, notes), each.span.begins // DAY
            if steps is None:  # another process has cut it meanwhile
                continue
            shares = cut_total(self._member.split_terms, steps)
            with self._state.memory() as memory:
                gate = guard.gate(memory, [day])
                if gate is not None and gate(day) is None:
                    self._wait_for_budget(memory, each.span, notes)
                elif number := self._end(memory, each.span, None, setting=self._member.setting):
                    add_counts(memory, channel.name, [(day, 1, 0)])
                    memory.execute(
                        "INSERT INTO shares (number, nonce, leader, helper) VALUES (?, ?, ?, ?)", (number, *shares)
                    )

    def _wait_for_budget(self, memory: sqlite3.Connection, span: Span, notes: UserNotes) -> None:
        """Release a fixed total, so that it can be reported when the budget allows it."""
        notes.note(f"{span.key}: the budget is spent, so its total waits: a larger `budget` reports it")
        row = (self._member.campaign, instant_text(span.begins), MASKING)
        memory.execute("DELETE FROM queue WHERE campaign = ? AND time = ? AND outcome = ?", row)

    def _mask(self, chosen: Sequence[Gathered], notes: UserNotes) -> None:
        menu, lattice = self._terms.menu, self._terms.lattice
        channel = Channel.of(menu[self._member.setting], lattice)
        who = f"{self._member.address} {self._member.campaign}"
        guard = Guard(self._state, channel, menu.values(), notes, who)
        before = (menu[each] for each in self._member.past if each != self._terms.split_id)
        past = [Channel.of(text, lattice) for text in before if text != channel.setting.text]
        ids = {Channel.of(text, lattice).name: id for id, text in menu.items()} | {channel.name: self._member.setting}
        spans, readings = [], list[DatedReading]()
        for each in chosen:
            day = each.span.begins // DAY
            if day < self._state.secret.day:
                with self._state.memory() as memory:
                    self._end(memory, each.span, "forgotten")
                continue
            steps = self._total(each.span, notes)
            if steps is not None:  # else another process has masked it meanwhile
                spans.append(each.span)
                readings.append(("", total_time(each.span), day, self._state.keys.of(day), steps))
        if not readings:
            return
        masked = mask(self._state, channel, readings, guard, past=past)
        with self._state.memory() as memory:
            for i, (span, report) in enumerate(zip(spans, masked.reports, strict=True)):
                why = masked.refused.get(i)
                if report is not None:
                    self._end(memory, span, None, report, ids[masked.others.get(i, channel).name])
                elif why == "revision":
                    notes.note(f"{span.key}: another total of this period was reported before, and it stands")
                    self._end(memory, span, why)
                else:
                    self._wait_for_budget(memory, span, notes)

    def _total(self, span: Span, notes: UserNotes) -> int | None:
        """Return the sum of a period's readings in steps, rounded to the lattice and clipped to its range.

        None if their values were erased.
        """
        with self._state.memory() as memory:
            rows = memory.execute(
                f"SELECT value FROM gathered WHERE campaign = ? AND period = ? AND {HELD}",
                (self._member.campaign, span.begins),
            ).fetchall()
        if not rows:
            return None
        total, lattice = sum((Fraction(value) for (value,) in rows), Fraction(0)), self._terms.lattice
        if not Fraction(lattice.low) <= total <= Fraction(lattice.high):
            notes.note(BEYOND)
        return lattice.nearest(total)

    def _end(
        self, memory: sqlite3.Connection, span: Span, outcome: str | None, steps: int | None = None, setting: str = ""
    ) -> int | None:
        """Queue a period's report, or store why there is none, and erase the values of its readings.

        Return the report's number in the queue; None if another process has already ended the period.
        """
        row = (self._member.campaign, instant_text(span.begins))
        memory.execute("INSERT OR IGNORE INTO queue (campaign, time, outcome) VALUES (?, ?, ?)", (*row, MASKING))
        ended = memory.execute(
            "UPDATE queue SET steps = ?, setting = ?, outcome = ? WHERE campaign = ? AND time = ? AND outcome = ? "
            "RETURNING number",
            ("" if steps is None else str(steps), setting, outcome, *row, MASKING),
        ).fetchone()
        memory.execute(
            f"UPDATE gathered SET value = NULL WHERE campaign = ? AND period = ? AND {HELD}",
            (self._member.campaign, span.begins),
        )
        return None if ended is None else int(ended[0])
