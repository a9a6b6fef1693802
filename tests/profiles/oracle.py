"""Every number of a profile, computed from a list of readings the plain way, and the comparison with it.

Nothing here knows of kernels, chunks or engines: it walks over the readings, one by one.
"""

import math
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from halfmask.profiles.profile import Profile

Reading = tuple[Any, int | None, float | None]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TOLERANCE = 1e-12
ROUNDED_TO_ZERO = 1e-305  # below it doubles are subnormal and carry fewer digits
READ_AS_ZERO = 1e-60
SECONDS = {"30m": 1800, "1h": 3600, "hour": 3600, "day": 86_400, "2d": 2 * 86_400}


@dataclass(frozen=True)
class Expected:
    """What a profile must hold. A sum is a pair: the sum, and the sum of absolute values, its scale."""

    labels: list[str]
    rows: dict[str, list[Any]]
    periods: list[int]
    cells: dict[tuple[str, int], list[Any]]
    histogram: dict[tuple[str, int], int]
    scales: dict[tuple[str, int], int]
    rounded: dict[tuple[str, int], int]
    bins: dict[int, tuple[int, int, Any]]
    unplaced: int
    duplicates: int
    tiny: int


def us(text: str) -> int:
    """Microseconds since 1970 of a wall-clock time."""
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def period_start(time: int, period: str) -> int:
    """The start of the period, by the calendar of the standard library."""
    moment = EPOCH + timedelta(microseconds=time)
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "week":
        start = midnight - timedelta(days=midnight.weekday())
    elif period == "month":
        start = midnight.replace(day=1)
    elif period == "year":
        start = midnight.replace(day=1, month=1)
    else:
        length = timedelta(seconds=SECONDS[period])
        start = EPOCH + (moment - EPOCH) // length * length
    return (start - EPOCH) // timedelta(microseconds=1)


def bin_of(size: float) -> int:
    """64 bins an octave, exact powers of two opening one."""
    return math.floor(math.log2(size) * 64 + 1e-9)


def total(terms: Iterable[float]) -> tuple[float, float]:
    """Sum and sum of absolute values, in extended precision."""
    with np.errstate(all="ignore"):
        wide = np.array(list(terms), np.longdouble)
        return float(np.float64(wide.sum())), float(np.float64(np.abs(wide).sum()))


def power(base: float, k: int) -> float:
    """``base^k`` in doubles, infinite where it is too large."""
    with np.errstate(all="ignore"):
        return float(np.float64(base) ** k) if k > 0 else float(np.prod(np.full(-k, np.float64(1.0) / base)))


def deduplicated(readings: Sequence[Reading], policy: str) -> tuple[list[Reading], int]:
    """One reading for each user and time, and how many were too many."""
    groups: dict[tuple[Any, int | None], list[float]] = defaultdict(list)
    for user, time, value in readings:
        groups[user, time].append(float(value or 0.0))
    pick = {"first": lambda v: v[0], "last": lambda v: v[-1], "mean": lambda v: math.fsum(v) / len(v)}[policy]
    return [(user, time, pick(v)) for (user, time), v in groups.items()], len(readings) - len(groups)


def expected_profile(
    readings: Sequence[Reading],
    period: str,
    step: int | None,
    duplicates: str = "first",
    low: float = -math.inf,
    high: float = math.inf,
) -> Expected:
    """The profile of some readings, one row a user."""
    placed = [r for r in readings if r[0] not in (None, "") and r[1] is not None]  # an empty name is no user
    finite = [r for r in placed if r[2] is not None and math.isfinite(r[2])]
    usable, surplus = deduplicated([r for r in finite if low <= float(r[2] or 0.0) <= high], duplicates)
    labels = sorted({str(r[0]) for r in placed})
    of: dict[str, list[tuple[int, float]]] = {label: [] for label in labels}
    for user, time, value in usable:
        size = abs(float(value or 0.0))
        of[str(user)].append((int(time or 0), float(value or 0.0) if size >= READ_AS_ZERO else 0.0))
    seen, known = Counter(str(r[0]) for r in placed), Counter(str(r[0]) for r in finite)
    dropped = Counter(str(r[0]) for r in finite if not low <= float(r[2] or 0.0) <= high)
    rows = [
        _row(of[u], seen[u] - (known[u] - dropped[u]) + len(of[u]), seen[u] - known[u], dropped[u], step)
        for u in labels
    ]
    cells: dict[tuple[str, int], list[float]] = defaultdict(list)
    for label in labels:
        for time, value in of[label]:
            cells[label, period_start(time, period)].append(value)
    sized = [(label, value) for label in labels for _, value in of[label] if value != 0]
    means = {u: sum(abs(v) for _, v in of[u]) / len(of[u]) for u in labels if any(v for _, v in of[u])}
    return Expected(
        labels=labels,
        rows={name: [row[name] for row in rows] for name in (rows[0] if rows else {})},
        periods=sorted({start for _, start in cells}),
        cells={key: [len(v), *(total(power(s, k) for s in v) for k in (1, 2, 3, 4))] for key, v in cells.items()},
        histogram=dict(Counter((label, bin_of(abs(value))) for label, value in sized)),
        scales={(u, bin_of(m)): len(of[u]) for u, m in means.items() if math.isfinite(m)},
        rounded=dict(Counter((label, step) for label, value in sized if (step := rounding(abs(value))) is not None)),
        bins={b: _bin([v for _, v in sized if bin_of(abs(v)) == b]) for b in {bin_of(abs(v)) for _, v in sized}},
        unplaced=len(readings) - len(placed),
        duplicates=surplus,
        tiny=sum(0 < abs(float(r[2] or 0.0)) < READ_AS_ZERO for r in usable),
    )


