"""Frames that live in Python, and wide tables."""

from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from halfmask.data.open_panel import open_panel
from tests.data.panels import READINGS, rows, table, us, write
from tests.refusals import refused


def relation() -> duckdb.DuckDBPyRelation:
    return duckdb.connect().from_arrow(table().append_column("extra", pa.array([1, 2, 3])))


FRAMES: dict[str, Any] = {
    "arrow": table,
    "pandas": lambda: table().to_pandas(),
    "pandas of arrow": lambda: table().to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.from_arrow(table()),
    "polars lazy": lambda: pl.from_arrow(table()).lazy().with_columns(extra=1),  # type: ignore[union-attr]
    "duckdb relation": relation,
    "narwhals": lambda: nw.from_native(table()),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_every_kind(kind: str) -> None:
    panel = open_panel(FRAMES[kind]())
    assert rows(panel) == READINGS
    # A lazy one is read anew by every query.
    assert panel.collect(panel.frame.select(nw.col("value").sum())).to_pylist() == [{"value": -0.5}]
    assert sum(batch.num_rows for batch in panel.batches()) == 3
    small = panel.engine.table(pa.table({"user": ["a"], "home": [7]}))
    joined = panel.collect(panel.frame.join(small, on="user", how="inner"))
    assert joined.column("home").to_pylist() == [7, 7]


def test_a_lazy_frame_is_streamed() -> None:
    asked = []

    def count(batch: pl.DataFrame) -> pl.DataFrame:
        asked.append(batch.height)
        return batch

    source = pl.LazyFrame({"user": range(300_000), "value": 1.5}).with_columns(time=pl.lit("2026-01-01"))
    panel = open_panel(source.map_batches(count, streamable=True))
    opened = len(asked)
    assert panel.collect(panel.frame.select(nw.len())).to_pylist() == [{"len": 300_000}]
    assert len(asked) > opened


def test_an_error_in_a_lazy_frame_names_the_row() -> None:
    times = ["2026-01-01"] * 5_000 + ["soon"]
    panel = open_panel(pl.LazyFrame({"user": 1, "time": times, "value": 1.5}))
    with refused("reading.cell", "date_format", "sql", place="polars frame, row 5001, column 'time'"):
        rows(panel)


def test_what_is_no_frame() -> None:
    with refused("source.type"):
        open_panel({"user": [1]})
    double = pd.DataFrame([[1, 2]], columns=["user", "user"])
    with refused("column.twice"):
        open_panel(double)
    with refused("source.empty"):
        open_panel(table().slice(0, 0))


WIDE = "when,1001,1002,note\n2026-01-01 00:00:00,1,,x\n2026-01-01 00:30:00,2.5,3,y\n"


def test_wide_tables(tmp_path: Path) -> None:
    panel = open_panel(write(tmp_path / "x.csv", WIDE), wide=True)
    first, second = us("2026-01-01T00:00"), us("2026-01-01T00:30")
    assert sorted(rows(panel), key=str) == [
        ("1001", first, 1.0),
        ("1001", second, 2.5),
        ("1002", first, None),
        ("1002", second, 3.0),
    ]
    assert panel.notes == ("time = when, 2 columns as users", "columns left out: note")


def test_wide_frames_with_odd_names() -> None:
    columns = {"time": [us("2026-01-01")], "it's": [1], 'a"b': [2.0], "user": [3], "value": [4]}
    data = pa.table(columns).set_column(0, "time", pa.array(columns["time"], pa.timestamp("us")))
    assert {(user, value) for user, _, value in rows(open_panel(data, wide=True))} == {
        ("it's", 1.0),
        ('a"b', 2.0),
        ("user", 3.0),
        ("value", 4.0),
    }


def test_wide_faults(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", WIDE)
    with refused("option.wide", "wide", "user", "value"):
        open_panel(path, wide=True, user="1001")
    with refused("column.unknown", "time"):
        open_panel(path, wide=True, time="at")
    with refused("column.missing", "time"):
        open_panel(write(tmp_path / "y.csv", "a,b\n1,2\n"), wide=True)
    with refused("column.missing", "wide"):
        open_panel(write(tmp_path / "z.csv", "when,a\n2026-01-01,x\n"), wide=True)
    lines = "2026-01-01 00:00:00,1\n" * 3_000
    bad = write(tmp_path / "w.csv", f"when,s1\n{lines}2026-01-01 00:00:00,one\n")
    panel = open_panel(bad, wide=True)
    with refused("reading.cell", place=f"{tmp_path / 'w.csv'}, row 3001, column 's1'"):
        rows(panel)
