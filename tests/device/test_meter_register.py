"""Registers of meters: messages of the makers, readings that add up to the register, and what a loss of power costs."""

import json
from decimal import Decimal
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask_device.device_state import State
from halfmask_device.instants import DAY, MINUTE, instant_text
from halfmask_device.meter_messages import RegisterField, find_register
from halfmask_device.meter_register import LONGEST, MeterRegister
from tests.refusals import refused
from tests.service.world import instant

BEGINS = instant("2026-11-16T00:00:00Z")
TASMOTA = {"Time": "2026-11-16T00:00:00", "ENERGY": {"Total": 1234.567, "Yesterday": 3.1, "Power": 312}}
Z2M = {"energy": 1234.567, "linkquality": 87, "power": 312, "state": "ON"}
SHELLY = {"id": 0, "output": True, "apower": 312.0, "aenergy": {"total": 1234567.0, "minute_ts": 1_790_000_000}}
AIIDA = {
    "asset": "CONNECTION-AGREEMENT-POINT",
    "values": [
        {"dataTag": "1-0:1.7.0", "value": "0.312", "unitOfMeasurement": "kW"},
        {"dataTag": "1-0:1.8.0", "value": "1234.567", "unitOfMeasurement": "kWh"},
    ],
}
NAMES = count()
SHELLY_3EM = {"id": 0, "total_act": 1234567.0, "total_act_ret": 0.0}


@pytest.mark.parametrize(
    ("topic", "payload"),
    [
        ("tele/meter/SENSOR", json.dumps(TASMOTA)),
        ("aiida/meter", json.dumps(AIIDA)),
        ("zigbee2mqtt/meter", json.dumps(Z2M)),
        ("shellyplus/status/switch:0", json.dumps(SHELLY)),
        ("shellypro3em/status/emdata:0", json.dumps(SHELLY_3EM)),
        ("shellies/shellyem/emeter/0/total", "1234567"),
        ("shellies/plug/relay/0/energy", "74074020"),
        ("dsmr/reading/electricity_delivered_1", "1234.567"),
    ],
)
def test_meters_that_people_have_are_recognised_with_their_unit(topic: str, payload: str) -> None:
    found = find_register(topic, payload.encode(), "value", None)
    assert found is not None
    state = found.read(payload.encode())
    assert state is not None
    assert state * found.factor("kWh") == pytest.approx(Decimal("1234.567"))


def test_a_field_and_a_unit_can_be_named() -> None:
    payload = json.dumps({"SML": {"Total_in": 5.5}, "energy": 9}).encode()
    assert find_register("tele/m/SENSOR", payload, "SML.Total_in", "kWh") == RegisterField("SML.Total_in", "kWh")
    assert find_register("tele/m/SENSOR", payload, "value", None) == RegisterField("energy", "kWh")
    assert find_register("gas", b"5.5", "value", "m3") == RegisterField("", "m3")


@pytest.mark.parametrize(
    "payload", [b"", b"ON", b"5.5", b'{"power": 3}', b'{"energy": null}', b'{"energy": true}', b"["]
)
def test_what_shows_no_register_is_not_taken_for_one(payload: bytes) -> None:
    assert find_register("some/topic", payload, "value", None) is None


@pytest.mark.parametrize("payload", [b"NaN", b'{"energy": NaN}', b'{"energy": "x"}', b"\xff"])
def test_a_message_without_a_number_has_no_state(payload: bytes) -> None:
    assert RegisterField("energy", "kWh").read(payload) is None
    assert RegisterField("", "kWh").read(payload) is None


def test_units_that_do_not_measure_the_same_are_refused() -> None:
    assert RegisterField("", "Wh").factor("kWh") == Decimal("0.001")
    with refused("option.unit"):
        RegisterField("", "m3").factor("kWh")


def meter(folder: Path, *sources: str) -> MeterRegister:
    return MeterRegister(State(folder), sources or ("a",), 30)


def test_the_change_of_each_interval_is_a_reading(tmp_path: Path) -> None:
    register = meter(tmp_path / "state")
    for minute, state in ((3, "100"), (20, "100.2"), (31, "100.5"), (59, "100.9"), (61, "101")):
        register.take("a", BEGINS + minute * MINUTE, Decimal(state))
    found = register.readings()
    assert list(found.values()) == [("2026-11-16T00:00:00Z", Decimal("0.5")), ("2026-11-16T00:30:00Z", Decimal("0.5"))]
    register.drop(min(found))
    assert list(register.readings()) == [max(found)]


def test_after_a_loss_of_power_the_change_is_divided_over_what_was_missed(tmp_path: Path) -> None:
    """Another process opens the same folder; the readings add up to the register's change, to the last digit."""
    meter(tmp_path / "state").take("a", BEGINS, Decimal("100"))
    register = meter(tmp_path / "state")
    register.take("a", BEGINS + 7 * 30 * MINUTE + 1, Decimal("101"))
    values = [value for _, value in register.readings().values()]
    assert len(values) == 7
    assert sum(values) == 1
    assert max(values) - min(values) < Decimal("1e-8")


def test_a_glitch_changes_nothing_and_another_meter_begins_anew(tmp_path: Path) -> None:
    register = meter(tmp_path / "state")
    for slot, state in enumerate(("100", "0", "100.5", "2", "2.5", "3")):
        register.take("a", BEGINS + slot * 30 * MINUTE, Decimal(state))
    assert [value for _, value in register.readings().values()] == [Decimal("0.25"), Decimal("0.25"), Decimal("0.5")]


def test_a_clock_that_was_set_back_waits(tmp_path: Path) -> None:
    register = meter(tmp_path / "state")
    for minute, state in ((60, "100"), (0, "100.1"), (30, "100.2"), (90, "100.6")):
        register.take("a", BEGINS + minute * MINUTE, Decimal(state))
    assert list(register.readings().values()) == [(instant_text(BEGINS + 60 * MINUTE), Decimal("0.6"))]


def test_a_gap_of_a_month_begins_anew(tmp_path: Path) -> None:
    register = meter(tmp_path / "state")
    register.take("a", BEGINS, Decimal("100"))
    register.take("a", BEGINS + LONGEST + DAY, Decimal("400"))
    assert register.readings() == {}


def test_the_registers_of_a_meter_are_added_once_each_has_its_change(tmp_path: Path) -> None:
    register = meter(tmp_path / "state", "low", "high")
    register.take("low", BEGINS, Decimal("10"))
    register.take("low", BEGINS + 30 * MINUTE, Decimal("11"))
    assert register.readings() == {}
    register.take("high", BEGINS, Decimal("20"))
    register.take("high", BEGINS + 31 * MINUTE, Decimal("22"))
    assert [value for _, value in register.readings().values()] == [Decimal(3)]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> State:
    return State(tmp_path_factory.mktemp("device") / "state")


@given(st.lists(st.tuples(st.integers(1, 200), st.integers(0, 10**6)), min_size=1, max_size=30))
def test_readings_add_up_to_the_registers_change(state: State, steps: list[tuple[int, int]]) -> None:
    """Whatever the times of messages are: what was counted up to the last border is what the readings hold."""
    name = str(next(NAMES))
    register, when, total = MeterRegister(state, [name], 30), BEGINS, Decimal("1000")
    register.take(name, when, total)
    border, slot = total, when // (30 * MINUTE)
    for minutes, added in steps:
        when, total = when + minutes * MINUTE, total + Decimal(added) / 1000
        register.take(name, when, total)
        if when // (30 * MINUTE) > slot:
            border, slot = total, when // (30 * MINUTE)
    assert sum((value for _, value in register.readings().values()), Decimal(0)) == border - 1000
