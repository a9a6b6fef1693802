"""The trial's files: every code to its half-hour of the wall clock, clock changes included."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from halfmask.data.open_panel import open_panel
from tests.data.panels import rows, us, write
from tests.refusals import refused


def read(tmp_path: Path, lines: list[str]) -> list[tuple[int, int, float]]:
    return rows(open_panel(write(tmp_path / "File1.txt", "\n".join(lines) + "\n"), format="cer"))  # type: ignore[return-value]


def day_of(tmp_path: Path, day: int, slots: range | list[int]) -> list[int]:
    """Minutes after midnight of a day's half-hours."""
    found = read(tmp_path, [f"1000 {day:03}{slot:02} 0.5" for slot in slots])
    midnight = us((date(2009, 1, 1) + timedelta(days=day - 1)).isoformat())
    return [(time - midnight) // 60_000_000 for _, time, _ in found]


def test_codes_and_values(tmp_path: Path) -> None:
    found = read(tmp_path, ["1392 19503 0.14", "1392 19548 0", "7444 73001 12.5"])
    assert found == [
        (1392, us("2009-07-14T01:00"), 0.14),
        (1392, us("2009-07-14T23:30"), 0.0),
        (7444, us("2010-12-31T00:00"), 12.5),
    ]


@pytest.mark.parametrize("day", [1, 99, 195, 451, 453, 730])
def test_ordinary_days(tmp_path: Path, day: int) -> None:
    assert day_of(tmp_path, day, range(1, 49)) == [30 * i for i in range(48)]


@pytest.mark.parametrize(("day", "when"), [(298, "2009-10-25"), (669, "2010-10-31")])
def test_long_days_keep_every_reading_apart_in_its_half_hour(tmp_path: Path, day: int, when: str) -> None:
    minutes = day_of(tmp_path, day, range(1, 51))
    assert len(set(minutes)) == 50
    assert all(0 <= minute < 1440 for minute in minutes)
    assert minutes[:4] == [0, 30, 60, 90]
    assert [minute // 30 * 30 for minute in minutes[4:6]] == [60, 90]  # the second 01:00 and 01:30
    assert minutes[6:] == list(range(120, 1440, 30))
    assert (date(2009, 1, 1) + timedelta(days=day - 1)).isoformat() == when


def test_the_short_day_has_a_gap_of_an_hour(tmp_path: Path) -> None:
    minutes = day_of(tmp_path, 452, [1, *range(4, 49)])
    assert minutes == [0, *range(90, 1440, 30)]
    assert (date(2009, 1, 1) + timedelta(days=451)).isoformat() == "2010-03-28"


def test_a_complete_meter_has_25730_distinct_times(tmp_path: Path) -> None:
    long, short = {298, 669}, {452}
    codes = [
        f"{day:03}{slot:02}"
        for day in range(195, 731)
        for slot in range(1, 51 if day in long else 49)
        if not (day in short and slot in (2, 3))
    ]
    times = {time for _, time, _ in read(tmp_path, [f"1000 {code} 1" for code in codes])}
    assert len(codes) == len(times) == 25_730


def test_duplicates_stay_and_six_files_are_one_panel(tmp_path: Path) -> None:
    for i in range(1, 7):
        write(tmp_path / f"File{i}.txt", f"{1000 + i} 19501 1\n{1000 + i} 19501 2\n")
    panel = open_panel(tmp_path, format="cer")
    found = rows(panel)
    assert [user for user, _, _ in found] == [1000 + i for i in range(1, 7) for _ in range(2)]
    assert [value for _, _, value in found] == [1.0, 2.0] * 6


@pytest.mark.parametrize("code", ["19549", "19500", "00001", "29851", "45249", "1950x", "-9501", "195001"])
def test_codes_that_no_day_has(tmp_path: Path, code: str) -> None:
    with refused("reading.cell", place=f"{tmp_path / 'File1.txt'}, row 2, column 'code'"):
        read(tmp_path, ["1392 19503 0.14", f"1392 {code} 0.14"])


def test_other_faults(tmp_path: Path) -> None:
    with refused("reading.cell", place=f"{tmp_path / 'File1.txt'}, row 1, column 'meter'"):
        read(tmp_path, ["x1 19503 0.14"])
    with refused("reading.cell", place=f"{tmp_path / 'File1.txt'}, row 1, column 'value'"):
        read(tmp_path, ["1392 19503 much"])
    with refused("reading.ragged"):
        read(tmp_path, ["1392 19503 0.14", "1392 19504"])
    with refused("option.format", "user"):
        open_panel(write(tmp_path / "x.txt", "1392 19503 0.14\n"), format="cer", user="meter")
    with refused("source.missing"):
        open_panel(write(tmp_path / "sub" / "x.parquet", "PAR1") and tmp_path / "sub", format="cer")
