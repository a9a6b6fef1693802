"""What stops a run, and what a run says of every row: nothing is silently wrong."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq
import pytest

from halfmask.data.open_panel import open_panel
from halfmask.data.options import ReadOptions
from halfmask.errors import ReadingError
from halfmask.profiles.build import Policies, build_profile
from halfmask.profiles.checks import moment
from halfmask.profiles.first_look import ways_out
from halfmask.profiles.profile import Profile
from halfmask.profiles.quality import accounts, quality
from tests.profiles.oracle import Reading
from tests.profiles.panels import HALF_HOUR, HOUR, START, plain, series, table
from tests.refusals import refused

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
    with refused("reading.duplicates", "tz", "duplicates", place=f"user a at {moment(START)}"):
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
    with refused("reading.far", "low", "high", place="user a at 2026-02-28T23:30:00"):
        made(far)
    assert made(far, Policies(high=math.inf)).readings == usual.readings + 1
    assert made(far, Policies(low=-1.0)).readings == usual.readings


def offered(profile: Profile) -> list[dict[str, object]]:
    """The bounds that the notes of a profile offer."""
    ways = [way for note in profile.about["notes"] for way in ways_out(note, ReadOptions())]
    return [dict(way) for way in ways if {"low", "high"} & set(way)]


def test_values_far_outside_on_the_side_without_a_bound_are_counted_in_a_note() -> None:
    usual = series("a", [200.0 + 13 * (37 * i % 100) for i in range(2000)])
    glitches = series("b", [300.0, -248_541.0, 700.0, -9_999.5, 80_000.0, -1_700.0], step=HOUR)
    one_side = made([*usual, *glitches], Policies(high=1600.0))
    (note,) = [note for note in one_side.about["notes"] if "`low" in note]
    assert note.startswith("3 readings")
    assert "-250,000" in note
    assert offered(one_side) == [{"low": -1600.0}, {"low": 0.0}]
    for bound in (-1600.0, 0.0):
        mended = made([*usual, *glitches], Policies(low=bound, high=1600.0))
        assert (mended.readings, offered(mended)) == (2002, [])
    # Without any bound, 100 times the 99 % quantile is counted; 1,000 times still stops the run.
    neither = made([*usual, *glitches])
    assert offered(neither) == [{"low": -150_000.0}]
    assert offered(made([*usual, *series("b", [248_541.0, 1.0])], Policies(low=0.0))) == [{"high": 150_000.0}]


def test_glitches_of_more_than_one_percent_do_not_hide_themselves() -> None:
    readings = series("a", [-248_541.0 if i % 66 == 0 else 200.0 + 13 * (37 * i % 100) for i in range(2000)])
    assert offered(made(readings, Policies(high=1600.0))) == [{"low": -1600.0}, {"low": 0.0}]
    assert [way for way in offered(made(readings)) if "low" in way]


def test_what_is_not_far_outside_or_was_said_to_stay_gives_no_note() -> None:
    usual = series("a", [200.0 + 13 * (37 * i % 100) for i in range(2000)])
    assert offered(made([*usual, *series("b", [-900.0, 3_000.0, 9_000.0])])) == []
    assert offered(made([*usual, *series("b", [-248_541.0])], Policies(high=math.inf))) == []
    net = series("a", [(-5.0 if i % 20 == 0 else 2.0) for i in range(2000)])  # 5 % are fed in, beyond what is drawn
    assert offered(made(net, Policies(high=3.0))) == []


def states(used: list[float], first: float = 5000.0) -> list[float]:
    return [first + float(s) for s in np.cumsum([0.0, *used])]


def test_a_register_is_recognised_and_its_differences_are_the_readings() -> None:
    used = [0.5 + 0.125 * (i % 4) for i in range(60)]
    readings = series("a", states(used))
    with refused("reading.register", "register"):
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
    from halfmask.data import reading_interval

    monkeypatch.setattr(reading_interval, "HEAD_ROWS", 200)
    rng = np.random.default_rng(2)
    coarse = series("a", rng.lognormal(0, 1, 300).tolist(), step=4 * HALF_HOUR)
    fine = [reading for u in range(6) for reading in series(f"b{u}", rng.lognormal(0, 1, 300).tolist())]
    assert made([*coarse, *fine]).step == HALF_HOUR
    assert made(coarse).step == 4 * HALF_HOUR


def test_registers_behind_the_first_rows_stop_the_run_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from halfmask.data import reading_interval
    from halfmask.profiles import checks, compiled_count

    monkeypatch.setattr(reading_interval, "HEAD_ROWS", 200)
    monkeypatch.setattr(checks, "HEAD_ROWS", 200)
    usual = plain(4, 480)
    late = series("z", states([0.5 + 0.125 * (i % 4) for i in range(479)]))
    with refused("reading.register", "sql", "register", place="users z"):
        made([*usual, *late])
    assert made([*usual, *late], register=False).readings == len(usual) + 480
    assert made(usual).readings == len(usual)
    # In buckets of users as well.
    panel = open_panel(table([*usual, *late]), user="user", time="time", value="value")
    for most in (compiled_count.MOST_USERS, 3):
        monkeypatch.setattr(compiled_count, "MOST_USERS", most)
        with refused("reading.register", "sql", "register", place="users z"):
            build_profile(panel, buckets=4, policies=Policies(high=math.inf))
    panel = open_panel(table(usual), user="user", time="time", value="value")
    assert build_profile(panel, buckets=3).readings == len(usual)


def test_codes_for_no_reading_stop_the_run_however_many() -> None:
    readings = plain(2, 300)
    coded = [(u, t, -999.0 if i % 8 == 0 else v) for i, (u, t, v) in enumerate(readings)]
    with refused("reading.far", "low", "high") as caught:
        made(coded)
    assert caught.value.place.startswith("user u00")
    assert ways_out(str(caught.value), ReadOptions())[0] == {"low": -499.5}
    kept = made(coded, Policies(low=-499.5))
    assert kept.readings == len([v for _, _, v in coded if v != -999.0])
    assert dict(accounts(kept))["below or above the bounds that were given"] == len(coded) - kept.readings
    # A switch is on or off, and 2,000 is no code.
    assert made([(u, t, 2000.0 if i % 8 == 0 else 0.5) for i, (u, t, _) in enumerate(readings)]).readings == len(
        readings
    )


@pytest.mark.parametrize(
    "source", ["csv", "parquet", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])]
)
def test_rows_duplicates_and_step_are_of_all_the_source(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    from halfmask.data import reading_interval

    engine = "spark" if source == "spark" else "duckdb"
    if source == "spark":
        request.getfixturevalue("spark")
    monkeypatch.setattr(reading_interval, "HEAD_ROWS", 100)
    coarse = series("a", [1.0 + i % 3 for i in range(150)], step=4 * HALF_HOUR)
    fine = [r for u in range(4) for r in series(f"b{u}", [0.5 + i % 5 for i in range(150)])]
    lost: list[Reading] = [("a", START - HOUR * (i + 1), None) for i in range(3)] + [
        (None, START, 1.0),
        ("b1", None, 2.0),
    ]
    again = fine[:20]
    readings = [*coarse, *fine, *lost, *again]
    path = tmp_path / f"x.{'csv' if source == 'spark' else source}"
    if path.suffix == ".parquet":
        pq.write_table(table(readings), path)
    else:
        pc_csv.write_csv(table(readings), path)
    panel = open_panel(path, engine=engine, master="local[2]" if source == "spark" else None)
    if source == "spark":
        panel.frame.to_native().sparkSession.conf.set("spark.sql.shuffle.partitions", "2")
    with refused("reading.duplicates", "duplicates", place=f"user b0 at {moment(START)}"):
        build_profile(panel)
    profile = build_profile(panel, policies=Policies("last"))
    assert profile.step == HALF_HOUR
    assert dict(accounts(profile)) == {
        "used as readings": len(coarse) + len(fine),
        "no value: empty, a word for nothing, NaN or infinite": 3,
        "duplicates": 20,
        "no user or no time": 2,
    }
    assert quality(profile)["rows"] == len(readings)


ODD = {
    "a time with a fraction": "a,2026-03-01 12:00:00.5,1.5",
    "a word for nothing": "a,2026-03-01 12:00:01,n/a",
    "a blank around a value": "a,2026-03-01 12:00:01, 2.5 ",
    "a blank behind a user": "a ,2026-03-01 12:00:01,2.5",
    "a header again": "user,time,value",
}


@pytest.mark.parametrize("odd", ODD)
def test_what_is_read_quickly_is_what_is_read_with_care(odd: str, tmp_path: Path) -> None:
    usual = [
        f"a,{moment},{1 + i % 7}.25" for i, moment in enumerate(np.arange("2026-02-01", "2026-02-21", 1800, "M8[s]"))
    ]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["user,time,value", *usual, ODD[odd]]).replace("T", " "))
    panel = open_panel(path)
    assert panel.quick is not None
    quickly, carefully = build_profile(panel), build_profile(replace(panel, quick=None))
    assert quickly.fingerprint() == carefully.fingerprint()
    assert accounts(quickly) == accounts(carefully)
    assert quickly.users == 1
    path.write_text("\n".join(["user,time,value", *usual, "a,26-03-01 12:00:00.00,1"]).replace("T", " "))
    with pytest.raises(
        ReadingError, match=r"x\.csv, row 961, column 'time': '26-03-01 12:00:00\.00' is not an ISO time"
    ):
        build_profile(open_panel(path))


def test_units_that_do_not_convert_are_refused_with_a_query_that_reads_one(tmp_path: Path) -> None:
    rows = [f"u{i % 3},2026-01-01 0{i // 3}:00,{1 + i},{'m3' if i % 3 == 2 else 'kWh'}" for i in range(24)]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["user,time,value,unit", *rows]))
    with pytest.raises(
        ReadingError, match=r"column unit: 'm3' does not convert into kWh \(kWh 16 rows, m3 8 rows\).*`sql="
    ) as caught:
        open_panel(path)
    kinds = ways_out(str(caught.value), ReadOptions())
    assert [open_panel(path, **way).unit for way in kinds] == ["kWh", "m3"]
    panel = open_panel(path, **kinds[0])
    assert (panel.unit, build_profile(panel).readings) == ("kWh", 16)
    path.write_text("\n".join(["user,time,value,unit", *rows]).replace("m3", ""))
    with refused("reading.unit", "unit", "sql"):
        open_panel(path)
    path.write_text("\n".join(["user,time,value,unit", *rows]).replace("m3", "").replace("kWh", ""))
    with refused("reading.unit", "unit"):
        open_panel(path)
    assert open_panel(path, unit="kWh").unit == "kWh"
    wide = "time,a (kWh),b (Wh),c (m3)\n2026-01-01 00:00,1,2000,3\n2026-01-01 01:00,1,2000,3\n"
    path.write_text(wide)
    with refused("column.units", "value", "user"):
        open_panel(path, wide=True)
    path.write_text(wide.replace(",c (m3)", "").replace(",3", ""))
    panel = open_panel(path, wide=True)
    assert (panel.unit, float(build_profile(panel).cells[..., 1].sum())) == ("kWh", 6.0)


def test_the_unit_is_kept_saved_and_added_up(tmp_path: Path) -> None:
    one, other = made(plain(2, 50), unit="kWh"), made(plain(2, 50), unit="Wh")
    assert one.unit == "kWh"
    one.write(tmp_path / "x.profile")
    assert Profile.read(tmp_path / "x.profile").unit == "kWh"
    assert (one + one).unit == "kWh"
    with refused("option.unalike", "unit"):
        one + other
    converted = made(plain(2, 50), unit="Wh:kWh")
    assert float(converted.cells[..., 1].sum()) == pytest.approx(float(one.cells[..., 1].sum()) / 1000)


def test_a_total_stops_and_numbers_that_add_up_by_chance_do_not() -> None:
    days = range(5)
    parts = {name: [size + day % 3 for day in days] for name, size in (("a", 1.0), ("b", 2.0), ("c", 4.0))}
    total = [sum(each[day] for each in parts.values()) for day in days]

    def readings(everyone: dict[str, list[float]]) -> list[Reading]:
        day = 24 * HOUR
        return [(name, START + day * i, value) for name, values in everyone.items() for i, value in enumerate(values)]

    with refused("reading.total", "sql", place="user all"):
        made(readings({**parts, "all": total}))
    assert len(made(readings({**parts, "all": [total[0], *total[:-1]]}))) == 4
    same = {name: [size] * 5 for name, size in (("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 6.0))}
    assert len(made(readings(same))) == 4
