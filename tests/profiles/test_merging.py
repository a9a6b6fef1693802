"""Profiles add up, and give up single users: laws that hold for any readings."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.profiles.compiled_count import count
from halfmask.profiles.periods import Period
from halfmask.profiles.profile import ROW_COLUMNS, Profile, bucket_of
from halfmask.profiles.tally import Plan
from tests.profiles.oracle import Reading, differences, expected_profile
from tests.profiles.panels import HALF_HOUR, START, plain, profile_of, series
from tests.refusals import refused

ABOUT = {"sources": ["here"], "notes": [], "policies": {"duplicates": "first"}, "duplicates": 0}


def counted(readings: Sequence[Reading], period: str = "day") -> Profile:
    """The kernel's profile at a known step, without a database between."""
    cut = Period.parse(period)
    plan = Plan(HALF_HOUR, cut.chunk(HALF_HOUR), cut.origin)
    columns = [[r[i] for r in readings] for i in range(3)]
    types = (pa.string(), pa.int64(), pa.float64())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    batch = pa.record_batch(arrays, names=["user", "time", "value"])
    made = count(iter([batch]), plan, 10**9).profile(plan, cut)
    return replace(made, about={**ABOUT, **made.about})


def unequal(a: Profile, b: Profile, whole: bool = True) -> list[str]:
    """What differs: integers exactly, sums by more than rounding. ``whole``: the population's bins as well."""
    pairs: dict[str, tuple[Any, Any]] = {
        **{name: (a.rows[name], b.rows[name]) for name in ROW_COLUMNS},
        **{f"{k}.{f}": (getattr(getattr(a, k), f), getattr(getattr(b, k), f))
           for k in ("histogram", "scales", "rounded") for f in ("row", "bin", "count")},
        "labels": (a.labels, b.labels), "periods": (a.periods, b.periods), "buckets": (a.buckets, b.buckets),
        "cells": (a.cells, b.cells), "grain": (a.grain, b.grain),
    }  # fmt: skip
    if whole:
        bins = ("bin_index", "bin_counts", "bin_sizes", "bin_negatives")
        pairs |= {name: (getattr(a, name), getattr(b, name)) for name in bins}
        pairs |= {"about": (a.about, b.about), "step": (a.step, b.step)}
    return [name for name, (x, y) in pairs.items() if not _same(x, y)]


def _same(x: Any, y: Any) -> bool:
    if not isinstance(x, np.ndarray):
        return bool(x == y)
    if x.shape != y.shape:
        return False
    if x.dtype.kind != "f":
        return bool(np.array_equal(x, y))
    largest = float(np.abs(x, where=np.isfinite(x), out=np.zeros_like(x)).max(initial=0))
    return bool(np.allclose(x, y, rtol=1e-12, atol=1e-12 * min(largest, 1e12), equal_nan=True))


SIZES = st.one_of(st.floats(0.001, 1e4), st.sampled_from([0.0, 1.0, 2.0, 0.25, -1.5, math.nan, math.inf]), st.none())
KEYS = st.tuples(st.sampled_from(["a", "b", "c", "dd", "é"]), st.integers(-200, 400).map(lambda i: i * HALF_HOUR))
READINGS = st.dictionaries(KEYS, SIZES, max_size=40).map(lambda d: [(u, t, v) for (u, t), v in d.items()])
PERIODS = st.sampled_from(["30m", "day", "week", "month"])
LAWS = settings(max_examples=40, deadline=None)


@LAWS
@given(READINGS, READINGS, PERIODS)
def test_adding_is_commutative(a: list[Reading], b: list[Reading], period: str) -> None:
    assert unequal(counted(a, period) + counted(b, period), counted(b, period) + counted(a, period)) == []


@LAWS
@given(READINGS, READINGS, READINGS, PERIODS)
def test_adding_is_associative(a: list[Reading], b: list[Reading], c: list[Reading], period: str) -> None:
    x, y, z = (counted(part, period) for part in (a, b, c))
    assert unequal((x + y) + z, x + (y + z)) == []


@LAWS
@given(READINGS, PERIODS)
def test_nothing_adds_nothing(a: list[Reading], period: str) -> None:
    profile, nothing = counted(a, period), Profile.empty(Period.parse(period))
    assert unequal(profile + nothing, profile) == []
    assert unequal(nothing + profile, profile) == []
    assert (nothing + nothing).readings == 0


@LAWS
@given(READINGS, st.randoms(use_true_random=False), PERIODS)
def test_parts_add_up_to_the_whole(readings: list[Reading], random: Any, period: str) -> None:
    part = [random.random() < 0.5 for _ in readings]
    a = [r for r, left in zip(readings, part, strict=True) if left]
    b = [r for r, left in zip(readings, part, strict=True) if not left]
    assert unequal(counted(a, period) + counted(b, period), counted(readings, period)) == []


