"""What is printed of an upper bound is never below it, and a time is read alike whatever was read before it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask_device import reading_times
from halfmask_device.decimals import SLACK, money, upwards
from halfmask_device.reading_times import normalized_time
from tests.refusals import refused


@given(st.floats(0, 1e300), st.integers(1, 5))
def test_a_bound_is_rounded_up_by_less_than_its_last_digit(value: float, digits: int) -> None:
    shown = float(upwards(value, digits))
    assert shown >= value * (1 - SLACK)
    assert shown <= value * (1 + 1.000001 * 10 ** (1 - digits))


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        *((0.0961, 2, "0.097"), (0.0700001, 1, "0.08"), (49.51, 2, "50"), (126.4, 2, "130"), (0.0, 3, "0")),
        *((3 * 0.1, 3, "0.3"), (0.7 / 0.1, 3, "7"), (1.0, 3, "1"), (math.inf, 3, "inf")),
    ],
)
def test_rounding_of_floats_alone_is_no_step_up(value: float, digits: int, text: str) -> None:
    assert upwards(value, digits) == text


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        *((192, "EUR/1000", "0.192 EUR"), (0, "EUR/1000", "0.000 EUR"), (250, "CHF/100", "2.50 CHF")),
        *((-5, "EUR/1000", "-0.005 EUR"), (10**18, "EUR/10", "100000000000000000.0 EUR")),
        *((7, "points", "7 points"), (7, "EUR/12", "7 EUR/12"), (7, "/1000", "7 /1000"), (7, "", "7")),
    ],
)
def test_thousandths_are_money(amount: int, currency: str, text: str) -> None:
    assert money(amount, currency) == text


CLOCKS = ("T00:30:00", " 00:30:00", "T00:30:00Z", "T00:30:00+00:00", "T00:30", "T00:30:00.5", "T00:30:00+01:00")


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_time_is_read_alike_at_first_and_from_memory(clock: str) -> None:
    reading_times._days.clear()
    reading_times._clocks.clear()
    first = normalized_time("2026-11-16" + clock)
    for each in CLOCKS:
        normalized_time("2026-11-17" + each)
    assert normalized_time("2026-11-16" + clock) == first
    with refused("reading.time_of_day"):
        normalized_time(clock[1:6])


def test_memory_knows_no_date_that_is_none() -> None:
    normalized_time("2026-02-27T12:00:00")
    assert normalized_time("2026-02-30T12:00:00") == ("2026-02-30T12:00:00", reading_times.UNDATED)
    assert normalized_time("2026-02-27T25:00:00")[1] == reading_times.UNDATED
