"""What masking costs on a device: draws and readings a second, beside OpenDP's samplers and numpy's in the same run.

One core, nothing in parallel, in core-seconds, so that other programs disturb little: a slow device is this
times how much slower it is. Nothing is asserted.
"""

import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np

from halfmask.mechanisms.setting import PrivacySetting
from halfmask_device import DeviceSetting, Lattice, Producer, noise

LATTICE = Lattice("0.001", "0", "10")
SETTINGS = (
    *("laplace:0.5", "gaussian:0.5", "geometric:0.5,0.001", "uniform:0.5", "staircase:1,0.5,0.3"),
    *("sine:0.9,0.3,0.6,0.6,0.3", "tabulated:0.1,0.5,1,1"),
)
OPENDP = SETTINGS[:3]
DRAWS = MANY = 50_000
FEW = 1000
START = datetime(2026, 1, 1)


def seconds(work: Callable[[], object]) -> float:
    """Of the quickest of three runs."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def plain_numpy(setting: str, number: int) -> float:
    """Seconds of the simulation's sampler, which is fast and unfit for devices."""
    parsed, rng = PrivacySetting.parse(setting), np.random.default_rng(0)
    return seconds(lambda: parsed.law.sample(np.array(parsed.parameters), number, rng))


def opendp(setting: str) -> Callable[[int], object]:
    """OpenDP's sampler of the same lattice law: many draws at once."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian, make_laplace
    from opendp.metrics import l1_distance, l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    parsed = DeviceSetting.parse(setting)
    gaussian = parsed.mechanism == "gaussian"
    make, distance = (make_gaussian, l2_distance) if gaussian else (make_laplace, l1_distance)
    nearest = float(scale := parsed.parameters[0] / LATTICE.unit)
    above = nearest if Fraction(nearest) >= scale else math.nextafter(nearest, math.inf)
    measurement: Any = make(vector_domain(atom_domain(T="i64")), distance(T="i64"), above)
    return lambda number: measurement([0] * number)


def singly(sampler: Callable[[int], object]) -> None:
    for _ in range(FEW):
        sampler(1)


def draws(settings: Sequence[str] = SETTINGS) -> None:
    """Noise alone: draws a second by ours, by OpenDP, by numpy in floating point."""
    for setting in settings:
        noise(setting, LATTICE, 1000)
        ours = seconds(partial(noise, setting, LATTICE, DRAWS))
        line = f"  {setting}: {DRAWS / ours:,.0f} draws/s"
        if setting in OPENDP:
            sampler = opendp(setting)
            line += f", OpenDP {DRAWS / seconds(partial(sampler, DRAWS)):,.0f} at once"
            line += f" and {FEW / seconds(partial(singly, sampler)):,.0f} one by one"
        print(line + f", numpy's floats {20 * DRAWS / plain_numpy(setting, 20 * DRAWS):,.0f}")


def readings(clock: Iterator[int], number: int) -> list[tuple[str, str]]:
    """Readings at ever new minutes, as a CSV would give them."""
    return [((START + timedelta(minutes=m)).isoformat(), f"{m % 9999 / 1000:.3f}") for m in islice(clock, number)]


def at_once(device: Producer, left: Iterator[list[tuple[str, str]]]) -> None:
    list(device.reports(next(left)))


def one_by_one(device: Producer, left: Iterator[list[tuple[str, str]]]) -> None:
    for reading in next(left):
        device.report(*reading)


def masking() -> None:
    """Readings through a device with its state on disk, at once and one by one."""
    for setting in (SETTINGS[0], SETTINGS[1], SETTINGS[5]):
        with tempfile.TemporaryDirectory() as folder:
            device, clock = Producer(setting, LATTICE, Path(folder) / "state"), count()
            list(device.reports(readings(clock, 1000)))
            together = seconds(partial(at_once, device, iter([readings(clock, MANY) for _ in range(3)])))
            apart = seconds(partial(one_by_one, device, iter([readings(clock, FEW) for _ in range(3)])))
            size = sum(path.stat().st_size for path in (Path(folder) / "state").iterdir()) / next(clock)
        print(
            f"  masked by {setting}: {MANY / together:,.0f} readings/s at once, {FEW / apart:,.0f} one by one, "
            f"{size:.0f} bytes of state a reading"
        )


def run() -> None:
    """The table of draws, and of readings with the state."""
    print(f"device: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; lattice {LATTICE.step}, per core-second")
    draws()
    masking()


if __name__ == "__main__":
    run()
