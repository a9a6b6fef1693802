"""The queue of reports. Readings are masked once for each campaign, and reports wait on disk until they are sent."""

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache

from halfmask_device.budget_guard import Guard, UserNotes
from halfmask_device.device_state import State
from halfmask_device.errors import ReadingError
from halfmask_device.instants import instant_text
from halfmask_device.lattice import Value
from halfmask_device.masking import Channel, DatedReading, mask
from halfmask_device.membership import Membership
from halfmask_device.reading_times import aligned, instant_of, normalized_time

BEYOND = "some readings lie outside the campaign's range and count as its end: are they in the campaign's unit?"


@dataclass
class Queued:
    """The result of queueing readings.

    ``reports``   number of new reports in the queue
    ``known``     number of reports that were queued or sent before
    ``refused``   number of other readings, by reason
    ``notes``     messages for the user
    ``gathered``  number of readings kept for the total of their period, or already counted in it
    """

    reports: int = 0
    known: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    notes: UserNotes = field(default_factory=UserNotes)
    gathered: int = 0


class CampaignQueue:
    """Masks and queues readings for one campaign.

    ``zone``  time zone of times without an offset; None if the device's campaigns differ in it
    """

    def __init__(self, state: State, member: Membership, queued: Queued, zone: str | None) -> None:
        self._state, self._member, self._queued, self._zone = state, member, queued, zone
        self._campaign = member.terms
        every = member.offer.get("every_minutes")
        self._every = every if isinstance(every, int) else 0
        menu, lattice = self._campaign.menu, self._campaign.lattice
        self._channel, self._ends = Channel.of(menu[member.setting], lattice), lattice.ends
        self._ids = {Channel.of(text, lattice).name: id for id, text in menu.items()}
        self._ids[self._channel.name] = member.setting
        self._guard = Guard(state, self._channel, menu.values(), queued.notes, f"{member.address} {member.campaign}")
        names = (menu[each] for each in member.past if menu[each] != self._channel.setting.text)
        self._past = [Channel.of(text, lattice) for text in names]

    def put(self, batch: list[tuple[str, Value]], first: int) -> None:
        readings, times = [], []
        for row, (time, value) in enumerate(batch, first):
            when, text, canonical, day = read_time(time, self._zone, row)
            steps = self._campaign.lattice.steps(value, f"row {row}, column value: the reading")
            if steps in self._ends and self._beyond(value):
                self._queued.notes.note(BEYOND)
            if steps is None:
                self._queued.refused["missing"] += 1
            elif not self._campaign.begins <= when < self._campaign.ends:
                self._queued.refused["outside_campaign"] += 1
            elif self._every and not aligned(when, self._campaign.time_zone, self._every):
                self._queued.refused["unaligned"] += 1  # one per slot counts, so the others are not masked
            elif day < self._state.secret.day:
                self._queued.refused["forgotten"] += 1
            else:
                readings.append(("", canonical, day, self._state.keys.of(day), steps))
                times.append(text)
        if readings:
            self._queue(readings, times)

    def _beyond(self, value: Value) -> bool:
        lattice, number = self._campaign.lattice, Decimal(str(value).strip())
        return not Decimal(lattice.low) <= number <= Decimal(lattice.high)

    def _queue(self, readings: list[DatedReading], times: list[str]) -> None:
        masked = mask(self._state, self._channel, readings, self._guard, past=self._past)
        rows = []
        for i, (time, report) in enumerate(zip(times, masked.reports, strict=True)):
            if report is None:
                self._queued.refused[masked.refused[i]] += 1
            else:
                channel = masked.others.get(i, self._channel)
                rows.append((self._member.campaign, time, str(report), self._ids[channel.name]))
        with self._state.memory() as memory:
            new = memory.executemany(
                "INSERT OR IGNORE INTO queue (campaign, time, steps, setting) VALUES (?, ?, ?, ?)", rows
            )
        self._queued.reports += new.rowcount
        self._queued.known += len(rows) - new.rowcount


def read_time(time: str, zone: str | None, row: int) -> tuple[int, str, str, int]:
    """Return a row's time in four forms: instant, text to send, normalised text, and day."""
    try:
        return _read(time, zone)
    except ReadingError:
        instant_of(time, zone, f"row {row}, column time: the time")  # the same error, with the row
        raise


@lru_cache(maxsize=4096)
def _read(time: str, zone: str | None) -> tuple[int, str, str, int]:
    when = instant_of(time, zone, "the time")
    return when, instant_text(when), *normalized_time(instant_text(when))
