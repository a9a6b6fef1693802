"""The device's interface for masking: a reading becomes a report, and both are on the lattice."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from halfmask_device.budget_guard import Guard, UserNotes
from halfmask_device.device_state import State
from halfmask_device.errors import ReadingError, SettingError, StoppedError
from halfmask_device.lattice import Lattice, Value
from halfmask_device.masking import PREPARE, Channel, mask
from halfmask_device.random_bits import Bits
from halfmask_device.reading_times import UNDATED, normalized_time
from halfmask_device.setting import READING, DeviceSetting, law, unmasked_warning
from halfmask_device.terms import Terms, hold_to

Reading = tuple[str, Value] | tuple[str, Value, str]
"""Time, value, and the sensor if the device has several."""
BATCH = 4096


class Producer:
    """One producer's device. A report is m = s + psi: the reading, rounded to the lattice and clipped to the range,
    plus noise.

    ``setting``  the privacy setting, like ``laplace:0.5``
    ``lattice``  the published lattice
    ``state``    folder of the device's secret and memory
    ``change``   allow a setting other than the one stored in the folder
    ``revise``   allow a different value for a sensor and time that was already reported
    ``notes``    (attribute) messages for the user

    The report m is not clipped, because this would bias totals. The same reading (sensor, time and lattice value)
    always gives the same report, because noise is derived from the secret. A reading that was reported under an earlier
    setting keeps that report. A revised value gets new noise, which is one more observation of the true value.

    ``Producer(campaign, token)``, with a campaign's address and a token as texts, returns a `campaign_member.Member`
    instead, which also queues and sends reports.
    """

    def __new__(cls, setting: str, lattice: "Lattice | str", *more: Any, **options: Any) -> Any:
        if isinstance(lattice, str):
            from halfmask_device.campaign_member import Member

            return Member(setting, lattice, *more, **options)
        return super().__new__(cls)

    def __init__(
        self, setting: str, lattice: Lattice, state: str | Path, *, change: bool = False, revise: bool = False
    ) -> None:
        channel = Channel.of(setting, lattice)
        if channel.setting.release != READING:
            law_text = channel.setting.released(READING)
            raise SettingError(
                f"{setting} masks the total of a period, and a reading has none: add up the readings of each period "
                f"and mask the sums with {law_text}, or join a campaign of totals",
                kind="release",
            )
        law(channel.setting, lattice.unit)  # raises before anything is written
        self._state = State(state)
        terms = hold_to(self._state, Terms(channel.setting.text, lattice), change=change)
        self.setting, self.lattice, self.notes = channel.setting.text, lattice, UserNotes()
        self._channel, self._revise = channel, revise
        self._past = [Channel.of(each, lattice) for each in terms.past]
        self._guard = Guard(self._state, channel, terms.menu.values(), self.notes)
        if warning := unmasked_warning(self.setting, lattice.unit):
            self.notes.note(warning)

    def report(self, time: str, value: Value, sensor: str = "") -> int | None:
        """Return the report of one reading in steps; None for a missing value."""
        reports, stopped = self._batch([(time, value, sensor)], 1, "time", "value")
        if stopped:
            raise stopped
        return reports[0]

    def reports(
        self, readings: Iterable[Reading], *, first: int = 1, columns: tuple[str, str] = ("time", "value")
    ) -> Iterator[int | None]:
        """Yield the reports of many readings, in order. Each batch is stored before its reports are yielded.

        ``first``    number of the first row, for errors
        ``columns``  names of the time and value columns, for errors; an error never shows the reading

        If a reading may not be reported, a `StoppedError` is raised after the reports of the readings before it. So the
        ledger counts only reports that were yielded.
        """
        rest = iter(readings)
        while batch := list(islice(rest, BATCH)):
            reports, stopped = self._batch(batch, first, *columns)
            yield from reports
            if stopped:
                raise stopped
            first += len(batch)

    def _batch(
        self, batch: list[Reading], first: int, time_column: str, value_column: str
    ) -> tuple[list[int | None], StoppedError | None]:
        places, dated = [], []
        keys, days, lattice = self._state.keys, self._state.keys.days, self.lattice
        for row, reading in enumerate(batch):
            time, value = reading[0], reading[1]
            try:
                when, day = normalized_time(time)
                steps = lattice.steps(value)
                key = days.get(day) or keys.of(day)
            except ReadingError:  # again, now with the row and column for the error; formatting them each time is slow
                when, day = normalized_time(time, f"row {first + row}, column {time_column}: the time")
                steps = lattice.steps(value, f"row {first + row}, column {value_column}: the reading")
                key = keys.of(day, f"row {first + row}, column {time_column}: the time")
            if steps is not None:
                places.append(row)
                dated.append((reading[2] if len(reading) == 3 else "", when, day, key, steps))
                if day == UNDATED:
                    self.notes.note("some times have no date that can be read: they must never come again")
        if not dated:
            return [None] * len(batch), None
        masked = mask(
            self._state, self._channel, dated, self._guard, past=self._past, revise=self._revise, stop=True
        )  # fmt: skip
        if masked.revisions:
            self.notes.note(
                "readings were revised: each is one more observation of the true value, which the ledger charges"
            )
        reports = masked.reports
        if len(dated) < len(batch):
            reports = [None] * len(batch)
            for row, report in zip(places, masked.reports, strict=True):
                reports[row] = report
        for i, why in masked.refused.items():
            row = places[i]
            place = f"row {first + row}, column {time_column}"
            return reports[:row], StoppedError(f"{place}: {REFUSALS[why]}{STOPPED}", kind=why, place=place)
        return reports, None


REFUSALS = {
    "revision": "another value was reported for this time already, and the first report stands (was a clock set back, "
    "or a sensor not named?); `revise` reports this one too, which is one more observation of the true value",
    "budget": "the budget is spent for this window: a larger `budget` of 'halfmask ledger' reports it",
}
STOPPED = ": readings before this one are reported, this one and those after it are not"


def noise(setting: str, lattice: Lattice, count: int) -> list[int]:
    """Draw noise psi in steps, from the sampler that devices use and under a random key."""
    drawn, source = law(DeviceSetting.parse(setting), lattice.unit), Bits.fresh()
    if count > PREPARE:
        drawn.prepare()
    return [drawn.draw(source) for _ in range(count)]


def outputs(setting: str, lattice: Lattice, value: Value, count: int) -> list[int]:
    """Return the reports, in steps, of ``count`` devices with the same reading."""
    s = lattice.steps(value)
    if s is None:
        raise ReadingError("a missing reading has no report", kind="missing")
    return [s + psi for psi in noise(setting, lattice, count)]
