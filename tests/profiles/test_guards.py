"""What stops a run, and what a run says of every row: nothing is silently wrong."""

import math
from pathlib import Path

import numpy as np
import pytest

from halfmask.data.sources import open_panel
from halfmask.errors import OptionError, ReadingError
from halfmask.profiles.build import Policies, build_profile
from halfmask.profiles.profile import Profile
from halfmask.profiles.quality import accounts, quality
from tests.profiles.oracle import Reading
from tests.profiles.panels import HALF_HOUR, HOUR, START, plain, series, table

AUTO = Policies()


def made(readings: list[Reading], policies: Policies = AUTO, **said: object) -> Profile:
    panel = open_panel(table(readings), user="user", time="time", value="value", **said)
    return build_profile(panel, policies=policies)


def test_rows_add_up_whatever_happens_to_them() -> None:
    good = plain(4, 300)
    odd: list[Reading] = [
        *((f"u{i}", START + i, math.nan) for i in range(5)),
        *((None, START, 1.0) for _ in range(3)),
        *(("x", None, 1.0) for _ in range(2)),
        *series("far", [-4.0, 90.0, 1.0]),
        *[reading for reading in good if reading[2] is not None][:4],
    ]
    profile = made([*good, *odd], Policies(low=-1.0, high=50.0))
    found = dict(accounts(profile))
    assert found["duplicates"] == 4
    assert found["no user or no time"] == 5
    assert found["below or above the bounds that were given"] == 2
    assert sum(found.values()) == quality(profile)["rows"] == len(good) + len(odd)


def test_duplicates_above_one_in_a_hundred_stop_unless_a_policy_is_named() -> None:
    readings = series("a", [1.0 + i % 3 for i in range(400)])
    few, many = [*readings, *readings[:4]], [*readings, *readings[:5]]
    assert made(few).about["duplicates"] == 4
    with pytest.raises(ReadingError, match=r"5 duplicate readings \(1\.2%\).*`duplicates=first`.*`duplicates=mean`"):
        made(many)
    assert made(many, Policies("last")).about["duplicates"] == 5


def test_duplicates_of_the_night_when_clocks_go_back_are_explained() -> None:
    night = START + 238 * 24 * HOUR + HOUR  # 25 October 2026, a Sunday
    readings = series("a", [1.0 + i % 3 for i in range(400)], start=night - 200 * HALF_HOUR)
    notes = made([*readings, ("a", night, 2.0)]).about["notes"]
    assert "2026-10-25, when clocks go back" in notes[-1]
    elsewhere = made([*readings, ("a", night - 24 * HOUR, 2.0)])
    assert not any("clocks" in note for note in elsewhere.about["notes"])


def test_values_far_outside_stop_unless_a_bound_is_named() -> None:
    readings = plain(2, 300)
    usual = made(readings)
    largest = quality(usual)["quantiles"]["0.99"]
    near = [*readings, ("a", START - HALF_HOUR, 900 * largest)]
    assert made(near).readings == usual.readings + 1
    far: list[Reading] = [*readings, ("a", START - HALF_HOUR, -2000 * largest)]
    with pytest.raises(ReadingError, match=r"1 values are above 1,000 times.*user a at 2026-02-28T23:30:00: `low=-"):
        made(far)
    assert made(far, Policies(high=math.inf)).readings == usual.readings + 1
    assert made(far, Policies(low=-1.0)).readings == usual.readings


def states(used: list[float], first: float = 5000.0) -> list[float]:
    return [first + float(s) for s in np.cumsum([0.0, *used])]


def test_a_register_is_recognised_and_its_differences_are_the_readings() -> None:
    used = [0.5 + 0.125 * (i % 4) for i in range(60)]
    readings = series("a", states(used))
    with pytest.raises(ReadingError, match=r"rise in 100\.0% of 60 changes.*`register`.*`register=False`"):
        made(readings)
    profile = made(readings, register=True)
    assert profile.readings == 60
    assert float(profile.cells[..., 1].sum()) == pytest.approx(sum(used), rel=1e-12)
    assert profile.about["losses"]["first state of a register"] == 1
    assert quality(profile)["rows"] == 61
    kept = made(readings, register=False)
    assert kept.readings == 61


def test_what_rises_and_falls_is_no_register() -> None:
    rng = np.random.default_rng(8)
    assert made(series("a", rng.lognormal(0, 1, 500).tolist())).readings == 500
    warm = 300 + 10 * np.sin(np.arange(480) / 8)
    assert made(series("a", warm.tolist())).readings == 480


def test_gaps_resets_rollovers_and_doubles_of_a_register() -> None:
    rolled = series("a", [99_998.0, 99_999.5, 1.0, 2.5], step=HOUR)
    reset = series("b", [700.0, 701.0, 0.0, 1.5], step=HOUR)
    gap = [reading for i, reading in enumerate(series("c", [10.0, 11.0, 12.0, 13.0, 14.0], step=HOUR)) if i != 2]
    doubled = [*series("d", [1.0, 2.0, 3.0], step=HOUR), ("d", START, 1.0)]
    profile = made([*rolled, *reset, *gap, *doubled], register=True)
    assert profile.about["losses"] == {
        "first state of a register": 4,
        "state after a gap": 1,
        "state after a reset": 1,
        "state at the time of another": 1,
        "state without a value": 0,
    }
    sums = dict(zip(profile.labels.tolist(), profile.cells[..., 1].sum(axis=1).tolist(), strict=True))
    assert sums == {"a": 4.5, "b": 2.5, "c": 2.0, "d": 2.0}


def test_the_step_is_that_of_all_readings_not_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    from halfmask.data import steps

    monkeypatch.setattr(steps, "HEAD_ROWS", 200)
    rng = np.random.default_rng(2)
    coarse = series("a", rng.lognormal(0, 1, 300).tolist(), step=4 * HALF_HOUR)
    fine = [reading for u in range(6) for reading in series(f"b{u}", rng.lognormal(0, 1, 300).tolist())]
    assert made([*coarse, *fine]).step == HALF_HOUR
    assert made(coarse).step == 4 * HALF_HOUR


def test_the_unit_is_kept_saved_and_added_up(tmp_path: Path) -> None:
    one, other = made(plain(2, 50), unit="kWh"), made(plain(2, 50), unit="Wh")
    assert one.unit == "kWh"
    one.write(tmp_path / "x.profile")
    assert Profile.read(tmp_path / "x.profile").unit == "kWh"
    assert (one + one).unit == "kWh"
    with pytest.raises(OptionError, match="profiles in kWh and in Wh do not add up"):
        one + other
    converted = made(plain(2, 50), unit="Wh:kWh")
    assert float(converted.cells[..., 1].sum()) == pytest.approx(float(one.cells[..., 1].sum()) / 1000)
