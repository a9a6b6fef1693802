"""What masking costs on a device: readings a second by law and backend, and a day of half-hourly readings.

One core, nothing in parallel: a slow device is this times how much slower it is. Nothing is asserted.
"""

import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import count, islice
from pathlib import Path

import numpy as np

from halfmask.mechanisms.setting import PrivacySetting
from halfmask_device import Backend, Lattice, Producer, noise

LATTICE = Lattice("0.001", "0", "10")
SETTINGS = (
    *("laplace:0.5", "gaussian:0.5", "geometric:0.5,0.001", "uniform:0.5", "staircase:1,0.5,0.3"),
    *("sine:0.9,0.3,0.6,0.6,0.3", "tabulated:0.1,0.5,1,1"),
)
OPENDP = SETTINGS[:3]
DAY = 48
DRAWS = 20_000


def seconds(work: Callable[[], object]) -> float:
    """Of the quickest of three runs."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def plain_numpy(setting: str, number: int) -> float:
    """Seconds of the simulation's sampler, which is fast and unfit for devices."""
    parsed, rng = PrivacySetting.parse(setting), np.random.default_rng(0)
    return seconds(lambda: parsed.law.sample(np.array(parsed.parameters), number, rng))


def draws() -> None:
    """Noise alone: microseconds a draw, and how many times a draw in floating point that is."""
    for setting in SETTINGS:
        plain = plain_numpy(setting, 50 * DRAWS) / 50
        for backend in ("own", "opendp") if setting in OPENDP else ("own",):
            took = seconds(partial(noise, setting, LATTICE, DRAWS, backend=backend))
            print(
                f"  {setting} ({backend}): {DRAWS / took:,.0f} draws/s, {took / DRAWS * 1e6:.1f} us each, "
                f"{took / plain:,.0f} x numpy"
            )


class Day:
    """A device with its state on disk, and readings at ever new times."""

    def __init__(self, folder: Path, setting: str, backend: Backend) -> None:
        self.device, self.clock = Producer(setting, LATTICE, folder, backend=backend), count()

    def readings(self, number: int) -> list[tuple[str, float]]:
        return [(str(time), 0.5) for time in islice(self.clock, number)]

    def one_by_one(self) -> None:
        for reading in self.readings(DAY):
            self.device.report(*reading)

    def at_once(self, number: int) -> None:
        list(self.device.reports(self.readings(number)))


def days() -> None:
    """A day of readings through a device, one by one and at once; and a year at once."""
    cases: tuple[tuple[str, Backend], ...] = ((SETTINGS[0], "own"), (SETTINGS[0], "opendp"), (SETTINGS[5], "own"))
    for setting, backend in cases:
        with tempfile.TemporaryDirectory() as folder:
            day = Day(Path(folder) / "state", setting, backend)
            single, together = seconds(day.one_by_one), seconds(partial(day.at_once, DAY))
            year = seconds(partial(day.at_once, 365 * DAY))
            size = (Path(folder) / "state" / "noise.sqlite").stat().st_size / next(day.clock)
        print(
            f"  a day through {setting} ({backend}), state on disk: {single * 1e3:.0f} ms reading by reading, "
            f"{together * 1e3:.1f} ms at once; a year at once {year:.2f} s ({365 * DAY / year:,.0f} readings/s), "
            f"{size:.0f} bytes a reading"
        )


def run() -> None:
    """The table of draws, and of days with the state."""
    print(f"device: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; lattice {LATTICE.step}, one core used")
    draws()
    days()


if __name__ == "__main__":
    run()
