"""Synthetic readings like the paper's: half-hourly electricity of Irish users, drawn at random.

The reading of user n on day d in half-hour h is, rounded to three decimals and in the unit of the trial's files,

    level(n) * calendar(d) * shape(h) * burst_n(z(n, d, h)) / mean_n

``level``     the user's long-run mean
``calendar``  the factor of the month and the day of the week, for the user's type
``shape``     the typical day of the user's type
``burst_n``   a skewed function of ``z``, divided by its mean ``mean_n``
``z``         a standard normal process: partly the user's rhythm, the same every day (`synthetic_habits`), partly new

Some whole days are missing, in runs.

Means, quantiles and shapes are figures that the trial published. The differences between users' rhythms and bursts
are fitted to attacks on 500 Swiss households (`synthetic_habits`). The days of businesses are assumed. Users are
independent given the calendar, so the data show no effect of weather or of other common causes.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.special import ndtri

from halfmask.arrays import FloatArray, IntArray
from halfmask.data.arrow_blocks import side_by_side
from halfmask.data.synthetic_habits import HARMONICS, SLOTS, corrected, habits
from halfmask.errors import OptionError
from halfmask.files import whole_file
from halfmask.streams import stream

Progress = Callable[[int, int], None]

FIRST_DAY = np.datetime64("2009-07-14", "D")
FIRST_ID = 1000
CENTURY = 36_524
ROWS_A_GROUP = 120_000

# Households, January to December, Sunday to Saturday, and from 00:00 in half-hours.
MONTHS = np.array([0.604, 0.554, 0.507, 0.460, 0.441, 0.422, 0.43, 0.44, 0.46, 0.49, 0.544, 0.64])
HOME_WEEK = np.array([0.527, 0.500, 0.497, 0.495, 0.486, 0.481, 0.514])
# fmt: off
HOME_DAY = np.array([
    0.492, 0.401, 0.329, 0.279, 0.244, 0.222, 0.208, 0.200, 0.194, 0.192, 0.193, 0.199,
    0.212, 0.241, 0.283, 0.360, 0.434, 0.469, 0.475, 0.486, 0.499, 0.509, 0.515, 0.518,
    0.523, 0.546, 0.569, 0.566, 0.535, 0.517, 0.509, 0.521, 0.545, 0.592, 0.661, 0.736,
    0.799, 0.815, 0.800, 0.810, 0.793, 0.778, 0.769, 0.770, 0.741, 0.702, 0.642, 0.579,
])
# fmt: on

# Assumed: businesses draw by office hours and less at weekends.
OFFICE_WEEK = np.array([0.7, 1.1, 1.1, 1.1, 1.1, 1.1, 0.8])
OFFICE_DAY = np.interp(np.arange(SLOTS) / 2, [0, 6, 9, 17, 21, 24], [0.5, 0.5, 1.7, 1.7, 0.6, 0.5])


@dataclass(frozen=True)
class UserType:
    """One type of user: its number in the trial, its mean, the spread of its users' means, and its typical week and
    day.

    ``spread``  pairs of a probability and a long-run mean. The logarithm of the mean is interpolated linearly in the
                normal score of the probability, so two points define a lognormal distribution.
    """

    name: str
    allocated: int
    mean: float
    spread: tuple[tuple[float, float], ...]
    week: FloatArray
    day: FloatArray


# The ends of the households' spread (1 % and below, the maximum's probability) are not published: they are
# chosen so that mean 0.497 and log-sd 0.56 come out. The spreads of the other types are assumed lognormal.
# fmt: off
HOME_SPREAD = (
    (0.0001, 0.03), (0.01, 0.08),
    (0.05, 0.159), (0.25, 0.315), (0.50, 0.471), (0.75, 0.650), (0.95, 0.935), (0.99, 1.20),
    (1 - 0.5 / 4225, 2.2),
)
# fmt: on
TYPES = (
    UserType("residential", 4225, 0.497, HOME_SPREAD, HOME_WEEK, HOME_DAY),
    UserType("small business", 485, 2.09, ((0.0001, 0.043), (0.9999, 43.0)), OFFICE_WEEK, OFFICE_DAY),
    UserType("other", 1735, 0.747, ((0.0001, 0.043), (0.9999, 7.9)), HOME_WEEK, HOME_DAY),
)

# The daily changing part is the sum of a part that lasts the day and one that depends on the last half-hour. With both
# and the rhythm, the lag-1 autocorrelation is 0.5.
DAY_WEIGHT = 0.62
HALF_HOUR_MEMORY = 0.12

# Readings are missing on days when a slow normal process is low: a tenth of all days, in runs of about three.
OUTAGE = float(ndtri(0.10))
OUTAGE_MEMORY = 0.9


def synth(
    path: str | Path,
    *,
    users: int = 6435,
    days: int = 536,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a synthetic panel to a Parquet file: ``user``, ``time``, ``value``, ordered by user, then time.

    The file has ``users * days * 48`` rows and begins at 2009-07-14 00:00. A missing reading is a row without a value.
    The calendar's factors are relative to the chosen days, so a short panel keeps each type's mean. Equal arguments
    give equal bytes, whatever the number of workers.

    ``workers``   number of threads; by default one per core
    ``progress``  called with the number of users written and of all users; if it raises an exception, the run ends and
                  leaves no file
    """
    workers = (os.cpu_count() or 1) if workers is None else workers
    _check("users", users, 1, np.iinfo(np.int32).max - FIRST_ID)
    _check("seed", seed, 0, None)
    _check("days", days, 1, CENTURY)
    _check("workers", workers, 1, None)
    if Path(path).is_dir():
        raise OptionError(f"cannot write the panel to {path}: it is a folder; name a file in it", kind="folder")
    with whole_file(path) as temporary:
        _write(temporary, _Population.draw(users, days, seed), workers, progress)


