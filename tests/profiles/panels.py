"""Small awkward panels, and three routes from a panel to a profile."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

from halfmask.data.open_panel import open_panel
from halfmask.data.panel import Panel
from halfmask.profiles import compiled_count
from halfmask.profiles.build import Policies, build_profile
from halfmask.profiles.profile import Profile
from tests.profiles.oracle import Reading, us

HALF_HOUR = 1800 * 1_000_000
HOUR = 2 * HALF_HOUR
START = us("2026-03-01T00:00")

Route = Literal["whole", "groups", "spark"]
"""Counted at once, in groups of users as if memory were short, or by Spark's workers."""


def table(readings: Sequence[Reading], user_type: pa.DataType | None = None) -> pa.Table:
    """Readings as an Arrow table, in their order."""
    users, times, values = zip(*readings, strict=True)
    kind = user_type or (pa.int64() if any(isinstance(u, int) for u in users) else pa.string())
    return pa.table(
        {
            "user": pa.array(users, kind),
            "time": pa.array(times, pa.timestamp("us")),
            "value": pa.array(values, pa.float64(), from_pandas=False),
        }
    )


def panel_of(readings: Sequence[Reading], route: Route, threads: int | None = None) -> Panel:
    """A panel on DuckDB, or on the Spark that is running."""
    if route == "spark":
        panel = open_panel(table(readings), user="user", time="time", value="value", engine="spark", master="local[2]")
        panel.frame.to_native().sparkSession.conf.set("spark.sql.shuffle.partitions", "2")  # not 200, for so few rows
        return panel
    return open_panel(table(readings), user="user", time="time", value="value", threads=threads)


def profile_of(
    readings: Sequence[Reading],
    route: Route = "whole",
    period: str = "day",
    buckets: int = 0,
    threads: int | None = None,
    **policies: Any,
) -> Profile:
    """The profile by one of the routes; duplicates and sizes stop nothing unless a test says so."""
    policies = {"duplicates": "first", "high": math.inf, **policies}
    panel = panel_of(readings, route, threads)
    with pytest.MonkeyPatch.context() as patch:
        if route == "groups":
            patch.setattr(compiled_count, "MOST_USERS", 5 + len({user for user, _, _ in readings}) // 8)
        return build_profile(panel, period=period, policies=Policies(**policies), buckets=buckets)


def series(user: Any, values: Sequence[float | None], start: int = START, step: int = HALF_HOUR) -> list[Reading]:
    """A user's readings at regular times."""
    return [(user, start + step * i, value) for i, value in enumerate(values)]


POWERS = [0.25, 0.5, 1.0, 2.0, 4.0, 1024.0, 2.0**-1000, 2.0**1000]
NEIGHBOURS = [float(np.nextafter(p, side)) for p in POWERS for side in (0.0, math.inf)]


def shuffled(readings: Sequence[Reading], seed: int = 5) -> list[Reading]:
    """The same readings in another order."""
    order = np.random.default_rng(seed).permutation(len(readings))
    return [readings[i] for i in order]


def plain(users: int, readings: int, seed: int = 11, start: int = START, step: int = HALF_HOUR) -> list[Reading]:
    """Unremarkable readings with gaps, three decimals and some zeros."""
    rng = np.random.default_rng(seed)
    rows = [r for u in range(users) for r in series(f"u{u:03d}", rng.gamma(1.5, 0.5, readings).round(3).tolist())]
    moved = [(u, start + ((t or 0) - START) // HALF_HOUR * step, v) for u, t, v in rows]
    return [r for r, kept in zip(moved, rng.random(len(moved)) > 0.1, strict=True) if kept]


def awkward() -> list[Reading]:
    """Everything that a source may hold at once, apart from duplicates."""
    nan, inf = math.nan, math.inf
    readings: list[Reading] = [
        *series("zeros", [0.0, -0.0, 0.0, 0.0]),
        *series("empty", [nan, None, inf, -inf]),
        *series("mixed", [1.5, nan, None, 0.0, inf, -2.25, -inf, 3.0, -0.0, 0.001]),
        *series("powers", POWERS),
        *series("neighbours", NEIGHBOURS),
        *series("negative powers", [-p for p in POWERS]),
        *series("tiny", [5e-324, 1e-300, 2.5e-310, 1e-160, 1e-80]),
        *series("huge", [1e300, -1e300, 1e150, 1.7e308]),
        *series("one reading", [7.0]),
        *series("two years", [1.0, 2.0, 4.0, 8.0], step=200 * 86_400_000_000),
        *series("before 1970", [1.0, 2.0, 3.0, 4.0, 5.0], start=us("1969-12-31T22:30")),
        *series("long before", [0.1, 0.2, 0.3], start=us("1904-02-29T23:30")),
        *series("at the end", [3.0, 4.0, 6.0], start=us("2026-12-31T23:00") + HALF_HOUR - 1),
        *series("", [1.0, 2.0]),
        *series('O\'Hara; "x" ü 名', [1.0, 2.0, 2.0]),
        (None, START, 1.0),
        (None, None, 2.0),
        ("mixed", None, 3.0),
    ]
    return shuffled([*readings, *plain(5, 60)])
