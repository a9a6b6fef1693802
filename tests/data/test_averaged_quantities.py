"""Which readings are states, whose totals mean nothing, and that their mean is evaluated by default."""

from pathlib import Path

import numpy as np
import pytest

import halfmask
from halfmask.data.averaged_quantities import state_of
from halfmask.data.open_panel import open_panel
from halfmask.evaluation.evaluate import findings
from tests.data.panels import write


@pytest.mark.parametrize(
    ("unit", "name", "quantity"),
    [
        ("°C", "value", "temperatures"),
        ("K", "value", "temperatures"),
        ("V", "value", "voltages"),
        ("%", "value", "percentages"),
        ("hPa", "value", "pressures"),
        ("EUR/MWh", "value", "prices"),
        ("€/kWh", "value", "prices"),
        (None, "room_temperature", "temperatures"),
        (None, "Voltage (V)", "voltages"),
        (None, "T_out [°F]", "temperatures"),
        (None, "waterLevel", "levels"),
        (None, "price_eur_mwh", "prices"),
        ("kWh", "value", None),
        ("kWh", "level", None),
        ("EUR", "price", None),
        ("kW", "net_power", None),
        (None, "value", None),
        (None, "net_energy", None),
        (None, "count", None),
        ("items", "value", None),
    ],
)
def test_a_unit_decides_and_then_a_name(unit: str | None, name: str, quantity: str | None) -> None:
    assert state_of(unit, [name]) == quantity


def test_columns_of_sensors_must_say_the_same() -> None:
    assert state_of(None, ["kitchen_temp", "hall_temp"]) == "temperatures"
    assert state_of(None, ["kitchen_temp", "hall_humidity"]) is None
    assert state_of(None, []) is None


def panel(folder: Path, column: str, users: int = 12, days: int = 6) -> str:
    """Readings of both signs, of users who do not all report every day: so sums and means have other errors."""
    rng = np.random.default_rng(8)
    lines = [
        f"s{u},2026-01-{1 + day:02}T{hour:02}:00,{rng.normal(4, 6):.1f}"
        for u in range(users)
        for day in range(days)
        for hour in range(0, 24 if u % 2 or day % 2 else 6)
    ]
    return write(folder / f"{column}.csv", "\n".join([f"sensor,time,{column}", *lines]))


def test_states_are_averaged_and_net_metering_is_summed(tmp_path: Path) -> None:
    rooms = halfmask.profile(panel(tmp_path, "temperature"))
    net = halfmask.profile(panel(tmp_path, "net_kwh"))
    assert (rooms.quantity, net.quantity) == ("temperatures", None)
    asked = {"settings": ["laplace:1"], "sizes": "all"}
    found = {
        name: halfmask.evaluate(profile, **asked, **more)
        for name, profile, more in (
            ("auto", rooms, {}),
            ("mean", rooms, {"aggregate": "mean"}),
            ("sum", rooms, {"aggregate": "sum"}),
            ("net", net, {}),
        )
    }
    assert {name: study.experiment.aggregate for name, study in found.items()} == {
        "auto": "mean", "mean": "mean", "sum": "sum", "net": "sum"
    }  # fmt: skip
    assert found["auto"].metrics.tolist() == found["mean"].metrics.tolist() != found["sum"].metrics.tolist()
    said = {name: [each for each in findings(study) if "`aggregate=sum`" in each] for name, study in found.items()}
    assert {name: len(each) for name, each in said.items()} == {"auto": 1, "mean": 1, "sum": 0, "net": 0}
    menu = halfmask.optimize(found["auto"], profile=rooms)
    assert sum("`aggregate=sum`" in note for note in menu.notes) == 1
    assert menu.menu.provenance["aggregate"] == "mean"


def test_the_profile_keeps_what_readings_are_of(tmp_path: Path) -> None:
    rooms = halfmask.profile(panel(tmp_path, "temperature"), output=tmp_path / "x.profile")
    again = type(rooms).read(tmp_path / "x.profile")
    assert (again.quantity, (again + again).quantity) == ("temperatures", "temperatures")
    assert (again + halfmask.profile(panel(tmp_path, "voltage"))).quantity is None
    wide = write(tmp_path / "w.csv", "time,hall_temp,attic_temp\n2026-01-01T00:00,1.5,2\n2026-01-01T01:00,2.5,-1.5\n")
    assert open_panel(wide).quantity == "temperatures"