def _check(name: str, value: int, low: int, high: int | None) -> None:
    if isinstance(value, int) and low <= value and (high is None or value <= high):
        return
    span = f"from {low} to {high}" if high is not None else f"of {low} or more"
    raise OptionError(f"synth: {name} is {value!r}; give a whole number {span}", kind="number", field=name)


def _types(users: int, seed: int) -> NDArray[np.intp]:
    """Return an index into ``TYPES`` for each user, in random order and in the trial's proportions."""
    shares = np.cumsum([0, *(kind.allocated for kind in TYPES)])
    counts = np.diff(np.rint(users * shares / shares[-1]).astype(np.intp))
    return stream(seed, "synth.types").permutation(np.repeat(np.arange(len(TYPES)), counts))


def _levels(kind: UserType, users: int, rng: np.random.Generator) -> FloatArray:
    """Return the users' long-run means: one draw from each of ``users`` equally likely strata, scaled to the type's
    mean.

    With strata, quantiles and mean are also right in small panels.
    """
    probabilities, means = np.array(kind.spread).T
    scores = ndtri((rng.permutation(users) + rng.random(users)) / users)
    levels: FloatArray = np.exp(np.interp(scores, ndtri(probabilities), np.log(means)))
    levels *= kind.mean / levels.mean() if users else 1.0
    return levels


def _calendar(kind: UserType, days: int) -> FloatArray:
    """Return a factor for each day: month times day of the week, divided by the mean of all days."""
    dates = FIRST_DAY + np.arange(days)
    month = dates.astype("datetime64[M]").astype(int) % 12
    sunday_first = (dates.astype(int) + 4) % 7
    factor: FloatArray = MONTHS[month] * kind.week[sunday_first]
    factor /= factor.mean()
    return factor