def rounding(size: float) -> int | None:
    """The coarsest of the steps 1e-15, 2e-15, 5e-15, 1e-14 ... that divides a size of four digits or fewer."""
    near = Decimal(f"{size:.3e}")
    single = struct.unpack("f", struct.pack("f", size))[0] == size if size < 1e38 else False
    if abs(float(near) - size) > (6e-8 if single else 1e-12) * size or not -12 <= near.adjusted() < 14:
        return None
    digits, exponent = near.normalize().as_tuple()[1:]
    return 3 * (int(exponent) + 15) + (2 if digits[-1] == 5 else 1 if digits[-1] % 2 == 0 else 0)


def _row(readings: list[tuple[int, float]], rows: int, nonfinite: int, outside: int, step: int | None) -> Any:
    times, values = [t for t, _ in readings], [v for _, v in readings]
    sizes = [abs(v) for v in values if v != 0]
    mean = sum(sizes) / len(values) if sizes else math.inf
    span = (max(times) - min(times)) // step + 1 if step and times else len(times)
    return {
        "rows": rows,
        "readings": len(values),
        "zeros": values.count(0.0),
        "negatives": sum(v < 0 for v in values),
        "nonfinite": nonfinite,
        "outside": outside,
        "sum_abs": total(sizes),
        **{f"inverse{k}": total(power(s, -k) for s in sizes) for k in (1, 2, 3, 4)},
        "first": min(times, default=2**63 - 1),
        "last": max(times, default=-(2**63)),
        "members": 1,
        "empty": int(not values),
        "all_zero": int(bool(values) and not sizes),
        "expected": max(span, len(values)),
        **{f"scale{k}": total([len(values) * power(mean, -k)] if mean < math.inf else []) for k in (1, 2, 3, 4)},
    }


def _bin(values: list[float]) -> tuple[int, int, Any]:
    return len(values), sum(v < 0 for v in values), total(abs(v) for v in values)


def close(found: float, wanted: float, scale: float) -> bool:
    """Equal to 1e-12 of the terms' sizes: an order of summation is free, so where signs cancel no more can be asked."""
    if not math.isfinite(wanted):
        return bool(np.array_equal(found, wanted, equal_nan=True))
    return abs(found - wanted) <= TOLERANCE * scale + ROUNDED_TO_ZERO


def differences(profile: Profile, expected: Expected) -> list[str]:
    """Every number of the profile that is not the expected one, in words; empty where all are."""
    found: list[str] = []

    def compare(what: object, got: Any, wanted: Any) -> None:
        same = close(float(got), *wanted) if isinstance(wanted, tuple) else got == wanted
        if not same:
            found.append(f"{what}: {got!r} instead of {wanted!r}")

    compare("labels", profile.labels.tolist(), expected.labels)
    compare("periods", profile.periods.tolist(), expected.periods)
    if found:
        return found
    for name, wanted_column in expected.rows.items():
        for label, got, wanted in zip(expected.labels, profile.rows[name].tolist(), wanted_column, strict=True):
            compare((name, label), got, wanted)
    nothing = [0, *[(0.0, 0.0)] * 4]
    for row, label in enumerate(expected.labels):
        for column, start in enumerate(expected.periods):
            for k, wanted in enumerate(expected.cells.get((label, start), nothing)):
                compare(("cell", label, start, k), float(profile.cells[row, column, k]), wanted)
    for name in ("histogram", "scales", "rounded"):
        counts = getattr(profile, name)
        entries = zip(counts.row.tolist(), counts.bin.tolist(), counts.count.tolist(), strict=True)
        compare(name, {(expected.labels[r], b): c for r, b, c in entries}, getattr(expected, name))
    compare("bins", profile.bin_index.tolist(), sorted(expected.bins))
    for place, index in enumerate(profile.bin_index.tolist()):
        columns = (profile.bin_counts, profile.bin_negatives, profile.bin_sizes)
        for column, wanted in zip(columns, expected.bins.get(index, (0, 0, 0)), strict=True):
            compare(("bin", index), column[place].item(), wanted)
    compare("unplaced", profile.about["unplaced"], expected.unplaced)
    compare("duplicates", profile.about["duplicates"], expected.duplicates)
    compare("tiny", profile.about["tiny"], expected.tiny)
    return found
