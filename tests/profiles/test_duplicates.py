"""Several readings of a user at the same time: found wherever they are, and nowhere else."""

import math
from typing import Any

import numpy as np
import pytest

from halfmask.errors import OptionError
from halfmask.profiles.build import Policies
from tests.profiles.oracle import Reading, differences, expected_profile
from tests.profiles.panels import HALF_HOUR, HOUR, START, Route, awkward, plain, profile_of, series, shuffled
from tests.refusals import refused

SPARK = [pytest.mark.spark, pytest.mark.xdist_group("spark")]
LOCAL: tuple[Route, ...] = ("whole", "groups")
ROUTES = [*LOCAL, pytest.param("spark", marks=[*SPARK, pytest.mark.slow])]
POLICIES = ("first", "last", "mean")


@pytest.fixture(autouse=True)
def _running(request: pytest.FixtureRequest) -> None:
    """Start Spark for the tests that are marked so, and for no others."""
    if request.node.get_closest_marker("spark"):
        request.getfixturevalue("spark")


def repeated() -> list[Reading]:
    """Every awkward reading once, some twice or three times with other values, with NaN and null among them."""
    readings = awkward()
    usable = [r for r in readings if r[0] is not None and r[1] is not None and r[2] is not None]
    again = [(u, t, 1.0 + i) for i, (u, t, _) in enumerate(usable[::9])]
    thrice = [(u, t, -2.0) for u, t, _ in usable[::27]]
    lost = [(u, t, (math.nan, None, math.inf)[i % 3]) for i, (u, t, _) in enumerate(usable[::7])]
    return [*readings, *shuffled([*again, *thrice, *lost])]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("route", LOCAL)
def test_every_number_after_a_policy(route: Route, policy: str) -> None:
    expected = expected_profile(repeated(), "week", HALF_HOUR, policy)
    assert expected.duplicates > 15
    assert differences(profile_of(repeated(), route, "week", duplicates=policy), expected) == []


@pytest.mark.slow  # the same expressions run quickly on DuckDB, and on Spark without duplicates in `test_merging`
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("policy", ["first", "last", "mean"])
def test_every_number_after_a_policy_on_spark(policy: str) -> None:
    expected = expected_profile(repeated(), "week", HALF_HOUR, policy)
    assert differences(profile_of(repeated(), "spark", "week", duplicates=policy), expected) == []


@pytest.mark.parametrize("route", LOCAL)
def test_the_policies_differ_and_the_order_of_the_source_decides(route: Route) -> None:
    readings = [*series("a", [1.0, 2.0, 4.0]), ("a", START, 8.0), ("a", START, 3.0)]
    sums = {p: float(profile_of(readings, route, duplicates=p).cells[0, 0, 1]) for p in POLICIES}
    assert sums == {"first": 7.0, "last": 9.0, "mean": 10.0}
    backwards = profile_of(readings[::-1], route, duplicates="first")
    assert float(backwards.cells[0, 0, 1]) == 9.0


@pytest.mark.parametrize("route", LOCAL)
def test_found_although_another_reading_of_the_day_is_missing(route: Route) -> None:
    readings = [r for i, r in enumerate(series("a", [1.0] * 48)) if i not in (7, 8, 30)]
    readings += [("a", START + 3 * HALF_HOUR, 5.0), *series("b", [2.0] * 40)]
    found = profile_of(readings, route)
    assert found.about["duplicates"] == 1
    assert differences(found, expected_profile(readings, "day", HALF_HOUR)) == []


@pytest.mark.parametrize("route", LOCAL)
@pytest.mark.parametrize("spread", [1, 1_000_000, HALF_HOUR - 1])
def test_two_readings_within_a_step_are_no_duplicates(route: Route, spread: int) -> None:
    readings = [*series("a", [1.0] * 20), ("a", START + 5 * HALF_HOUR + spread, 9.0)]
    found = profile_of(readings, route)
    assert found.about["duplicates"] == 0
    assert found.readings == 21


@pytest.mark.parametrize("route", LOCAL)
def test_irregular_times_are_no_duplicates(route: Route) -> None:
    rng = np.random.default_rng(3)
    times = np.unique(rng.integers(0, 10**12, 300)).tolist()
    readings: list[Reading] = [("a", START + t, 1.0 + t % 5) for t in times]
    assert profile_of(readings, route).about["duplicates"] == 0
    assert profile_of([*readings, readings[17]], route).about["duplicates"] == 1


