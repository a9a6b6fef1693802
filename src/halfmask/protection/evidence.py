"""The knowledge of an attacker: the population's distribution of readings, and series of some users over time.

A profile gives both: the histogram of readings, and each user's totals by period. A panel gives series of single
readings, for a limited sample of users and a limited stretch of time.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.errors import OptionError, SourceError
from halfmask.profiles.bins import edge
from halfmask.profiles.periods import DAY
from halfmask.profiles.profile import Profile

if TYPE_CHECKING:
    import pyarrow as pa

    from halfmask.data.panel import Panel

T = TypeVar("T")

MOST_USERS = 500
MOST_TIMES = 4096
SECONDS = 1_000_000
SAME = 1e-6
"""Sums that differ by less are equal, except for the order of addition."""


@dataclass(frozen=True, eq=False)
class Population:
    """The distribution of one reading: uniform within pieces, and zeros.

    ``low``, ``high``  ends of the pieces, ascending and disjoint
    ``share``          probability of each piece
    ``zero``           probability of a zero
    ``unit``           unit of a reading

    The pieces are the profile's bins, 1.1 % wide, negative ones first. Nothing finer is known within a bin.
    """

    low: FloatArray
    high: FloatArray
    share: FloatArray
    zero: float
    unit: str = ""

    def cdf(self, x: FloatArray) -> FloatArray:
        """P(s <= x)."""
        knots = np.stack([self.low, self.high], axis=1).ravel()
        below = np.cumsum(self.share)
        heights = np.stack([below - self.share, below], axis=1).ravel()
        smooth = np.interp(x, knots, heights) if len(knots) else np.zeros(np.shape(x))
        return np.asarray(smooth + np.where(x >= 0, self.zero, 0.0))

    def quantiles(self, probabilities: FloatArray) -> FloatArray:
        """Return the values at ascending probabilities."""
        place = int(np.searchsorted(self.low, 0.0))
        low, high, share = (
            np.insert(column, place, value)
            for column, value in ((self.low, 0.0), (self.high, 0.0), (self.share, self.zero))
        )
        upper = np.cumsum(share)
        piece = np.minimum(np.searchsorted(upper, probabilities * upper[-1]), len(share) - 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            within = (probabilities * upper[-1] - (upper - share)[piece]) / share[piece]
        return np.asarray(low[piece] + np.clip(np.nan_to_num(within), 0, 1) * (high - low)[piece])

    @property
    def varies(self) -> bool:
        """Whether readings differ. If all are in one piece, the best guess without a report is exact."""
        return len(self.share) + (self.zero > 0) > 1

    @property
    def mean(self) -> float:
        return float(self.share @ (self.low + self.high) / 2)

    @property
    def variance(self) -> float:
        square = float(self.share @ (self.low**2 + self.low * self.high + self.high**2)) / 3
        return max(square - self.mean**2, 0.0)

    @cached_property
    def prior_absolute(self) -> float:
        """E|s - median|: the mean error of the best guess of a reading without a report of it."""
        middle = self.quantiles((np.arange(2**18) + 0.5) / 2**18)
        return float(np.mean(np.abs(middle - np.median(middle))))

    @property
    def typical(self) -> float:
        """The median |s| of readings other than 0, to within a bin."""
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        order = np.argsort(size)
        below = np.cumsum(self.share[order])
        return float(size[order][np.searchsorted(below, below[-1] / 2)])


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data that attacks use.

    ``series``      (users, times) true values of the numbers that are reported masked; NaN if missing
    ``counts``      (users, times) number of readings in each: 1 for readings, n for totals
    ``squares``     (users, times) sum of s^2 over these readings
    ``times``       start of each column in microseconds of local time; columns are ``step`` apart
    ``resolution``  "readings", or "totals" of a period if only a profile is known
    ``single``      whether a row is one user; rows of a bucketed profile are several
    ``lattice``     step of the lattice of the devices; None if unknown
    ``of_totals``   whether what is masked are the users' totals, each as one number
    """

    population: Population
    series: FloatArray
    counts: FloatArray
    squares: FloatArray
    times: IntArray
    step: int
    resolution: Literal["readings", "totals"]
    single: bool
    lattice: float | None = None
    of_totals: bool = False
    _known: "dict[Any, Any]" = field(default_factory=dict, init=False, repr=False)
    _one_at_a_time: Any = field(default_factory=RLock, init=False, repr=False)

    def once(self, found: "Callable[[Evidence], T]") -> T:
        """Return ``found`` of this evidence, computed on first use only."""
        with self._one_at_a_time:
            if found not in self._known:
                self._known[found] = found(self)
            known: T = self._known[found]
            return known

    @property
    def what(self) -> str:
        """Description of the series, for a sentence."""
        if self.resolution == "readings" and not self.of_totals:
            return f"readings every {_length(self.step)}"
        return "daily totals" if self.step == DAY else f"totals of every {_length(self.step)}"

    def complete(self, share: float) -> IntArray:
        """Return the rows in which at least this share of the columns is present."""
        return np.flatnonzero(np.isfinite(self.series).mean(axis=1) >= share)


def some_of(evidence: Evidence, rows: IntArray, columns: slice | BoolArray = slice(None)) -> Evidence:
    """Return the evidence of some rows and columns."""
    series, counts, squares = (each[rows][:, columns] for each in (evidence.series, evidence.counts, evidence.squares))
    return replace(evidence, series=series, counts=counts, squares=squares, times=evidence.times[columns])


