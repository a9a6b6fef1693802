"""Spark reads the same files into the same panel as DuckDB, and says the same of what cannot be read."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from halfmask.data.open_panel import open_panel
from halfmask.errors import ReadingError
from tests.data.panels import CSV, READINGS, rows, table, us, write
from tests.refusals import refused

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("spark")]

ROWS = 6_000
"""So many long lines that a file is read in several parts."""
AWKWARD = (
    "meter;ts;kwh\n"
    "007;2026-03-29T00:30:00Z;0\n007;2026-03-29 02:30:00+01:00;nan\n;2026-06-01T12:00:00.123456789-0530;-1e300\n"
    '"a;""b""";;inf\nx;2026-10-25T01:30+02;NA\nx;2026-10-25T01:30:00.5 +00:00; 2.5 \n'
)


def both(source: Any, **options: Any) -> list[tuple[Any, ...]]:
    """The readings, which both engines must agree on to the last bit and in order."""
    duck = open_panel(source, **options)
    spark = open_panel(source, engine="spark", **options)
    assert spark.engine.name == "spark"
    assert spark.notes == duck.notes
    assert spark.frame.collect_schema() == duck.frame.collect_schema()
    found = rows(spark)
    assert [tuple(map(repr, row)) for row in found] == [tuple(map(repr, row)) for row in rows(duck)]
    return found


def test_csv(tmp_path: Path) -> None:
    assert both(write(tmp_path / "x.csv", CSV)) == READINGS
    path = write(tmp_path / "y.csv", AWKWARD)
    found = both(path, tz="Europe/Dublin")
    assert len(found) == 6
    assert found[1][1] == us("2026-03-29T02:30")


def test_offsets_of_a_clock_change(tmp_path: Path) -> None:
    """Without a zone, both engines find the clock that the offsets show, or ask for it."""
    clocks = [("01:30:00+02:00", 0), ("02:30+02", 0), ("02:30:00+0100", 1), ("03:30:00.25 +01:00", 250_000)]
    lines = [f"u{i % 2},2026-10-25T{clock},{i}" for i, (clock, _) in enumerate(clocks)]
    found = both(write(tmp_path / "x.csv", "\n".join(["user,time,value", *lines])))
    assert [row[1] for row in found] == [us(f"2026-10-25T{clock[:5]}") + more for clock, more in clocks]
    path = write(tmp_path / "y.csv", AWKWARD)
    for engine in ("duckdb", "spark"):
        with pytest.raises(ReadingError) as refused:
            open_panel(path, engine=engine)
        assert refused.value.fields == ("tz",)


@pytest.mark.slow
def test_csv_of_epochs_and_of_blanks(tmp_path: Path) -> None:
    epochs = "".join(f"u,{1_700_000_000_000 + 1800_000 * i},{i}\n" for i in range(9))
    assert len(both(write(tmp_path / "z.csv", "user,time,value\n" + epochs), tz="Asia/Kathmandu")) == 9
    assert len(both(write(tmp_path / "w.txt", "a 2026-01-01 1.5\nb 2026-01-02 2\n"))) == 2


@pytest.mark.parametrize(
    ("time", "user"),
    [
        ("zoned", "whole"),
        pytest.param("date", "part", marks=pytest.mark.slow),
        pytest.param("epoch", "int", marks=pytest.mark.slow),
        ("text", "int"),
    ],
)
def test_parquet_of_every_type(time: str, user: str, tmp_path: Path) -> None:
    moments = [datetime(2026, 3, 29, 1, 30), None, datetime(1965, 1, 1, 0, 0, 0, 1)]
    times = {
        "zoned": pa.array(moments, pa.timestamp("us", "UTC")),
        "date": pa.array(moments, pa.date32()),
        "epoch": pa.array([1_700_000_000, None, 0]),
        "text": pa.array(["2026-03-29T01:30:00.1234567", None, ""]),
    }
    users = {
        "whole": pa.array([1.0, None, 3.0]),
        "part": pa.array([1.5, None, 3.0]),
        "int": pa.array([1, None, 3], pa.int32()),
    }
    data = pa.table({"user": users[user], "time": times[time], "value": pa.array([1, None, -3], pa.int16())})
    pq.write_table(data, tmp_path / "y.parquet")
    both(tmp_path / "y.parquet", tz="America/New_York")


def test_folders_globs_hive_and_odd_names(tmp_path: Path) -> None:
    head, *lines = CSV.splitlines()
    names = ["b [1].csv", "a*.csv", "c{x}'.csv"]
    for name, line in zip(names, lines, strict=True):
        write(tmp_path / "in" / name, f"{head}\n{line}\n")
    assert sorted(both(tmp_path / "in"), key=str) == sorted(READINGS, key=str)
    assert both(str(tmp_path / "in" / "b*.csv")) == READINGS[:1]
    for home in ("007", "8"):
        (tmp_path / "hive" / f"home={home}").mkdir(parents=True)
        pq.write_table(table().drop_columns("user"), tmp_path / "hive" / f"home={home}" / "part.parquet")
    assert {row[0] for row in both(tmp_path / "hive")} == {"007", "8"}


