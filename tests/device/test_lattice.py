"""Readings onto the lattice, reports off it, settings as a device reads them."""

import math
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.errors import ReadingError, SettingError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask_device import DeviceSetting, Lattice
from tests.refusals import refused

WATT_HOURS = Lattice("0.001", "0", "10")
decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-20, max_value=20, places=6)


@given(decimals)
def test_a_reading_goes_to_the_nearest_point_within_the_range(value: Decimal) -> None:
    steps = WATT_HOURS.steps(str(value))
    assert steps is not None
    held = min(max(Fraction(value), Fraction(0)), Fraction(10))
    assert abs(steps * WATT_HOURS.unit - held) <= WATT_HOURS.unit / 2
    assert WATT_HOURS.steps(value) == steps


@pytest.mark.parametrize(
    ("value", "steps"),
    [
        ("0.0005", 1), ("0.0015", 2), ("0.0025", 3), ("0.00049", 0), (0.0015, 2), ("-3", 0), ("1e9", 10_000), (3, 3000),
        (" 1.5 ", 1500),
        ("1e-999999999", 0), ("-1e999999999", 0), ("9" * 5000, 10_000), ("0." + "3" * 5000, 333), ("+.5e1", 5000),
    ],
)  # fmt: skip
def test_halves_go_upwards_and_far_readings_to_the_ends(value: str | float, steps: int) -> None:
    assert WATT_HOURS.steps(value) == steps


@pytest.mark.parametrize("value", ["", "  ", None, "nan", "NaN", math.nan, math.inf, -math.inf, "-inf", "NA", "null"])
def test_a_missing_reading_has_no_steps(value: str | float | None) -> None:
    assert WATT_HOURS.steps(value) is None


@pytest.mark.parametrize(
    "value", ["7,77123", "0x7.77123", "7.77123kWh", "７.77123", "7_7.77123", "1e7777777777123", True]
)
def test_what_is_no_number_is_refused_without_showing_it(value: str | bool) -> None:
    with refused("reading.number") as caught:
        WATT_HOURS.steps(value, "row 3, column kwh: the reading")
    assert str(caught.value).startswith("row 3, column kwh")
    assert "77" not in str(caught.value)
    assert caught.value.__cause__ is None


@given(st.text())
def test_no_text_breaks_the_lattice(text: str) -> None:
    with suppress(ReadingError):
        steps = WATT_HOURS.steps(text)
        assert steps is None or 0 <= steps <= 10_000


@given(st.integers(-(10**30), 10**30), st.sampled_from(["0.001", "0.25", "5", "1e2", "1e-9", "0.3"]))
def test_a_report_is_printed_exactly(steps: int, step: str) -> None:
    lattice = Lattice(step, "0", str(Decimal(step) * 4))
    assert Fraction(lattice.text(steps)) == steps * Fraction(step)
    assert "e" not in lattice.text(steps).lower()


def test_a_lattice_has_one_way_to_write_it() -> None:
    assert Lattice("1e-3", "0", "10.0") == WATT_HOURS
    assert (WATT_HOURS.step, WATT_HOURS.low, WATT_HOURS.high, WATT_HOURS.ends) == (
        "0.001",
        "0.000",
        "10.000",
        (0, 10_000),
    )
    assert Lattice("0.5", "-2", "2").text(-3) == "-1.5"


@pytest.mark.parametrize(
    ("step", "low", "high", "kind", "field"),
    [
        ("0", "0", "1", "range", "step"), ("-1", "0", "1", "range", "step"), ("x", "0", "1", "number", "step"),
        ("0.001", "1", "1", "range", "low"), ("0.5", "0.3", "1", "multiple", "low"),
        ("0.5", "0", "1.2", "multiple", "high"), ("1e-99", "0", "1", "digits", "step"),
        ("1", "nan", "1", "number", "low"), ("1", "0", "inf", "number", "high"),
    ],
)  # fmt: skip
def test_a_lattice_that_cannot_be_is_refused(step: str, low: str, high: str, kind: str, field: str) -> None:
    with refused(f"option.{kind}", field):
        Lattice(step, low, high)


positive = st.floats(1e-6, 1e6).map(lambda number: f"{number!r}")
settings = st.one_of(
    *(st.builds(f"{name}:{{}}".format, positive) for name in ("laplace", "gaussian", "uniform")),
    st.builds("geometric:{},{}".format, positive, positive),
    st.builds("staircase:{},{},{}".format, positive, positive, st.floats(0, 1)),
    st.lists(positive, min_size=1, max_size=6).map(lambda numbers: "sine:" + ", ".join(numbers)),
    st.builds("tabulated:{},{},1e7,1".format, positive, st.floats(0, 1)),
)


@given(settings)
def test_a_device_reads_settings_as_the_simulation_does(text: str) -> None:
    ours, theirs = DeviceSetting.parse(text), PrivacySetting.parse(text)
    assert ours.text == str(theirs)
    assert ours.mechanism == theirs.mechanism
    assert tuple(map(float, ours.exact)) == ours.parameters == theirs.parameters
    assert DeviceSetting.parse(ours.text) == ours


def test_decimals_are_taken_at_their_word() -> None:
    assert DeviceSetting.parse("laplace:0.1").exact == (Fraction(1, 10),)
    assert DeviceSetting.parse(" none ").exact == ()


@pytest.mark.parametrize(
    "text",
    [
        "laplace", "laplace:", "laplace:1,2", "laplace:-1", "laplace:x", "laplace:nan", "laplace:inf", "laplace:1e999",
        "none:1", "gaussian", "geometric:1", "geometric:1,0", "staircase:0,1,0.5", "staircase:1,1,2", "staircase:1",
        "sine", "sine:1,-1", "sine:", "tabulated:1", "tabulated:1,0.5", "tabulated:2,0.5,1,1", "tabulated:1,1,2,0.5",
        "", "lapalce:1", "laplace:1/laplace:1", "tabulated",
    ],
)  # fmt: skip
def test_what_the_simulation_refuses_a_device_refuses(text: str) -> None:
    for parse in (PrivacySetting.parse, DeviceSetting.parse):
        with pytest.raises(SettingError):
            parse(text)


@pytest.mark.parametrize(
    "text",
    ["relative-laplace:1", "relative-gaussian:1", "round:1", "microaggregate:3", "clip:0,1", "clip:0,1/laplace:1"],
)
def test_what_depends_on_the_value_is_not_for_devices(text: str) -> None:
    PrivacySetting.parse(text)
    with refused("setting.unknown"):
        DeviceSetting.parse(text)


@given(st.decimals("-12", "12", places=5), st.decimals("0", "3", places=5), st.sampled_from(["0.001", "0.3", "0.25"]))
def test_readings_d_apart_are_at_most_ceil_d_steps_apart(one: Decimal, d: Decimal, step: str) -> None:
    lattice = Lattice(step, "-15", "15")
    moved = [lattice.steps(str(each)) or 0 for each in (one, one + d)]
    assert 0 <= moved[1] - moved[0] <= math.ceil(Fraction(d) / lattice.unit)


@given(st.decimals("-30", "30", places=6), st.sampled_from(["0.001", "0.3", "0.25", "7"]))
def test_the_quick_way_reads_as_the_general_one(value: Decimal, step: str) -> None:
    lattice = Lattice(step, "-21", "21")
    exact = math.floor(Fraction(value) / lattice.unit + Fraction(1, 2))
    held = min(max(exact, lattice.ends[0]), lattice.ends[1])
    assert lattice.steps(f"{value:f}") == lattice.steps(f"{value:e}") == lattice.steps(float(value)) == held