def population_of(profile: Profile) -> Population:
    """Return the distribution of all readings of a profile."""
    index, counts, negatives = profile.bin_index, profile.bin_counts, profile.bin_negatives
    zeros = float(profile.rows["zeros"].sum())
    total = float(counts.sum()) + zeros
    if not counts.sum():
        raise OptionError("every reading of the profile is zero: there is nothing to attack", kind="zeros")
    order = np.argsort(index)
    low, high = edge(index[order]), edge(index[order] + 1)
    minus, plus = negatives[order] / total, (counts - negatives)[order] / total
    low, high = np.concatenate([-high[::-1], low]), np.concatenate([-low[::-1], high])
    share = np.concatenate([minus[::-1], plus])
    held = share > 0
    return Population(low[held], high[held], share[held], zeros / total, profile.unit or "")


def evidence_from_profile(profile: Profile, users: int = MOST_USERS) -> Evidence:
    """Return totals by period of at most ``users`` users, evenly spaced in the profile's order.

    A profile does not contain periods without any reading, so columns around them are further apart. If the profile is
    that of released totals, they are masked one by one, as readings are.
    """
    rows = _spread(np.flatnonzero(profile.rows["readings"] > 0), users)
    periods = slice(max(len(profile.periods) - MOST_TIMES, 0), None)
    n, total, squares = (profile.cells[rows][:, periods, k] for k in range(3))
    times = profile.periods[periods]
    step = int(np.median(np.diff(times))) if len(times) > 1 else profile.period.base
    released = "totals_of" in profile.about
    return Evidence(
        population=population_of(profile),
        series=np.where(n > 0, total, np.nan),
        counts=n,
        squares=squares,
        times=times,
        step=step,
        resolution="readings" if released else "totals",
        single=not profile.buckets,
        of_totals=released,
    )


def evidence_from_panel(panel: "Panel", profile: Profile, users: int = MOST_USERS) -> Evidence:
    """Return readings of at most ``users`` users over `MOST_TIMES` steps, which end at the median of users' last
    readings.

    The profile decides which readings are usable; it must be the profile of this panel. A source without a regular step
    cannot be arranged in a matrix of users and times.
    """
    if profile.step is None:
        raise OptionError("the readings have no regular step: attack their totals, without `panel`", kind="step")
    table = _read(panel, profile, users)
    users_of = table["user"].combine_chunks().dictionary_encode()
    names = np.asarray(users_of.dictionary.to_pylist())
    place = np.argsort(np.argsort(names))  # rows in the order of names, whatever order the engine gives readings in
    slot = table["time"].to_numpy() // profile.step
    first = int(slot.min())
    series = np.full((len(names), int(slot.max()) - first + 1), np.nan)
    series[place[users_of.indices.to_numpy()], slot - first] = table["value"].to_numpy()
    present = np.isfinite(series)
    return Evidence(
        population=population_of(profile),
        series=series,
        counts=present.astype(float),
        squares=np.where(present, series, 0.0) ** 2,
        times=(first + np.arange(series.shape[1])) * profile.step,
        step=profile.step,
        resolution="readings",
        single=True,
    )


def _read(panel: "Panel", profile: Profile, users: int) -> "pa.Table":
    """Return user, time and value of the sampled users within the stretch of time."""
    import narwhals as nw

    from halfmask.evaluation.direct.sorted_readings import usable_frame  # here, because numba takes long to import

    frame = usable_frame(panel, profile).with_columns(user=nw.col("user").cast(nw.String))
    _check_same(panel, panel.collect(frame.select(nw.len().alias("n"), nw.col("value").sum().alias("sum"))), profile)
    held = profile.rows["readings"] > 0
    if profile.buckets:
        names = panel.collect(frame.select("user").unique().sort("user").head(users))["user"].to_pylist()
    else:
        names = profile.labels[_spread(np.flatnonzero(held), users)].tolist()
    step = profile.step or DAY
    last = int(np.median(profile.rows["last"][held]))
    within = (nw.col("time") > last - MOST_TIMES * step) & (nw.col("time") <= last)
    table = panel.collect(frame.filter(nw.col("user").is_in(names) & within))
    if not table.num_rows:
        raise SourceError(
            f"{panel.source}: it holds no reading of the profile's users: give the source it was made of", kind="users"
        )
    return table


def _check_same(panel: "Panel", found: "pa.Table", profile: Profile) -> None:
    """Raise a SourceError unless number and sum of the readings are the profile's; equal user names
    would not be enough.
    """
    n, total = int(found["n"][0].as_py()), float(found["sum"][0].as_py() or 0.0)
    cells = profile.cells.sum(axis=(0, 1))
    if n != profile.readings or abs(total - cells[1]) > SAME * max(abs(total), float(np.sqrt(n * cells[2]))):
        raise SourceError(
            f"{panel.source}: its readings ({n:,} usable, sum {total:.6g}) are not the profile's "
            f"({profile.readings:,}, sum {cells[1]:.6g}): give the source and the columns that the profile was made of",
            kind="other",
        )


def _spread(rows: IntArray, most: int) -> IntArray:
    """Return at most ``most`` of the rows, evenly spaced."""
    if most < 2:
        raise OptionError(f"{most} users are too few to attack: take 2 or more", kind="few", field="users")
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(np.int64))]


def _length(step: int) -> str:
    """Return a length of time in words."""
    for unit, size in (("day", DAY), ("hour", 3600 * SECONDS), ("minute", 60 * SECONDS), ("second", SECONDS)):
        if step % size == 0:
            return unit if step == size else f"{step // size} {unit}s"
    return f"{step / SECONDS:g} seconds"
