"""How often `halfmask suspects` finds a cheat, by what the producer does, how much noise is claimed, and days kept.

In each of `RUNS` runs, one of `PRODUCERS` homes with half-hourly readings cheats. The last column says how many runs
flagged an honest home. Homes differ in level (gamma, variation 0.6) and in their times of use. Readings vary around
both by half.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.service.campaign import LatticeNoise, lattice_noise
from halfmask.service.storage.report_rows import ReportRow
from halfmask.service.suspects import find_suspects
from halfmask_device.instants import DAY, MINUTE

PRODUCERS, RUNS, READINGS = 120, 10, 48
STEP = Fraction(1, 1000)
CLAIMED = {"light": "laplace:0.1", "medium": "laplace:0.3", "heavy": "laplace:1"}
DAYS = (1, 7)
Cheat = Callable[[FloatArray, FloatArray], FloatArray]


def _yesterday(readings: FloatArray, noise: FloatArray) -> FloatArray:
    return np.tile((readings + noise)[:READINGS], readings.size // READINGS)


CHEATS: dict[str, Cheat] = {
    "readings without noise": lambda readings, _: readings,
    "half the noise": lambda readings, noise: readings + noise / 2,
    "yesterday's reports again": _yesterday,
    "40 times the level, honest noise": lambda readings, noise: 40 * readings + noise,
    "4 times the level from the second day on": lambda readings, noise: (
        readings * np.where(np.arange(readings.size) < READINGS, 1, 4) + noise
    ),
}


def homes(days: int, rng: np.random.Generator) -> FloatArray:
    """Readings of all homes in steps: level x time of day x chance, 0.25 kWh on average."""
    levels = rng.gamma(1 / 0.6**2, 250 * 0.6**2, PRODUCERS)
    peaks = rng.uniform(0, READINGS, PRODUCERS)
    times = np.arange(days * READINGS)
    shapes = 1 + 0.6 * np.cos(2 * np.pi * (times - peaks[:, None]) / READINGS)
    return np.asarray(levels[:, None] * shapes * rng.gamma(4, 0.25, (PRODUCERS, times.size)))


def draws(noise: LatticeNoise, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
    side = noise.masses(1)
    mass = np.concatenate([side[:0:-1], side])
    return np.asarray(rng.choice(mass.size, shape, p=mass / mass.sum()) - side.size + 1.0)


def found(setting: str, days: int, cheat: Cheat, seed: int) -> tuple[bool, bool]:
    """Return whether the cheat was flagged, and whether an honest home was."""
    rng, noise = np.random.default_rng(seed), lattice_noise(setting, STEP)
    readings = homes(days, rng)
    noises = draws(noise, (PRODUCERS, days * READINGS), rng)
    reports = readings + noises
    reports[0] = cheat(readings[0], noises[0])
    times = [day * DAY + each * 30 * MINUTE for day in range(days) for each in range(READINGS)]
    rows = [
        ReportRow(producer, time, int(step), "A", 0)
        for producer in range(PRODUCERS)
        for time, step in zip(times, np.rint(reports[producer]), strict=True)
    ]
    flagged = {each.producer for each in find_suspects(rows, {"A": noise}).suspects}
    return 0 in flagged, bool(flagged - {0})


def run() -> None:
    """Print the table of docs/operating.md."""
    print(f"| cheat | {' | '.join(f'{name}, {days} d' for name in CLAIMED for days in DAYS)} | honest flagged |")
    print("|---" * (len(CLAIMED) * len(DAYS) + 2) + "|")
    for name, cheat in CHEATS.items():
        cells, wrong = [], 0
        for setting in CLAIMED.values():
            for days in DAYS:
                runs = [found(setting, days, cheat, seed) for seed in range(RUNS)]
                cells.append(f"{sum(caught for caught, _ in runs) / RUNS:.0%}")
                wrong += sum(honest for _, honest in runs)
        print(f"| {name} | {' | '.join(cells)} | {wrong} of {RUNS * len(DAYS) * len(CLAIMED)} |", flush=True)
