"""``halfmask mask``: masking on a producer's own device."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, Flag, Options, Teller, command
from halfmask.commands._output import note
from halfmask.errors import SourceError, StoppedError

GROUP = "Share: device"

_InPython = Annotated[Any, Parameter(parse=False, show=False)]


@Parameter(name="*")
@dataclass(frozen=True)
class Mask(Options):
    """Options of `mask`. Numbers are texts, so that they are exact.

    Parameters
    ----------
    source
        A CSV of readings, or an open binary stream; the command line reads standard input.
    output
        The file to write, or an open binary stream; the command line writes to standard output.
    state
        Folder of this device's secret, terms and memory: one for each producer. Keep it, and keep it private.
    setting
        A setting (laplace:0.5), or an id of the menu (C). Needed on first use, then remembered.
    menu
        A file that 'halfmask optimize' wrote; its settings are remembered too (menu.json where an id is asked for).
    step
        Step of the published lattice that readings are rounded to and reports lie on (0.001 on first use).
    low
        Least value of the published range; smaller readings count as it (-1000000 on first use, which is hardly one).
    high
        Largest value of the published range; larger readings count as it (1000000 on first use, which is hardly one).
    time
        The column with the times (time on first use).
    value
        The column with the readings, which is masked (value on first use); all other columns pass as they are.
    sensor
        The column that tells sensors apart, where a device has several.
    change
        Share by another setting, menu or columns from here on.
    revise
        Report another value for a time that was reported already: one more look at the true value, which is counted.
    tell
        Hears what should be known.
    """

    positional: ClassVar[tuple[str, ...]] = ("source", "output")

    _: KW_ONLY
    source: _InPython = None
    output: _InPython = None
    state: AnyPath
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
    tell: Teller = None

    def check(self) -> None:
        """A stream has no place to check."""
        if isinstance(self.output, str | Path):
            super().check()


@command(Mask)
def mask(options: Mask) -> int:
    """Mask one producer's readings on that producer's own device; gives how many rows.

    Terms are remembered in ``state``. For single readings see `halfmask_device.Producer`.
    """
    from halfmask_device import Asked, Producer, agree, mask_csv

    with _streams(options) as (source, target):
        columns = {role: getattr(options, role) for role in ("time", "value", "sensor") if getattr(options, role)}
        menu = None if options.menu is None else Path(options.menu)
        asked = Asked(options.setting, menu, options.step, options.low, options.high, columns)
        terms = agree(Path(options.state), asked, change=options.change)
        producer = Producer(terms.setting_text, terms.lattice, options.state, revise=options.revise)
        if options.tell and not terms.published:
            options.tell("no range is published, so guarantees mean nearly nothing: name `low` and `high` on first use")
        if options.tell and terms.setting_text == "none":
            options.tell("the setting is none: readings are rounded to the lattice and not masked")
        rows, stopped = 0, None
        try:
            rows = mask_csv(source, target, producer, **terms.columns)
        except StoppedError as error:  # a file keeps what was masked until then: it is charged
            stopped = error
        for note in producer.notes:
            (options.tell or str)(note)
    if stopped:
        raise stopped
    return rows


@contextmanager
def _streams(options: Mask) -> Iterator[tuple[Any, Any]]:
    """Where readings come from and where reports go; a file is whole or not there."""
    from halfmask.files import whole_file

    if not isinstance(options.source, str | Path):
        yield options.source, options.output
        return
    if not Path(options.source).is_file():
        raise SourceError(f"{options.source}: no such file: name a CSV of readings", place=str(options.source))
    with (
        open(options.source, "rb") as source,
        whole_file(options.output) as temporary,
        open(temporary, "wb") as target,
    ):
        yield source, target


def main(options: Mask) -> None:
    """Mask readings on the producer's own device: CSV from standard input, masked CSV to standard output."""
    mask(replace(options, source=sys.stdin.buffer, output=sys.stdout.buffer, tell=note))