@dataclass(frozen=True)
class _Population:
    """The users' properties. Readings are drawn block by block, each block from its own random stream.

    One entry per user:

    ``types``   index into `TYPES`
    ``levels``  long-run mean
    ``places``  rank of the mean among users of the type

    One row per type: ``calendars``, the factor of each day, and ``shapes``, the typical day.

    ``turns``   random shifts of all habits
    """

    seed: int
    types: NDArray[np.intp]
    levels: FloatArray
    places: IntArray
    turns: FloatArray
    calendars: FloatArray
    shapes: FloatArray

    @classmethod
    def draw(cls, users: int, days: int, seed: int) -> "_Population":
        types, rng = _types(users, seed), stream(seed, "synth.people")
        levels, places = np.empty(users), np.empty(users, np.int64)
        for index, kind in enumerate(TYPES):
            of_kind = types == index
            levels[of_kind] = _levels(kind, of_kind.sum(), rng)
            places[of_kind] = levels[of_kind].argsort().argsort()
        calendars = np.array([_calendar(kind, days) for kind in TYPES])
        turns = rng.random(HARMONICS + 2)
        shapes = np.array([corrected(kind.day / kind.day.mean(), turns) for kind in TYPES])
        return cls(seed, types, levels, places, turns, calendars, shapes)

    @property
    def days(self) -> int:
        return len(self.calendars[0])

    def readings(self, first: int, last: int) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return the values of users ``first`` to ``last`` (exclusive), and which are missing; ordered by user, then
        time.
        """
        rng, types, levels = stream(self.seed, "synth.readings", first), self.types[first:last], self.levels[first:last]
        shape = (last - first, self.days, SLOTS)
        missing = _remembering(rng, shape[:2], OUTAGE_MEMORY) < OUTAGE
        own, day = habits(self.places[first:last], self.turns), self.shapes[types]
        values = own.bursts(_activity(rng, shape))
        values *= (1000 * levels[:, None] * self.calendars[types])[:, :, None]
        values *= (day / (day * own.expected()).mean(axis=1, keepdims=True))[:, None]
        np.rint(values, out=values)
        values /= 1000
        return values.ravel(), np.repeat(missing, SLOTS)


def _remembering(rng: np.random.Generator, shape: tuple[int, int], memory: float) -> FloatArray:
    """Draw a stationary normal AR(1) process along the last axis: z_t = memory z_(t-1) + sqrt(1 - memory^2) e_t."""
    step = np.sqrt(1 - memory**2)
    noise = rng.standard_normal(shape)
    noise[:, 0] /= step
    from scipy.signal import lfilter  # here, because it takes a second to import

    process: FloatArray = lfilter([step], [1, -memory], noise)
    return process


def _activity(rng: np.random.Generator, shape: tuple[int, int, int]) -> FloatArray:
    """Draw the part of activity that differs from day to day: standard normal, partly constant over a day."""
    users, days, slots = shape
    lasting = rng.standard_normal((users, days, 1))
    fading = _remembering(rng, (users, days * slots), HALF_HOUR_MEMORY).reshape(shape)
    fading *= np.sqrt(1 - DAY_WEIGHT**2)
    fading += DAY_WEIGHT * lasting
    return fading


SCHEMA = pa.schema(
    [
        pa.field("user", pa.int32(), nullable=False),
        pa.field("time", pa.timestamp("us"), nullable=False),
        pa.field("value", pa.float64()),
    ]
)


def _write(path: Path, population: _Population, workers: int, progress: Progress | None) -> None:
    """Draw blocks of users in threads, and write them in order. NumPy and Arrow release the interpreter's lock."""
    users = len(population.types)
    block = max(1, round(ROWS_A_GROUP / (population.days * SLOTS)))
    half_hours = FIRST_DAY.astype("datetime64[us]") + np.arange(population.days * SLOTS) * np.timedelta64(30, "m")
    times = pa.array(np.tile(half_hours, min(block, users)))
    ends = [(first, min(first + block, users)) for first in range(0, users, block)]

    def draw(first: int, last: int) -> pa.Table:
        ids = np.repeat(np.arange(FIRST_ID + first, FIRST_ID + last, dtype=np.int32), len(half_hours))
        values, missing = population.readings(first, last)
        return pa.table([pa.array(ids), times.slice(0, len(ids)), pa.array(values, mask=missing)], schema=SCHEMA)

    # Times differ by a constant and values repeat. These encodings need a third of the default's bytes.
    encodings = {"use_dictionary": ["user", "value"], "column_encoding": {"time": "DELTA_BINARY_PACKED"}}
    with pq.ParquetWriter(path, SCHEMA, compression="zstd", **encodings) as writer:
        for (_, last), table in zip(ends, side_by_side((partial(draw, *each) for each in ends), workers), strict=True):
            writer.write_table(table)
            if progress is not None:
                progress(last, users)
