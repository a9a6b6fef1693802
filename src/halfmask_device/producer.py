"""A device that masks: reading in, report out, both on the lattice."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from halfmask_device.errors import ReadingError
from halfmask_device.lattice import Lattice, Value
from halfmask_device.laws import law
from halfmask_device.prf import Bits
from halfmask_device.setting import DeviceSetting
from halfmask_device.state import State
from halfmask_device.terms import Terms, hold_to

Reading = tuple[str, Value] | tuple[str, Value, str]
"""Time, value, and the sensor where a device has several."""
BATCH = 1024
PREPARE = 200
"""Draws that are worth a table."""


class Producer:
    """One producer's device. m = s + psi: s the reading on the lattice, within the range; psi whole steps of noise.

    The report m is not clipped: clipping after noise would bias totals. The same reading (sensor, time and lattice
    value) always gives the same report, by the state; the first draw stays even under another setting, because a
    second draw would be a second look at the reading. Times are compared as text.
    """

    def __init__(self, setting: str, lattice: Lattice, state: str | Path) -> None:
        parsed = DeviceSetting.parse(setting)
        self.setting, self.lattice = parsed.text, lattice
        self._law = law(parsed, lattice.unit)
        self._state = State(state)
        hold_to(self._state, Terms(parsed.text, lattice))

    def report(self, time: str, value: Value, sensor: str = "") -> int | None:
        """The report of one reading, in steps; None where the reading is missing."""
        return next(self.reports([(time, value, sensor)]))

    def reports(
        self, readings: Iterable[Reading], *, first: int = 1, columns: tuple[str, str] = ("time", "value")
    ) -> Iterator[int | None]:
        """The reports of many readings, in their order; noise is stored by batches, each before its reports go out.

        ``first`` and ``columns`` say in errors where a reading stood; no error ever shows the reading itself.
        """
        rest = iter(readings)
        while batch := list(islice(rest, BATCH)):
            yield from self._batch(batch, first, *columns)
            first += len(batch)

    def _batch(self, batch: list[Reading], first: int, time_column: str, value_column: str) -> list[int | None]:
        steps, keys = [], []
        for row, (time, value, *sensor) in enumerate(batch, first):
            if not time.strip():
                raise ReadingError(
                    f"row {row}, column {time_column}: no time, and without one a retry looks like another"
                )
            found = self.lattice.steps(value, f"row {row}, column {value_column}: the reading")
            steps.append(found)
            if found is not None:
                keys.append(self._state.key(sensor[0] if sensor else "", time.strip(), found))
        noise = iter(self._state.noise(keys, self._draws) if keys else [])
        return [None if each is None else each + next(noise) for each in steps]

    def _draws(self, count: int) -> list[int]:
        source = Bits.fresh()
        return [self._law.draw(source) for _ in range(count)]


def noise(setting: str, lattice: Lattice, count: int) -> list[int]:
    """Independent draws of psi in steps, from the sampler that devices use; nothing is remembered."""
    drawn, source = law(DeviceSetting.parse(setting), lattice.unit), Bits.fresh()
    if count > PREPARE:
        drawn.prepare()
    return [drawn.draw(source) for _ in range(count)]


def outputs(setting: str, lattice: Lattice, value: Value, count: int) -> list[int]:
    """What ``count`` devices that hold the same reading would report, in steps: s + psi."""
    s = lattice.steps(value)
    if s is None:
        raise ReadingError("a missing reading has no report")
    return [s + psi for psi in noise(setting, lattice, count)]
