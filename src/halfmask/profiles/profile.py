"""The profile: sums and counts of readings. All later stages use it instead of the readings."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray
from halfmask.data.averaged_quantities import state_of
from halfmask.errors import OptionError
from halfmask.profiles.bins import bin_of
from halfmask.profiles.periods import Period
from halfmask.results import Result

if TYPE_CHECKING:
    import pyarrow as pa

StringArray = npt.NDArray[np.str_]

CELL_COLUMNS = ("n", "s1", "s2", "s3", "s4")
COUNTS = ("rows", "readings", "zeros", "negatives", "nonfinite", "outside")
SUMS = ("sum_abs", "inverse1", "inverse2", "inverse3", "inverse4")
SPAN = ("first", "last")
OF_USERS = ("members", "empty", "all_zero", "expected")  # of one user they follow from the columns above
SCALES = ("scale1", "scale2", "scale3", "scale4")
ROW_COLUMNS = (*COUNTS, *SUMS, *SPAN, *OF_USERS, *SCALES)

NEVER, ALWAYS = np.iinfo(np.int64).max, np.iinfo(np.int64).min


@dataclass(frozen=True)
class Counts:
    """Sparse counts, sorted by row, then bin: ``count[i]`` readings of row ``row[i]`` are in bin ``bin[i]``."""

    row: IntArray
    bin: IntArray
    count: IntArray

    @classmethod
    def gather(cls, row: npt.ArrayLike, bin_: npt.ArrayLike, count: npt.ArrayLike) -> "Counts":
        """Sort entries and add up those of the same row and bin."""
        row, bin_, count = (np.asarray(a, np.int64) for a in (row, bin_, count))
        if not len(row):
            return cls(row, bin_, count)
        key = np.stack([row, bin_])
        order = np.lexsort((bin_, row))
        key, count = key[:, order], count[order]
        new = np.flatnonzero(np.concatenate([[True], (np.diff(key) != 0).any(axis=0)]))
        return cls(key[0, new], key[1, new], np.add.reduceat(count, new))

    def of(self, rows: IntArray) -> "Counts":
        """Return the counts of distinct rows, renumbered in the order of ``rows``."""
        place = np.full(int(max(self.row.max(initial=-1), rows.max(initial=-1))) + 1, -1, np.int64)
        place[rows] = np.arange(len(rows))
        kept = place[self.row] >= 0 if len(self.row) else np.zeros(0, bool)
        return Counts.gather(place[self.row[kept]], self.bin[kept], self.count[kept])


@dataclass(frozen=True, eq=False)
class Profile(Result):
    """Sums and counts of readings, per user (or bucket of users) and per period.

    ``labels``   users, or buckets if ``buckets`` is not 0, in ascending order
    ``periods``  start of each period with a reading, in microseconds of local time
    ``cells``    array (row, period, `CELL_COLUMNS`): number of readings and sums of s^k, k = 1..4
    ``rows``     a column of length ``len(labels)`` for each name in `ROW_COLUMNS`:

    - ``readings``: usable readings
    - ``sum_abs``, ``inverse<k>``: sums of |s| and of |s|^-k over non-zero readings
    - ``first``, ``last``: time of the first and last usable reading
    - ``members``: users in the row
    - ``expected``: readings that the users' spans of time would hold without gaps
    - ``scale<k>``: sums over users of readings x (mean |s|)^-k

    Counts of readings:

    ``histogram``  non-zero readings by logarithmic bin of |s| (see `bins`)
    ``scales``     readings by the bin of their user's mean |s|
    ``rounded``    non-zero readings by the coarsest step of which they are multiples (see `rounding`)
    ``grain``      the unit of these steps; None without readings; 0 in a sum of profiles with different grains, which
                   has no such counts

    Per bin, over all users, also in a subset: ``bin_index`` (bins that occur), ``bin_counts`` (readings), ``bin_sizes``
    (sum of |s|) and ``bin_negatives`` (negative readings).

    ``about``   source, policies and other counts: ``unplaced``, ``duplicates``, and ``tiny`` readings taken as 0
    ``totals``  the profile of the users' totals per period, in the same buckets; None if each row is one user, because
                ``cells`` then contain the totals (see `totals`)
    """

    period: Period
    step: int | None
    buckets: int
    labels: StringArray
    rows: dict[str, npt.NDArray[Any]]
    periods: IntArray
    cells: FloatArray
    histogram: Counts
    scales: Counts
    rounded: Counts
    grain: float | None
    bin_index: IntArray
    bin_counts: IntArray
    bin_sizes: FloatArray
    bin_negatives: IntArray
    about: dict[str, Any] = field(default_factory=dict)
    totals: "Profile | None" = None

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def empty(cls, period: Period, buckets: int = 0) -> "Profile":
        """Return a profile without readings, the neutral element of addition."""
        none = np.zeros(0, np.int64)
        counts = Counts(none, none, none)
        rows: dict[str, npt.NDArray[Any]] = {name: np.zeros(0, _dtype(name)) for name in ROW_COLUMNS}
        labels = np.zeros(0, np.str_)
        cells = np.zeros((0, 0, len(CELL_COLUMNS)))
        return cls(
            period, None, buckets, labels, rows, none, cells,
            counts, counts, counts, None, none, none, np.zeros(0), none,
        )  # fmt: skip

    @np.errstate(over="ignore", invalid="ignore")  # a sum beyond the largest double is infinite, and says so
    def __add__(self, other: "Profile") -> "Profile":
        """Return the profile of both sets of readings. Cells of the same user (or bucket) and period are added up."""
        _check_alike(self, other)
        labels, (a_rows, b_rows) = _union(self.labels, other.labels)
        periods, (a_periods, b_periods) = _union(self.periods, other.periods)
        cells = np.zeros((len(labels), len(periods), len(CELL_COLUMNS)))
        cells[np.ix_(a_rows, a_periods)] += self.cells
        cells[np.ix_(b_rows, b_periods)] += other.cells
        bins, (a_bins, b_bins) = _union(self.bin_index, other.bin_index)
        steps = [step for step in (self.step, other.step) if step is not None]
        grains = {grain for grain in (self.grain, other.grain) if grain is not None}
        rounded = _add_counts(self.rounded, a_rows, other.rounded, b_rows)
        together = Profile(
            period=self.period,
            step=min(steps, default=None),
            buckets=self.buckets,
            labels=labels,
            rows={name: _add_rows(name, len(labels), (self, a_rows), (other, b_rows)) for name in ROW_COLUMNS},
            periods=periods,
            cells=cells,
            histogram=_add_counts(self.histogram, a_rows, other.histogram, b_rows),
            scales=_add_counts(self.scales, a_rows, other.scales, b_rows),
            rounded=rounded if len(grains) < 2 else Counts.gather([], [], []),
            grain=0.0 if len(grains) > 1 else next(iter(grains), None),
            bin_index=bins,
            bin_counts=_scatter(len(bins), (a_bins, self.bin_counts), (b_bins, other.bin_counts)),
            bin_sizes=_scatter(len(bins), (a_bins, self.bin_sizes), (b_bins, other.bin_sizes)),
            bin_negatives=_scatter(len(bins), (a_bins, self.bin_negatives), (b_bins, other.bin_negatives)),
            about=_add_about(self.about, other.about),
            totals=_add_totals(self, other),
        )
        return together if self.buckets else together.with_users_derived()

    def merge(self, other: "Profile") -> "Profile":
        """Return the sum of both profiles."""
        return self + other

    def subset(self, labels: Iterable[str]) -> "Profile":
        """Return the profile of some users only."""
        wanted = sorted(set(labels))
        place = {label: row for row, label in enumerate(self.labels)}
        unknown = [label for label in wanted if label not in place]
        if unknown:
            raise OptionError(
                f"the profile has no user '{unknown[0]}' ({len(unknown)} unknown of {len(wanted)})", kind="user"
            )
        rows = np.array([place[label] for label in wanted], np.int64)
        held = np.flatnonzero(self.cells[rows, :, 0].any(axis=0))
        histogram = self.histogram.of(rows)
        return replace(
            self,
            labels=self.labels[rows],
            rows={name: column[rows] for name, column in self.rows.items()},
            periods=self.periods[held],
            cells=self.cells[np.ix_(rows, held)],
            histogram=histogram,
            scales=self.scales.of(rows),
            totals=None if self.totals is None else self.totals.subset(wanted),
            rounded=self.rounded.of(rows),
        )

    @np.errstate(over="ignore", invalid="ignore")  # a sum beyond the largest double is infinite, and says so
    def bucketed(self, buckets: int) -> "Profile":
        """Hash users into buckets. The profile's size then does not depend on the number of users."""
        from halfmask.profiles.totals import total_profile  # here, because totals are profiles themselves

        return replace(self._folded(buckets), totals=total_profile(self)._folded(buckets))

    @np.errstate(over="ignore", invalid="ignore")
    def _folded(self, buckets: int) -> "Profile":
        if self.buckets or not buckets:
            raise OptionError(
                "only a profile of users can be put in buckets, and at least one is needed", field="buckets"
            )
        home = np.array([bucket_of(label, buckets) for label in self.labels], np.int64)
        used, row = np.unique(home, return_inverse=True)
        cells = np.zeros((len(used), *self.cells.shape[1:]))
        np.add.at(cells, row, self.cells)
        return replace(
            self,
            buckets=buckets,
            labels=np.array([bucket_label(b) for b in used], np.str_),
            rows={name: _fold_rows(name, len(used), row, column) for name, column in self.rows.items()},
            cells=cells,
            histogram=Counts.gather(row[self.histogram.row], self.histogram.bin, self.histogram.count),
            scales=Counts.gather(row[self.scales.row], self.scales.bin, self.scales.count),
            rounded=Counts.gather(row[self.rounded.row], self.rounded.bin, self.rounded.count),
        )

    def with_users_derived(self) -> "Profile":
        """Compute the columns that follow from others if each row is one user.

        These are members, empty, all_zero, expected, scale1 to scale4, and the counts ``scales``.
        """
        rows = dict(self.rows)
        readings, sizes = rows["readings"], rows["sum_abs"]
        rows["members"] = np.ones(len(self), np.int64)
        rows["empty"] = (readings == 0).astype(np.int64)
        rows["all_zero"] = ((readings > 0) & (rows["zeros"] == readings)).astype(np.int64)
        span = np.where(readings > 0, rows["last"] - np.minimum(rows["first"], rows["last"]), 0)
        slots = np.where(readings > 0, span // self.step + 1, 0) if self.step else readings
        rows["expected"] = np.maximum(slots, readings)
        scaled = np.flatnonzero((sizes > 0) & np.isfinite(sizes))
        mean = sizes[scaled] / readings[scaled]
        for power in (1, 2, 3, 4):
            rows[f"scale{power}"] = np.zeros(len(self))
            with np.errstate(over="ignore"):
                rows[f"scale{power}"][scaled] = readings[scaled] * mean**-power
        return replace(self, rows=rows, scales=Counts.gather(scaled, bin_of(mean), readings[scaled]))

    def __repr__(self) -> str:
        return f"<Profile of {self.users:,} users, {self.readings:,} readings, {len(self.periods):,} periods>"

    def to_arrow(self) -> "pa.Table":
        """Return a table of the sums and counts, with one row per user or bucket."""
        import pyarrow as pa

        return pa.table({"label": pa.array(self.labels.tolist(), pa.string()), **self.rows})

    @classmethod
    def read(cls, path: str | Path) -> "Profile":
        """Read a profile from a file; see `load_profile`."""
        from halfmask.profiles.store import load_profile

        return load_profile(path)

    def write(self, path: str | Path) -> None:
        """Write the profile to a file; equal profiles give equal bytes."""
        from halfmask.profiles.store import save_profile

        save_profile(self, path)

    @property
    def readings(self) -> int:
        """Return the number of usable readings, after the policies."""
        return int(self.rows["readings"].sum())

    @property
    def users(self) -> int:
        """Return the number of users in the source, including users without a usable reading."""
        return int(self.rows["members"].sum())

    @property
    def unit(self) -> str | None:
        """Return the unit of a reading, such as kWh; None if unknown."""
        return self.about.get("unit")

    @property
    def quantity(self) -> str | None:
        """Return the state that readings measure, such as temperatures; None if readings can be summed."""
        found = self.about.get("quantity") or state_of(self.unit, ())
        return None if found == MIXED else found

    def fingerprint(self) -> str:
        """Return a hash that identifies the dataset.

        It covers each user's number of readings per period and per size, and the signs. It does not cover sums, because
        their last bits depend on the order of addition.
        """
        return self.about.get("totals_of") or self._fingerprint

    @cached_property
    def of_totals(self) -> "Profile":
        """The profile of the users' totals of each period; `released` gives it with the fingerprint of the readings."""
        from halfmask.profiles.totals import total_profile  # here, because totals are profiles themselves

        return total_profile(self) if self.totals is None else self.totals

    @cached_property
    def _fingerprint(self) -> str:
        digest = hashlib.sha256(self.period.text.encode())
        digest.update("\n".join(self.labels).encode())
        sizes = self.histogram
        n, s1, s2 = (self.cells[..., k] for k in range(3))
        with np.errstate(over="ignore", invalid="ignore"):
            sign = np.where(np.abs(s1) > 1e-9 * np.sqrt(n * s2), np.sign(s1), 0)
        parts = (self.periods, n, sizes.row, sizes.bin, sizes.count, self.rows["negatives"], self.bin_negatives, sign)
        for part in parts:
            digest.update(np.ascontiguousarray(part, "<i8").tobytes())
        return digest.hexdigest()[:16]


def bucket_of(user: str, buckets: int) -> int:
    """Return the bucket of a user: the first 32 bits of the MD5 of its name, modulo the number of buckets."""
    return int(hashlib.md5(user.encode(), usedforsecurity=False).hexdigest()[:8], 16) % buckets


def bucket_label(bucket: int) -> str:
    """Return a bucket's name. Names sort like the buckets' numbers."""
    return f"bucket-{bucket:08d}"


def _dtype(name: str) -> type:
    return np.float64 if name in SUMS or name in SCALES else np.int64


def _check_alike(a: Profile, b: Profile) -> None:
    if a.period != b.period:
        raise OptionError(
            f"profiles of different periods do not add up: {a.period.text} and {b.period.text}",
            kind="unalike",
            field="period",
        )
    if a.buckets != b.buckets:
        kinds = " and ".join(f"{p.buckets} buckets" if p.buckets else "single users" for p in (a, b))
        raise OptionError(f"profiles of {kinds} do not add up: make both alike", kind="unalike", field="buckets")
    if a.unit and b.unit and a.unit != b.unit:
        raise OptionError(
            f"profiles in {a.unit} and in {b.unit} do not add up: make both in one unit with `unit`", kind="unalike"
        )


def _union(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[IntArray, IntArray]]:
    """Return the sorted union of two arrays, and the positions of their elements in it."""
    union = np.union1d(a, b)
    return union, (np.searchsorted(union, a), np.searchsorted(union, b))


def _scatter(size: int, *parts: tuple[IntArray, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    total = np.zeros(size, parts[0][1].dtype)
    for where, values in parts:
        total[where] += values
    return total


def _combiner(name: str) -> tuple[np.ufunc, float]:
    """Return the function that combines a column over rows (minimum, maximum or sum), and its neutral element."""
    if name == "first":
        return np.minimum, NEVER
    if name == "last":
        return np.maximum, ALWAYS
    return np.add, 0


def _add_rows(name: str, size: int, *parts: tuple[Profile, IntArray]) -> npt.NDArray[Any]:
    combine, neutral = _combiner(name)
    total: npt.NDArray[Any] = np.full(size, neutral, _dtype(name))
    for profile, rows in parts:
        total[rows] = combine(total[rows], profile.rows[name])
    return total


def _fold_rows(name: str, size: int, row: IntArray, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    combine, neutral = _combiner(name)
    total: npt.NDArray[Any] = np.full(size, neutral, _dtype(name))
    combine.at(total, row, column)
    return total


def _add_counts(a: Counts, a_rows: IntArray, b: Counts, b_rows: IntArray) -> Counts:
    rows = np.concatenate([a_rows[a.row], b_rows[b.row]])
    return Counts.gather(rows, np.concatenate([a.bin, b.bin]), np.concatenate([a.count, b.count]))


def _add_totals(a: Profile, b: Profile) -> Profile | None:
    """Add the totals of two profiles. An empty profile contributes nothing."""
    if not len(a) or not len(b):
        return (a if len(a) else b).totals
    return None if a.totals is None or b.totals is None else a.totals + b.totals


MIXED = "mixed"
"""The value of an entry of ``about`` in a sum of profiles whose entries differ."""
ABOUT_COUNTS = ("unplaced", "duplicates", "tiny")


def _add_about(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Combine the metadata of two profiles: add counts, list sources, and keep entries that both agree on."""
    total: dict[str, Any] = {name: a.get(name, 0) + b.get(name, 0) for name in ABOUT_COUNTS}
    total["sources"] = sorted({*a.get("sources", []), *b.get("sources", [])})
    parts = [about["losses"] for about in (a, b) if "losses" in about]
    if parts:
        total["losses"] = {name: sum(part.get(name, 0) for part in parts) for name in sorted({*chain(*parts)})}
    for name in sorted({*a, *b} - {*ABOUT_COUNTS, "sources", "losses"}):
        values = [about[name] for about in (a, b) if name in about]
        total[name] = values[0] if all(value == values[0] for value in values) else MIXED
    return total