@LAWS
@given(READINGS, st.sets(st.sampled_from(["a", "b", "c", "dd", "é"])), PERIODS)
def test_a_subset_is_the_profile_of_its_users(readings: list[Reading], some: set[str], period: str) -> None:
    whole = counted(readings, period)
    chosen = some & set(whole.labels.tolist())
    alone = counted([r for r in readings if r[0] in chosen], period)
    assert unequal(whole.subset(chosen), alone, whole=False) == []


@LAWS
@given(READINGS, READINGS, st.integers(1, 4))
def test_buckets_add_up_as_users_do(a: list[Reading], b: list[Reading], buckets: int) -> None:
    """Of disjoint users: where one user is in both parts, its two halves count as two members of the bucket."""
    b = [(f"{user}2", time, value) for user, time, value in b]
    x, y = counted(a), counted(b)
    together = (x + y).bucketed(buckets)
    assert unequal(x.bucketed(buckets) + y.bucketed(buckets), together) == []
    assert len(together) <= buckets
    assert together.users == len({str(r[0]) for r in [*a, *b]})


def test_the_comparison_catches_what_is_wrong() -> None:
    readings = plain(4, 60)
    whole = counted(readings)
    assert unequal(counted(readings[1:]), whole) != []
    assert "cells" in unequal(counted([(u, t, (v or 0) * (1 + 1e-10)) for u, t, v in readings]), whole)
    assert unequal(whole.subset(["u000", "u001"]), counted(readings), whole=False) != []


def test_parts_of_real_panels_add_up_through_the_whole_way() -> None:
    readings = plain(6, 200)
    half = len(readings) // 2
    expected = expected_profile(readings, "day", HALF_HOUR)
    by_rows = profile_of(readings[:half]) + profile_of(readings[half:])
    assert differences(by_rows, expected) == []
    days = [[r for r in readings if (r[1] or 0) // 86_400_000_000 % 2 == side] for side in (0, 1)]
    assert differences(profile_of(days[0]) + profile_of(days[1]), expected) == []
    assert differences(profile_of(days[0]) + profile_of(days[0]), expected) != []


SPARK = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.mark.parametrize("route", ["groups", pytest.param("spark", marks=SPARK)])
def test_buckets_are_the_same_by_every_route(route: Any, request: pytest.FixtureRequest) -> None:
    if route == "spark":
        request.getfixturevalue("spark")
    readings = [
        *plain(40, 30),
        *series("zeros", [0.0, 0.0]),
        *series("empty", [math.nan]),
        *series("tiny", [1e-100, 5e-324, 1e-300]),
        *series("huge", [1e300, 1e200]),
        *series("over", [1.7e308, 1.7e308]),
        *series("ünï 'q'", [1.0, -2.0]),
    ]
    for buckets in (1, 7) if route == "groups" else (7,):
        by_kernel = profile_of(readings, "whole", buckets=buckets)
        assert unequal(profile_of(readings, route, buckets=buckets), by_kernel) == []
        assert unequal(profile_of(readings, "whole").bucketed(buckets), by_kernel) == []
        assert len(by_kernel) == buckets
        assert by_kernel.users == 46


def test_buckets_only_above_their_number() -> None:
    readings = plain(5, 10)
    assert profile_of(readings, buckets=5).buckets == 0
    assert profile_of(readings, buckets=4).buckets == 4
    assert profile_of(readings, buckets=0).buckets == 0


def test_buckets_share_users_out_evenly() -> None:
    homes = np.bincount([bucket_of(f"meter {i}", 100) for i in range(20_000)], minlength=100)
    assert 140 < homes.min() <= homes.max() < 260
    assert bucket_of("1000", 10_000) == int("a9b7ba70", 16) % 10_000  # the first 32 bits of its MD5


@pytest.mark.parametrize(
    ("a", "b", "field"),
    [
        (lambda p: p, lambda _: counted(plain(2, 9), "week"), "period"),
        (lambda p: p, lambda p: p.bucketed(3), "buckets"),
        (lambda p: p.bucketed(2), lambda p: p.bucketed(3), "buckets"),
    ],
)
def test_profiles_that_are_not_alike_do_not_add(a: Any, b: Any, field: str) -> None:
    profile = counted(plain(4, 20))
    with refused("option.unalike", field):
        a(profile) + b(profile)


def test_asking_for_what_is_not_there() -> None:
    profile = counted(plain(2, 20))
    with refused("option.user"):
        profile.subset(["u000", "nobody"])
    with refused("option", "buckets"):
        profile.bucketed(2).bucketed(2)


def test_what_is_known_about_two_parts() -> None:
    a, b = counted(series("a", [1.0])), counted([("b", None, 1.0), *series("b", [1.0], start=START)])
    assert (a + b).about["unplaced"] == 1
    other = profile_of(series("a", [1.0, 2.0]), duplicates="last")
    mixed = (a + other).about
    assert mixed["policies"] == "mixed"
    assert mixed["sources"] == ["here", "pyarrow frame"]
