"""``halfmask mask``: mask readings on a producer's own device."""

import sys
import time as clock
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, Flag, command
from halfmask.commands._printing import note
from halfmask.commands._shared_options import Tells
from halfmask.errors import OptionError, ReadingError, SourceError, StoppedError

if TYPE_CHECKING:
    from halfmask.arrays import FloatArray
    from halfmask_device.budget_guard import UserNotes
    from halfmask_device.terms import Terms

_InPython = Annotated[Any, Parameter(parse=False, show=False)]


class Mask(Tells):
    """Options of `mask`. Step, low and high are texts, so that they are exact.

    Parameters
    ----------
    source
        A CSV of readings, an open binary stream, or an array of readings. The command line reads standard input.
    output
        The file to write, or an open binary stream. The command line writes to standard output.
    state
        Folder of this device's secret, terms and memory: one for each producer. Keep it, and keep it private.
    setting
        A setting (laplace:0.5), or an id of the menu (C). Needed on first use, then remembered.
    menu
        A file that 'halfmask optimize' wrote; its settings are remembered too (menu.json if the setting is an id).
    step
        Step of the published lattice that readings are rounded to and reports lie on (0.001 on first use).
    low
        Least value of the published range; smaller readings count as it (-1000000 on first use).
    high
        Largest value of the published range; larger readings count as it (1000000 on first use).
    time
        The column with the times (time on first use).
    value
        The column with the readings, which is masked (value on first use); all other columns pass as they are.
    sensor
        The column that identifies the sensor, if a device has several.
    change
        Share by another setting, menu or columns from now on.
    revise
        Report another value for a time that was reported already. This is one more observation of the true value, and
        the privacy ledger counts it.
    period
        With a setting that ends in @total: what is added up, quarter_hour, half_hour, hour, day, week, month or year
        (day on first use).
    time_zone
        With @total: the time zone that days begin in, and of times without an offset (UTC on first use).
    readings_expected
        With @total: how many readings a period has, such as 48. With fewer than 90 % of them its total is not reported.
    partial
        With @total: report periods with fewer than 90 % of their readings too.
    rng
        A numpy.random.Generator, to simulate the masking of an array.
    """

    positional: ClassVar[tuple[str, ...]] = ("source", "setting")

    source: _InPython = None
    output: _InPython = None
    state: Annotated[AnyPath | None, Parameter(required=True)] = None
    setting: str | None = None
    menu: AnyPath | None = None
    step: str | None = None
    low: str | None = None
    high: str | None = None
    time: str | None = None
    value: str | None = None
    sensor: str | None = None
    change: Flag = False
    revise: Flag = False
    period: str | None = None
    time_zone: str | None = None
    readings_expected: int | None = None
    partial: Flag = False
    rng: _InPython = None

    @property
    def of_array(self) -> bool:
        """Return whether an array is masked, and not a file or a stream."""
        return self.source is not None and not isinstance(self.source, str | Path) and not hasattr(self.source, "read")

    def check(self) -> None:
        """Check that an array comes without a device, and a file with the folder of its device."""
        if isinstance(self.output, str | Path):
            super().check()
        if not self.of_array:
            if self.rng is not None:
                raise OptionError("a device draws its own noise: a generator is for arrays", field="rng")
            if self.state is None:
                raise OptionError("a device masks a file: name its folder, `state`")
            return
        given = {each.name for each in fields(self) if getattr(self, each.name) is not each.default}
        if self.setting is None:
            raise OptionError("an array is masked by a setting: name it", field="setting")
        taken = {"source", "setting", "tell", *(("step", "low", "high") if self.rng is None else ("rng",))}
        if unused := [f"`{name}`" for name in sorted(given - taken)]:
            raise OptionError(f"leave out {', '.join(unused)}: an array is masked without them", kind="array")


