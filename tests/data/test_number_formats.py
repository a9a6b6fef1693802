"""Users and values of any type."""

from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from halfmask.data.open_panel import open_panel
from halfmask.data.options import ReadOptions
from halfmask.errors import ReadingError
from halfmask.profiles.build import build_profile
from halfmask.profiles.first_look import ways_out
from tests.data.panels import rows, us
from tests.refusals import refused

NOON = us("2026-01-01T12:00")


def frame(user: Any, value: Any) -> pa.Table:
    n = len(value)
    return pa.table({"user": user, "time": pa.array([NOON] * n, pa.timestamp("us")), "value": value})


def users(column: Any) -> list[Any]:
    return [row[0] for row in rows(open_panel(frame(column, [1.0] * len(column))))]


def test_users_keep_their_type() -> None:
    assert users(pa.array(["007", None, "", " 8 "])) == ["007", None, None, "8"]
    assert users(pa.array([7, None], pa.int32())) == [7, None]
    assert users(pa.array(["x", "y"]).dictionary_encode()) == ["x", "y"]
    assert users(pa.array([Decimal("1.50")])) == ["1.50"]


def test_ids_stored_as_floats() -> None:
    assert users(pa.array([1392.0, None, float("nan"), 7.0])) == [1392, None, None, 7]
    assert users(pa.array([1392.0, 7.5])) == ["1392.0", "7.5"]
    assert users(pa.array(["1392.0", "7", None])) == ["1392", "7", None]
    assert users(pa.array(["1.0", "2.5"])) == ["1.0", "2.5"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, None, -3], pa.int8()),
        pa.array([1, None, -3], pa.float32()),
        pa.array([Decimal(1), None, Decimal(-3)], pa.decimal128(10, 2)),
        pa.array(["1", "", "-3.0"]),
        pa.array(["1", None, "-3e0"]).dictionary_encode(),
    ],
    ids=str,
)
def test_values_of_any_number_type(column: pa.Array) -> None:
    assert [row[2] for row in rows(open_panel(frame(["a"] * 3, column)))] == [1.0, None, -3.0]


def test_nothing_but_nulls() -> None:
    empty = pa.nulls(2)
    panel = open_panel(pa.table({"user": empty, "time": empty, "value": empty}))
    assert rows(panel) == [(None, None, None)] * 2


def test_what_is_no_number_is_refused() -> None:
    with refused("reading.type", "value"):
        open_panel(frame(["a"], pa.array([True])))
    with refused("reading.cell", "sql", place="pyarrow frame, row 2, column 'value'"):
        rows(open_panel(frame(["a", "b"], pa.array(["1", "high"])), value="value"))
    with refused("reading.type", "value"):
        open_panel(frame(["a"], pa.array([us("2026-01-01")], pa.timestamp("us"))), time="time", value="value")


def test_a_column_of_mixed_types_is_refused() -> None:
    mixed = pd.DataFrame({"user": ["a", 1], "time": pd.to_datetime(["2026-01-01"] * 2), "value": [1.0, 2.0]})
    with refused("reading.mixed"):
        open_panel(mixed)


def written(path: Path, cells: list[str]) -> Path:
    times = [datetime(2024, 1, 1) + i * timedelta(minutes=30) for i in range(len(cells))]
    path.write_text("\n".join(["meter;time;wh", *(f"a;{t};{cell}" for t, cell in zip(times, cells, strict=True))]))
    return path


@pytest.mark.parametrize("late", [40, 1500, 100_000])
def test_a_point_that_may_group_thousands_stops_wherever_it_shows(late: int, tmp_path: Path) -> None:
    cells = [str(100 + i % 800) for i in range(late)] + ["1.099"]
    path = written(tmp_path / "x.csv", cells)
    with pytest.raises(ReadingError, match=r"1\.099") as refused:
        rows(open_panel(path))
    fractions, thousands = ways_out(str(refused.value), ReadOptions())
    assert rows(open_panel(path, **fractions))[-1][2] == 1.099
    assert rows(open_panel(path, **thousands))[-1][2] == 1099.0
    with pytest.raises(ReadingError, match=r"1\.099"):
        build_profile(open_panel(path, unit="Wh:kWh"))
    # What can only be meant in one way is read.
    assert rows(open_panel(written(path, [*cells[:-1], "0.5", "12.25"])))[-1][2] == 12.25


def test_three_digits_behind_every_point_are_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", [f"{1 + i % 9}.{100 + i}" for i in range(60)])
    with refused("reading.ambiguous", "decimal"):
        open_panel(path)
    assert rows(open_panel(written(path, [*(f"{1 + i % 9}.{100 + i}" for i in range(60)), "0.5"])))[0][2] == 1.1