@pytest.mark.parametrize("route", LOCAL)
def test_one_reading_a_user_has_no_step_and_may_still_be_doubled(route: Route) -> None:
    readings: list[Reading] = [("a", START, 1.0), ("b", START, 2.0), ("b", START, 6.0), ("c", START + 1, 3.0)]
    found = profile_of(readings, route)
    assert found.step is None
    assert found.about["duplicates"] == 1
    assert differences(found, expected_profile(readings, "day", None)) == []


@pytest.mark.parametrize("route", LOCAL)
def test_very_many_readings_in_one_slot(route: Route) -> None:
    """A burst of microseconds among daily readings, in the last slot: its sum of 2^slot exceeds 64 bits."""
    last_slot = (START // (48 * 24 * HOUR)) * 48 * 24 * HOUR + 47 * 24 * HOUR
    burst: list[Reading] = [("burst", last_slot + 2 * i, 1.0) for i in range(20_000)]
    daily = [r for u in range(800) for r in series(f"u{u}", [1.0] * 30, step=24 * HOUR)]
    found = profile_of([*daily, *burst, burst[5]], route, "48d")
    assert found.about["duplicates"] == 1
    assert found.readings == 44_000


@pytest.mark.parametrize("route", LOCAL)
def test_a_value_that_is_lost_is_no_duplicate(route: Route) -> None:
    readings = [*series("a", [1.0, 2.0, 3.0]), ("a", START, math.nan), ("a", START, None), ("a", START, math.inf)]
    found = profile_of(readings, route)
    assert found.about["duplicates"] == 0
    assert found.rows["nonfinite"].tolist() == [3]
    both = profile_of([*readings, ("a", START, 7.0)], route, duplicates="mean")
    assert both.about["duplicates"] == 1
    assert both.rows["nonfinite"].tolist() == [3]
    assert float(both.cells[0, 0, 1]) == 9.0


@pytest.mark.parametrize("route", ROUTES)
def test_the_policy_error_names_user_and_time(route: Route) -> None:
    readings = [*plain(3, 20), ("zoë", START + HOUR, 1.0), ("zoë", START + HOUR, 1.0)]
    with refused("reading.duplicates", "tz", "duplicates", place="user zoë at 2026-03-01T01:00:00") as caught:
        profile_of(readings, route, duplicates="error")
    assert "\n" not in str(caught.value)
    assert profile_of(readings[:-1], route, duplicates="error").about["duplicates"] == 0


@pytest.mark.parametrize("route", LOCAL)
def test_rows_that_name_no_user_or_time_stay_counted_beside_duplicates(route: Route) -> None:
    nowhere: list[Reading] = [(None, START, 1.0), (None, START, 1.0), ("a", None, 1.0)]
    readings = [*series("a", [1.0] * 9), ("a", START, 2.0), *nowhere]
    found = profile_of(readings, route)
    assert found.about["unplaced"] == 3
    assert found.about["duplicates"] == 1


@pytest.mark.parametrize("route", LOCAL)
def test_nonfinite_values_may_be_refused(route: Route) -> None:
    readings = [*series("a", [1.0] * 5), *series("b", [1.0, math.nan, None])]
    with refused("reading.nonfinite", place="user b"):
        profile_of(readings, route, nonfinite="error")
    assert profile_of(readings[:6], route, nonfinite="error").readings == 6


@pytest.mark.parametrize("route", LOCAL)
def test_a_panel_without_a_usable_reading_is_refused(route: Route) -> None:
    with refused("source.unusable"):
        profile_of(series("a", [math.nan, None, math.inf]), route)


@pytest.mark.parametrize(
    "wrong",
    [{"duplicates": "some"}, {"nonfinite": "keep"}, {"low": 3.0, "high": 3.0}, {"low": math.nan}],
)
def test_policies_that_are_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        Policies(**wrong)


@pytest.mark.parametrize("period", ["fortnight", "0h", "7m", "-1d", "", "2000w", "5 months"])
def test_periods_that_are_none(period: str) -> None:
    with refused("option", "period"):
        profile_of(series("a", [1.0, 2.0]), period=period)