@command(Mask, group="Share: device")
def mask(options: Mask) -> "int | FloatArray":
    """Mask one producer's readings: of a file on the producer's device, or of an array.

    A file gives the number of rows that were written. With a setting that ends in @total, each row is the masked total
    of a sensor's period, once the period has ended. The terms are stored in the folder ``state``, and the same reading
    always gives the same report. For single readings see `halfmask_device.Producer`.

    An array, a sequence or a series of numbers gives an array of reports, without a folder: each call draws new noise.
    By default the noise comes from the device's exact sampler and the operating system's entropy, and reports lie on
    the lattice of ``step`` (0.001), ``low`` and ``high``. With ``rng`` it is drawn from the continuous law, as
    `evaluate` does: any setting works, and the result can be repeated, so use it for simulation only. NaN and infinite
    readings are missing values; their reports are NaN.
    """
    if options.of_array:
        return _masked_array(options)
    from halfmask_device import Asked, State, agree
    from halfmask_device.budget_guard import UserNotes
    from halfmask_device.csv_totals import mask_csv_totals

    with _streams(options) as (source, target):
        columns = {role: getattr(options, role) for role in ("time", "value", "sensor") if getattr(options, role)}
        menu = None if options.menu is None else Path(options.menu)
        asked = Asked(
            *(options.setting, menu, options.step, options.low, options.high, columns),
            *(options.period, options.time_zone, options.readings_expected),
        )
        folder, notes = Path(options.state or ""), UserNotes()
        terms = agree(folder, asked, change=options.change)
        if options.partial and terms.totals is None:
            raise OptionError("`partial` is for settings that end in @total", kind="release")
        if options.tell and not terms.published:
            options.tell("no range is published, so guarantees mean almost nothing: name `low` and `high` on first use")
        if options.tell and terms.setting_text.partition("@")[0] == "none":
            options.tell("the setting is none: readings are rounded to the lattice and not masked")
        rows, stopped = 0, None
        try:
            if terms.totals is None:
                rows = _masked_readings(options, source, target, terms, notes)
            else:
                chosen = {"partial": options.partial, "revise": options.revise}
                rows = mask_csv_totals(source, target, State(folder), terms, notes, clock.time_ns() // 1000, **chosen)
        except StoppedError as error:  # a file keeps what was masked until then: it is charged
            stopped = error
        for note in notes:
            (options.tell or str)(note)
    if stopped:
        raise stopped
    return rows


def _masked_readings(options: Mask, source: Any, target: Any, terms: "Terms", notes: "UserNotes") -> int:
    from halfmask_device import Producer, mask_csv

    producer = Producer(terms.setting_text, terms.lattice, options.state or "", revise=options.revise)
    try:
        return mask_csv(source, target, producer, **terms.columns)
    finally:
        notes += producer.notes


def _masked_array(options: Mask) -> "FloatArray":
    """Return the reports of an array: reading plus noise, in the readings' unit."""
    import numpy as np

    from halfmask.mechanisms.setting import PrivacySetting
    from halfmask_device import Lattice, noise
    from halfmask_device.setting import READING, split_release
    from halfmask_device.terms import STEP, widest

    try:
        readings = np.array(options.source, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ReadingError("the array holds something that is not a number", kind="array") from error
    present, setting = np.isfinite(readings), str(options.setting)
    law, release = split_release(setting)
    if release != READING:
        raise OptionError(
            f"{setting} masks the total of a period, and an array has no periods: add up the values of each period "
            f"yourself, clip the sums to `low` and `high`, and mask them with {law}",
            kind="release",
            field="setting",
        )
    reports = np.full(readings.shape, np.nan)
    if options.rng is not None:
        reports[present] = PrivacySetting.parse(setting).mask(readings[present], options.rng)
        return reports
    step = str(STEP if options.step is None else options.step)
    low, high = (end if end is None else str(end) for end in (options.low, options.high))
    lattice = Lattice(step, low or f"-{widest(step)}", high or widest(step))
    steps = np.array([lattice.steps(each) for each in readings[present].tolist()], dtype=np.float64)
    steps += noise(setting, lattice, steps.size)
    reports[present] = steps * lattice.unit.numerator / lattice.unit.denominator
    return reports


@contextmanager
def _streams(options: Mask) -> Iterator[tuple[Any, Any]]:
    """Yield the streams of the readings and of the reports; a file of reports is written completely or not at all."""
    from halfmask.files import whole_file

    if not isinstance(options.source, str | Path):
        yield options.source, options.output
        return
    if not Path(options.source).is_file():
        raise SourceError(
            f"{options.source}: no such file: name a CSV of readings", place=str(options.source), kind="missing"
        )
    with (
        open(options.source, "rb") as source,
        whole_file(options.output) as temporary,
        open(temporary, "wb") as target,
    ):
        yield source, target


def main(options: Mask) -> None:
    """Mask readings on the producer's own device: CSV from standard input, masked CSV to standard output."""
    mask(replace(options, source=sys.stdin.buffer, output=sys.stdout.buffer, tell=note))
