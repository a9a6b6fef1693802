"""Who the users are: what a column that is not named as theirs must show, and what files are named by."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

from halfmask.data.open_panel import open_panel
from halfmask.data.options import ReadOptions
from halfmask.errors import InputError
from halfmask.profiles.build import build_profile
from halfmask.profiles.first_look import ways_out
from halfmask.profiles.profile import Profile

TIMES = [datetime(2024, 5, 13) + i * timedelta(minutes=30) for i in range(480)]


def value(i: int) -> float:
    return round(0.1 + (37 * i % 101) / 90, 3)


def made(source: Any, **said: Any) -> Profile:
    return build_profile(open_panel(source, **said))


def ways(source: Any) -> list[dict[str, Any]]:
    with pytest.raises(InputError) as refused:
        made(source)
    return [dict(way) for way in ways_out(str(refused.value), ReadOptions())]


ODD: dict[str, Callable[[int], object]] = {
    "tariff": lambda i: 1 if TIMES[i].hour < 7 else 2,
    "rate": lambda i: "night" if TIMES[i].hour < 7 else "day",
    "weekday": lambda i: f"{TIMES[i]:%A}",
    "confidence": lambda i: i % 4,
    "source": lambda i: "estimate" if i % 9 == 4 else "meter",
}


@pytest.mark.parametrize("name", ODD)
def test_what_says_something_of_each_reading_is_no_user(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join([f"time,kwh,{name}", *(f"{t},{value(i)},{ODD[name](i)}" for i, t in enumerate(TIMES))]))
    alone, several = ways(path)
    assert (alone, several) == ({"user": "@file"}, {"user": name})
    one = made(path, **alone)
    assert (one.users, one.readings) == (1, 480)
    assert made(path, **several).users == len({ODD[name](i) for i in range(480)})
    # A frame has no file whose name could be taken.
    frame = pyarrow.csv.read_csv(path)
    query, several = ways(frame)
    assert (made(frame, **query).users, several) == (1, {"user": name})


@pytest.mark.parametrize("name", ["Status", "flag", "Reading quality"])
def test_a_column_of_flags_is_no_user(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = [f"{t};{value(i)};{'AAAE'[i % 4]}" for i, t in enumerate(TIMES)]
    path.write_text("\n".join([f"time;kwh;{name}", *rows]))
    assert made(path).users == 1


def test_a_column_of_kinds_is_no_user(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = [f"{t};{value(i + shift)};{kind}" for i, t in enumerate(TIMES) for kind, shift in (("in", 0), ("out", 9))]
    path.write_text("\n".join(["time;kwh;Rodzaj", *rows]))
    first, second, several = ways(path)
    assert [made(path, **way).users for way in (first, second, several)] == [1, 1, 2]
    assert made(path, **second).readings == 480


def test_users_with_series_of_their_own_need_no_name(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    # The first rows, of which guesses are made, hold one of them.
    rows = [
        f"{site};{t + k * timedelta(days=10)};{value(i + k)}"
        for site in "NS"
        for k in range(3)
        for i, t in enumerate(TIMES)
    ]
    path.write_text("\n".join(["Standort;Zeit;kWh", *rows]))
    assert made(path).labels.tolist() == ["N", "S"]
    later = [row.replace("2024-", "2025-") if row.startswith("S") else row for row in rows]
    path.write_text("\n".join(["Standort;Zeit;kWh", *later]))
    assert ways(path) == [{"user": "@file"}, {"user": "Standort"}]


def test_files_of_a_meter_and_a_month_are_asked_about(tmp_path: Path) -> None:
    for meter in ("m0", "m1", "m2"):
        for month in (5, 6):
            rows = [f"{t.replace(month=month)},{value(i)}" for i, t in enumerate(TIMES[:96])]
            (tmp_path / f"{meter}_2024-{month:02}.csv").write_text("\n".join(["time,kwh", *rows]))
    each, together = ways(tmp_path)
    assert [made(tmp_path, **way).users for way in (each, together)] == [6, 3]
    assert made(tmp_path, **together).labels.tolist() == ["m0", "m1", "m2"]
