"""Kernel, expressions on DuckDB and expressions on Spark against the oracle: every number, at 1e-12."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from halfmask.data.engines.duckdb import DuckDBEngine
from halfmask.profiles.profile import Profile
from tests.generated import cases
from tests.profiles.oracle import Reading, differences, expected_profile, us
from tests.profiles.panels import HALF_HOUR, HOUR, START, Route, awkward, panel_of, plain, profile_of, series, shuffled

LOCAL: tuple[Route, ...] = ("whole", "groups")
PERIODS = ("30m", "hour", "day", "2d", "week", "month", "year")
SPARK = [pytest.mark.spark, pytest.mark.xdist_group("spark")]
ROUTES = [*LOCAL, pytest.param("spark", marks=[*SPARK, pytest.mark.slow])]


@pytest.fixture(autouse=True)
def _running(request: pytest.FixtureRequest) -> None:
    """Start Spark for the tests that are marked so, and for no others."""
    if request.node.get_closest_marker("spark"):
        request.getfixturevalue("spark")


def fitting(period: str) -> list[Reading]:
    """The awkward panel, without the century that, cut in half-hours, does not fit the kernel."""
    fits = period not in ("30m", "hour")
    return [reading for reading in awkward() if fits or reading[0] not in ("long before", "before 1970")]


@pytest.mark.parametrize("route", LOCAL)
@pytest.mark.parametrize("period", PERIODS)
def test_every_number_of_an_awkward_panel(route: Route, period: str) -> None:
    readings = fitting(period)
    expected = expected_profile(readings, period, HALF_HOUR)
    assert differences(profile_of(readings, route, period), expected) == []


@pytest.mark.slow  # the quick test of Spark against the kernel is in `test_merging`
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("period", ["week", "30m", "month"])
def test_every_number_of_an_awkward_panel_on_spark(period: str) -> None:
    readings = fitting(period)
    found = profile_of(readings, "spark", period)
    assert differences(found, expected_profile(readings, period, HALF_HOUR)) == []
    assert alike(found, profile_of(readings, "whole", period))


def alike(a: Profile, b: Profile) -> bool:
    """The same integers, and sums equal to 1e-12 where no signs cancel."""
    exact = ("rows", "readings", "zeros", "negatives", "nonfinite", "outside", "first", "last", "expected", "members")
    sums = ("sum_abs", *(f"{name}{k}" for name in ("inverse", "scale") for k in (1, 2, 3, 4)))
    same = all(np.array_equal(a.rows[name], b.rows[name]) for name in exact)
    close = all(np.allclose(a.rows[name], b.rows[name], 1e-12, 0, equal_nan=True) for name in sums)
    counts = all(np.array_equal(getattr(a.histogram, f), getattr(b.histogram, f)) for f in ("row", "bin", "count"))
    cells = np.allclose(a.cells[..., [0, 2, 4]], b.cells[..., [0, 2, 4]], 1e-12, 1e-305, equal_nan=True)
    return same and close and counts and cells and a.labels.tolist() == b.labels.tolist()


def test_the_comparison_catches_what_is_wrong() -> None:
    readings = plain(3, 50)
    expected = expected_profile(readings, "day", HALF_HOUR)
    right = profile_of(readings)
    assert differences(right, expected) == []
    cells = right.cells.copy()
    cells[1, 0, 1] *= 1 + 1e-11
    assert len(differences(replace(right, cells=cells), expected)) == 1
    rows = {**right.rows, "inverse3": right.rows["inverse3"] * (1 - 1e-11), "zeros": right.rows["zeros"] + 1}
    assert len(differences(replace(right, rows=rows), expected)) == 6
    assert differences(replace(right, bin_sizes=right.bin_sizes * (1 + 1e-11)), expected) != []
    assert differences(profile_of(readings, period="hour"), expected) != []
    assert differences(profile_of(readings[1:]), expected) != []


@pytest.mark.parametrize("route", ROUTES)
def test_users_may_be_integers(route: Route) -> None:
    readings: list[Reading] = shuffled([r for u in (10, 9, -3, 2**40) for r in series(u, [1.0, 0.5, 0.0, 3.25])])
    found = profile_of(readings, route, high=3.0)
    assert found.labels.tolist() == ["-3", "10", "1099511627776", "9"]
    assert differences(found, expected_profile(readings, "day", HALF_HOUR, high=3.0)) == []


@pytest.mark.parametrize("route", LOCAL)
def test_users_may_come_in_many_interleaved_runs(route: Route) -> None:
    by_time = sorted(plain(7, 100), key=lambda r: (r[1] or 0, str(r[0])))
    assert differences(profile_of(by_time, route), expected_profile(by_time, "day", HALF_HOUR)) == []
    mixed = shuffled(by_time)
    assert differences(profile_of(mixed, route), expected_profile(mixed, "day", HALF_HOUR)) == []


@pytest.mark.parametrize("route", LOCAL)
def test_bounds_leave_out_the_implausible(route: Route) -> None:
    readings = [*series("a", [-5.0, -1.0, 0.0, 2.0, 9.0, 9.5, math.nan]), *series("b", [100.0, 200.0])]
    found = profile_of(readings, route, low=-1.0, high=9.0)
    assert differences(found, expected_profile(readings, "day", HALF_HOUR, low=-1.0, high=9.0)) == []
    assert found.rows["outside"].tolist() == [2, 2]
    assert found.rows["empty"].tolist() == [0, 1]


@pytest.mark.parametrize("route", LOCAL)
@pytest.mark.parametrize("step", [1_000_000, 7_000_000, 25 * HOUR, 7 * 24 * HOUR])
def test_any_sampling_step(route: Route, step: int) -> None:
    readings = plain(2, 100, step=step)
    for period in ("hour", "month"):
        assert differences(profile_of(readings, route, period), expected_profile(readings, period, step)) == []


@pytest.mark.parametrize("route", LOCAL)
def test_sums_beyond_the_largest_double_are_infinite_and_nothing_else_breaks(route: Route) -> None:
    readings = [*series("over", [1.7e308, 1.7e308, 1.0]), *series("fine", [1.0, 2.0, 3.0])]
    assert differences(profile_of(readings, route), expected_profile(readings, "day", HALF_HOUR)) == []


def test_minutes_over_years_need_no_memory_for_users_that_are_not_there() -> None:
    every = 97  # minutes; thinned, so that the panel is small and its span is not
    steps = [i for block in range(0, 3 * 365 * 1440, every * 60) for i in (block, block + 1, block + 2)]
    readings: list[Reading] = [("a", START + i * 60_000_000, 1.0 + i % 7) for i in steps]
    found = profile_of(readings)
    assert differences(found, expected_profile(readings, "day", 60_000_000)) == []


def test_a_bin_is_found_where_the_table_looks_for_it() -> None:
    """Doubles at the very edges of bins, where a logarithm may round to either side: each is in one of the two."""
    edges = 2.0 ** ((np.arange(-64, 65) - 1e-9) / 64)
    around = np.concatenate([np.nextafter(edges, 0), edges, np.nextafter(edges, 9)])
    for value in around.tolist():
        found = profile_of_one(value)
        assert found.histogram.count.tolist() == [1]
        assert abs(found.histogram.bin[0] - math.log2(value) * 64) < 1.001


def profile_of_one(value: float) -> Profile:
    """Without a database, because there are many."""
    import pyarrow as pa

    from halfmask.profiles.compiled_count import count
    from halfmask.profiles.periods import DAY, Period
    from halfmask.profiles.tally import Plan

    batch = pa.record_batch({"user": ["a"], "time": pa.array([START], pa.int64()), "value": [value]})
    plan = Plan(None, DAY, 0)
    return count(iter([batch]), plan, 10**9).profile(plan, Period.parse("day"))


SIZES = st.one_of(
    st.floats(-1e6, 1e6),
    st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 1024.0, 5e-324, 1e-300, 1e300, -1e300, 0.001]),
    st.sampled_from([math.nan, math.inf, -math.inf]),
    st.none(),
)
TIMES = st.one_of(st.none(), st.integers(-3000, 3000))
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "dd", None]), TIMES, SIZES), min_size=1, max_size=60)


def generated(rows: list[tuple[str | None, int | None, float | None]]) -> list[Reading]:
    """Regular times, no duplicates, and one user who shows the sampling step and has a reading."""
    unique = {(u, t): (u, None if t is None else t * HALF_HOUR, v) for u, t, v in rows}
    return [*series("steady", [1.0] * 80), *unique.values()]


@cases(12, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS, st.sampled_from(PERIODS), st.sampled_from(LOCAL))
def test_generated_panels(rows: list[tuple[str | None, int | None, float | None]], period: str, route: Route) -> None:
    readings = generated(rows)
    assert differences(profile_of(readings, route, period), expected_profile(readings, period, HALF_HOUR)) == []


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_generated_panels_on_spark() -> None:
    """Many generated panels as one, since a query costs Spark the same for one or for all."""
    readings: list[Reading] = []

    @cases(40)
    @given(ROWS)
    def collect(rows: list[tuple[str | None, int | None, float | None]]) -> None:
        number = len(readings)
        readings.extend((u and f"{u}{number}", t, v) for u, t, v in generated(rows))

    collect()
    assert len(readings) > 1000
    assert differences(profile_of(readings, "spark"), expected_profile(readings, "day", HALF_HOUR)) == []


@pytest.mark.parametrize("route", LOCAL)
def test_hypothetical_calendar_edges(route: Route) -> None:
    edges = ["1899-12-31T23:30", "1900-01-01T00:00", "1969-12-31T23:30", "1970-01-01T00:00", "2000-02-29T23:30"]
    readings: list[Reading] = [("a", us(e) + d, 1.0) for e in edges for d in (-1, 0, 1)]
    readings += series("steady", [1.0] * 20)
    for period in ("30m", "2d", "week", "month"):
        assert differences(profile_of(readings, route, period), expected_profile(readings, period, HALF_HOUR)) == []


def test_the_step_is_the_commonest_distance_within_a_user() -> None:
    from halfmask.data.reading_interval import head, step_of

    readings = shuffled([*series("a", [1.0] * 9), *series("b", [1.0] * 5, start=START + 7, step=HOUR)])
    assert step_of(head(panel_of(readings, "whole"))) == HALF_HOUR
    assert step_of(head(panel_of(series("a", [1.0]), "whole"))) is None


def test_what_does_not_fit_into_memory_is_counted_in_groups_of_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half-hours of 350 years leave room for four users."""
    readings = [r for r in awkward() if r[0] in ("long before", "before 1970", "mixed", "u001")]
    readings += [(f"far {i}", us("2250-01-01") + HALF_HOUR * i, 1.0) for i in range(30)]
    groups: list[int] = []
    map_users = DuckDBEngine.map_users

    def watched(engine: DuckDBEngine, frame: Any, number: int, work: Any) -> Any:
        groups.append(number)
        return map_users(engine, frame, number, work)

    monkeypatch.setattr(DuckDBEngine, "map_users", watched)
    assert differences(profile_of(readings, period="30m"), expected_profile(readings, "30m", HALF_HOUR)) == []
    assert groups
    assert all(number > 1 for number in groups)