def test_order_over_several_parts_and_files(tmp_path: Path) -> None:
    for file in range(2):
        lines = (f"u{file},2026-01-01 00:00:00,{i}.{'0' * 1_000}\n" for i in range(ROWS))
        write(tmp_path / f"{file}.csv", "user,time,value\n" + "".join(lines))
    panel = open_panel(tmp_path, engine="spark")
    assert panel.ordered.to_native().rdd.getNumPartitions() > 1
    found = panel.collect(panel.ordered.sort("order"))
    assert found.column("value").to_pylist() == [float(i) for i in range(ROWS)] * 2
    assert found.column("user").to_pylist() == [f"u{file}" for file in range(2) for _ in range(ROWS)]


def test_cer_and_wide(tmp_path: Path) -> None:
    codes = [f"{day}{slot:02}" for day in (195, 298, 669) for slot in range(1, 51 if day != 195 else 49)]
    both(write(tmp_path / "File1.txt", "".join(f"1000 {code} 0.5\n" for code in codes)), format="cer")
    wide = "time,it's,b\\c,note\n2026-01-01 00:00:00,1,,x\n2026-01-01 00:30:00,2.5,3,y\n"
    path = write(tmp_path / "x.csv", wide)
    found = [sorted(rows(open_panel(path, wide=True, engine=engine)), key=str) for engine in ("duckdb", "spark")]  # type: ignore[arg-type]
    assert found[0] == found[1]
    assert {row[0] for row in found[0]} == {"it's", "b\\c"}


def test_odd_column_names(tmp_path: Path) -> None:
    value = 'it\'s `x` "y"; -- Größe a.b'
    pq.write_table(table().rename_columns(["user", "time", value]), tmp_path / "x.parquet")
    assert both(tmp_path / "x.parquet", value=value) == READINGS


def test_frames_and_streams(spark: Any) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Dublin")
    try:
        native = spark.createDataFrame(table())
        panel = open_panel(native)
        assert panel.engine.name == "spark"
        assert rows(panel) == READINGS
        small = panel.engine.table(pa.table({"user": ["a"], "home": [7]}))
        joined = panel.collect(panel.frame.join(small, on="user", how="inner"))
        assert joined.column("home").to_pylist() == [7, 7]
        streamed = pa.Table.from_batches(panel.batches())
        assert streamed.schema.types == [pa.string(), pa.int64(), pa.float64()]
        assert streamed.column("value").to_pylist() == [1.5, None, -2.0]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert rows(open_panel(table().to_pandas(), engine="spark")) == READINGS


def test_a_session_that_hides_failures_hides_none_of_ours(spark: Any) -> None:
    loose = spark.newSession()
    loose.conf.set("spark.sql.ansi.enabled", "false")
    assert rows(open_panel(loose.createDataFrame(table()))) == READINGS
    broken = pa.table({"user": ["a"] * 2, "time": ["2026-01-01", "later"], "value": [1.0, 2.0]})
    with pytest.raises(ReadingError) as refused:
        rows(open_panel(loose.createDataFrame(broken)))
    assert refused.value.fields == ("date_format", "sql")


def test_unreadable_cells_are_named(tmp_path: Path) -> None:
    lines = ["a,2026-01-01 00:00:00,1"] * 2_000
    for file, broken in (("1.csv", None), ("2.csv", "a,later,1"), ("3.csv", "a,2026-01-01,x")):
        write(tmp_path / file, "user,time,value\n" + "\n".join([*lines, broken or lines[0]]) + "\n")
    with refused("reading.cell", place=f"{tmp_path / '2.csv'}, row 2001, column 'time'"):
        rows(open_panel(tmp_path, engine="spark"))
    mixed = "user,time,value\n" + "a,2026-01-01T00:00:00,1\n" * 2_000 + "a,2026-01-01T00:00:00Z,1\n"
    with refused("reading.zones"):
        list(open_panel(write(tmp_path / "m" / "m.csv", mixed), engine="spark").batches())


def test_broken_files_are_named(tmp_path: Path) -> None:
    ragged = write(tmp_path / "ragged.csv", CSV + "a,2026-01-01\n")
    with refused("source.spark", "engine"):
        rows(open_panel(ragged, engine="spark"))
    big = pa.concat_tables([table()] * 20_000)
    pq.write_table(big, tmp_path / "p.parquet", row_group_size=20_000, use_dictionary=False)
    data = bytearray((tmp_path / "p.parquet").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 4_000] = b"\xff" * 4_000
    (tmp_path / "p.parquet").write_bytes(data)
    with refused("source") as caught:
        rows(open_panel(tmp_path / "p.parquet", engine="spark"))
    assert "\n" not in str(caught.value)


def test_what_spark_cannot_do(tmp_path: Path) -> None:
    write(tmp_path / "c" / "1.csv", "user,time,value\na,2026-01-01,1\n")
    write(tmp_path / "c" / "2.csv", "value,user,time\n2.5,b,2026-01-02\n")
    with refused("source.differ", "engine"):
        open_panel(tmp_path / "c", engine="spark")
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"SQLite format 3\0" + bytes(100))
    with refused("option.engine", "engine"):
        open_panel(path, engine="spark")
