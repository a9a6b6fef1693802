"""CSV and Parquet files, folders and globs: what is read, and what is said of files that cannot be."""

import gzip
from pathlib import Path

import duckdb
import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from halfmask.data.open_panel import open_panel
from halfmask.errors import HalfmaskError
from tests.data.panels import CSV, READINGS, rows, table, us, write
from tests.real_data import DATA, needs_data
from tests.refusals import refused


def test_csv_and_its_notes(tmp_path: Path) -> None:
    panel = open_panel(write(tmp_path / "x.csv", CSV))
    assert rows(panel) == READINGS
    assert panel.notes == ("user = user, time = time, value = value",)
    schema = panel.frame.collect_schema()
    assert list(schema.items()) == [("user", nw.String), ("time", nw.Int64), ("value", nw.Float64)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_delimiters_and_line_endings(tmp_path: Path, delimiter: str, ending: str) -> None:
    text = CSV.replace(",", delimiter).replace("\n", ending)
    path = tmp_path / "x.txt"
    path.write_bytes(text.encode())
    assert rows(open_panel(path)) == READINGS


def test_compressed_csv(tmp_path: Path) -> None:
    packed = tmp_path / "x.csv.gz"
    packed.write_bytes(gzip.compress(CSV.encode()))
    assert rows(open_panel(packed)) == READINGS
    with pa.output_stream(str(tmp_path / "y.csv.zst"), compression="zstd") as out:
        out.write(CSV.encode())
    assert rows(open_panel(tmp_path / "y.csv.zst")) == READINGS
    # The bytes count, not the name.
    packed.rename(tmp_path / "z.csv")
    assert rows(open_panel(tmp_path / "z.csv")) == READINGS


def test_no_header_three_columns_are_told_by_type(tmp_path: Path) -> None:
    path = write(tmp_path / "x.txt", "2026-01-01T00:00:00 h1 0.5\n2026-01-01T00:30:00 h2 1\n")
    panel = open_panel(path)
    assert panel.notes == ("user = 1, time = 0, value = 2",)
    assert rows(panel) == [("h1", us("2026-01-01T00:00"), 0.5), ("h2", us("2026-01-01T00:30"), 1.0)]


def test_no_header_more_columns_are_named_by_position(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "1,2026-01-01,0.5,9\n2,2026-01-02,1.5,9\n")
    with refused("column.missing", "user"):
        open_panel(path)
    panel = open_panel(path, user="0", time="1", value="2")
    assert rows(panel) == [("1", us("2026-01-01"), 0.5), ("2", us("2026-01-02"), 1.5)]


def test_quotes_bom_and_lines_before_the_table(tmp_path: Path) -> None:
    text = '\ufeffuser,time,value\n"Smith, ""J""",2026-01-01,1\n"b",2026-01-02,"2"\n'
    assert [row[0] for row in rows(open_panel(write(tmp_path / "x.csv", text)))] == ['Smith, "J"', "b"]
    assert rows(open_panel(write(tmp_path / "y.csv", "# made by hand\n" + CSV))) == READINGS
    assert rows(open_panel(write(tmp_path / "z.csv", "Export of 2026\n" + CSV))) == READINGS


def test_words_for_no_value_and_numbers_that_are_none(tmp_path: Path) -> None:
    words = ["", "NA", "n/a", "NULL", "None", "nan", "inf", "-Infinity", "1e300"]
    text = "user,time,value\na,2026-01-01,0\n" + "".join(f"a,2026-01-01,{word}\n" for word in words)
    values = [row[2] for row in rows(open_panel(write(tmp_path / "x.csv", text)))]
    assert values[:6] == [0.0, None, None, None, None, None]
    assert values[6] != values[6]
    assert values[7:] == [float("inf"), float("-inf"), 1e300]


def test_parquet_is_scanned_without_casts(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "x.parquet")
    panel = open_panel(tmp_path / "x.parquet")
    assert rows(panel) == READINGS
    assert panel.quick is not None
    (frame,) = panel.quick.args  # type: ignore[attr-defined]
    assert (
        'SELECT "user" AS "user", epoch_us("time") AS "time", "value" AS "value" FROM' in frame.to_native().sql_query()
    )


def test_format_by_content_where_the_name_says_nothing(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "x.dat")
    assert rows(open_panel(tmp_path / "x.dat")) == READINGS
    assert rows(open_panel(write(tmp_path / "readings", CSV))) == READINGS


def test_folder_and_glob(tmp_path: Path) -> None:
    head, *lines = CSV.splitlines()
    for i, line in enumerate(lines):
        write(tmp_path / "in" / f"{i}.csv", f"{head}\n{line}\n")
    write(tmp_path / "in" / "_SUCCESS", "")
    write(tmp_path / "in" / "notes.md", "not readings")
    assert rows(open_panel(tmp_path / "in")) == READINGS
    assert rows(open_panel(str(tmp_path / "in" / "[01].csv"))) == READINGS[:2]


def test_hive_folders_give_columns_as_text(tmp_path: Path) -> None:
    for home in ("007", "8"):
        folder = tmp_path / f"home={home}"
        folder.mkdir()
        pq.write_table(table().drop_columns("user"), folder / "part.parquet")
    panel = open_panel(tmp_path)
    assert panel.notes == ("user = home, time = time, value = value",)
    assert {row[0] for row in rows(panel)} == {"007", "8"}
    assert len(rows(panel)) == 6


def test_files_of_other_column_order_and_number_type_are_aligned(tmp_path: Path) -> None:
    write(tmp_path / "c" / "1.csv", "user,time,value\na,2026-01-01,1\n")
    write(tmp_path / "c" / "2.csv", "value,user,time\n2.5,b,2026-01-02\n")
    assert rows(open_panel(tmp_path / "c")) == [("a", us("2026-01-01"), 1.0), ("b", us("2026-01-02"), 2.5)]
    for i, values in enumerate((pa.array([1, 2, 3]), pa.array([0.4, 1.6, 2.5]))):
        (tmp_path / "p").mkdir(exist_ok=True)
        pq.write_table(table().set_column(2, "value", values), tmp_path / "p" / f"{i}.parquet")
    assert [row[2] for row in rows(open_panel(tmp_path / "p"))] == [1.0, 2.0, 3.0, 0.4, 1.6, 2.5]


def test_files_of_other_columns_are_named(tmp_path: Path) -> None:
    write(tmp_path / "c" / "1.csv", "user,time,value\na,2026-01-01,1\n")
    write(tmp_path / "c" / "2.csv", "user,time,kwh\na,2026-01-01,1\n")
    with refused("source.differ", place=str(tmp_path / "c" / "2.csv")):
        open_panel(tmp_path / "c")
    (tmp_path / "p").mkdir()
    pq.write_table(table(), tmp_path / "p" / "1.parquet")
    pq.write_table(table().rename_columns(["user", "time", "kwh"]), tmp_path / "p" / "2.parquet")
    with refused("source.differ", place=str(tmp_path / "p" / "2.parquet")):
        open_panel(tmp_path / "p")


@pytest.mark.parametrize(
    "name", ["it's x.csv", "a*b.csv", "c[1].csv", "d?.csv", "e{1,2}.csv", "f;--.csv", "ü.csv", 'g".csv']
)
def test_odd_file_names(tmp_path: Path, name: str) -> None:
    write(tmp_path / "abb.csv", "user,time,value\nwrong,2020-01-01,9\n")
    assert rows(open_panel(write(tmp_path / name, CSV))) == READINGS


@pytest.mark.parametrize(
    "name",
    ["it's", 'a"b', "a;DROP TABLE readings;--", "two words", "Größe", "select", "order", "filename", "x`y", "a,b"],
)
def test_odd_column_names(tmp_path: Path, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    path = write(tmp_path / "x.csv", CSV.replace("value", quoted, 1))
    assert rows(open_panel(path, value=name)) == READINGS
    pq.write_table(table().rename_columns(["user", "time", name]), tmp_path / "x.parquet")
    assert rows(open_panel(tmp_path / "x.parquet", value=name)) == READINGS


def test_a_column_twice(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "user,time,value,value\na,2026-01-01,1,2\n")
    with refused("column.several", "value"):
        open_panel(path)
    assert rows(open_panel(path, value="value_1")) == [("a", us("2026-01-01"), 2.0)]


def test_missing_empty_and_header_only(tmp_path: Path) -> None:
    with refused("source.missing"):
        open_panel(tmp_path / "nowhere.csv")
    with refused("source.missing"):
        open_panel(tmp_path)
    with refused("source.missing"):
        open_panel(str(tmp_path / "*.csv"))
    for name in ("e.csv", "e.parquet"):
        with refused("source.empty", place=str(tmp_path / name)):
            open_panel(write(tmp_path / name, ""))
    with refused("source.empty"):
        open_panel(write(tmp_path / "h.csv", "user,time,value\n"))
    pq.write_table(table().slice(0, 0), tmp_path / "h.parquet")
    with refused("source.empty"):
        open_panel(tmp_path / "h.parquet")


@pytest.mark.parametrize("row", [2, 1500, 90_000])
@pytest.mark.parametrize(
    ("column", "broken"), [("time", "a,31/12/2026,1"), ("value", "a,2026-01-01,1.2.3"), ("value", 'a,2026-01-01,"1,5"')]
)
def test_an_unreadable_cell_is_named_by_file_row_and_column(tmp_path: Path, row: int, column: str, broken: str) -> None:
    lines = ["a,2026-01-01 00:00:00,1"] * 100_000
    write(tmp_path / "1.csv", "user,time,value\n" + "\n".join(lines) + "\n")
    lines[row - 1] = broken
    write(tmp_path / "2.csv", "user,time,value\n" + "\n".join(lines) + "\n")
    with refused("reading.cell", place=f"{tmp_path / '2.csv'}, row {row}, column '{column}'"):
        _read(tmp_path)
    lines[row - 1] = lines[0]
    write(tmp_path / "2.csv", "user,time,value\n" + "\n".join(lines) + "\n")
    assert _read(tmp_path) == 200_000


def _read(source: Path) -> int:
    panel = open_panel(source)
    table = panel.collect(panel.frame.select(nw.col("time").sum(), nw.col("value").sum(), nw.len().alias("n")))
    return int(table.column("n")[0].as_py())


def test_streamed_batches_raise_the_same_error(tmp_path: Path) -> None:
    good = "a,2026-01-01 00:00:00,1\n" * 300_000
    path = write(tmp_path / "x.csv", f"user,time,value\n{good}a,later,1\n")
    panel = open_panel(path)
    with refused("reading.cell", place=f"{path}, row 300001, column 'time'"):
        sum(batch.num_rows for batch in panel.batches())


def test_batches_left_half_way_leave_the_panel_usable(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "user,time,value\n" + "a,2026-01-01 00:00:00,1\n" * 300_000)
    panel = open_panel(path)
    batches = panel.batches()
    assert next(batches).num_rows > 0
    with refused("run.busy"):
        panel.collect(panel.frame.head(1))
    batches.close()  # type: ignore[attr-defined]
    assert panel.collect(panel.frame.head(1)).num_rows == 1


def test_a_ragged_line_is_named_without_its_content(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", CSV + "secret,2026-01-01,1,2,3\n")
    with refused("reading.ragged") as caught:
        _read(Path(path))
    assert "secret" not in str(caught.value)


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(CSV.replace("b,", "bé,").encode("latin-1"))
    panel = open_panel(tmp_path / "x.csv")
    assert [row[0] for row in rows(panel)] == ["a", "bé", "a"]
    assert panel.notes[0].startswith("encoding = cp1252: line 3 is not UTF-8; copied into the temporary folder")
    with refused("option", "encoding"):
        open_panel(tmp_path / "x.csv", encoding="klingon")


def test_a_broken_file_in_a_folder_is_named(tmp_path: Path) -> None:
    for i in range(3):
        pq.write_table(table(), tmp_path / f"{i}.parquet")
    whole = (tmp_path / "1.parquet").read_bytes()
    (tmp_path / "1.parquet").write_bytes(whole[:-20])
    with refused("source.damaged", place=str(tmp_path / "1.parquet")):
        open_panel(tmp_path)
    (tmp_path / "1.parquet").write_text("user,time,value\n")
    with refused("source.damaged", place=str(tmp_path / "1.parquet")):
        open_panel(tmp_path, format="parquet")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(CSV.encode())[:-12])
    with refused("source.damaged", place=str(tmp_path / "cut.csv.gz")):
        open_panel(tmp_path / "cut.csv.gz")


def test_a_file_damaged_inside_is_named_when_it_is_read(tmp_path: Path) -> None:
    big = pa.concat_tables([table()] * 50_000)
    for i in range(2):
        pq.write_table(big, tmp_path / f"{i}.parquet", row_group_size=20_000, use_dictionary=False)
    data = bytearray((tmp_path / "1.parquet").read_bytes())
    middle = len(data) // 2
    data[middle : middle + 4_000] = b"\xff" * 4_000
    (tmp_path / "1.parquet").write_bytes(data)
    panel = open_panel(tmp_path)
    with refused("source.damaged"):
        panel.collect(panel.frame.select(nw.col("user").max(), nw.col("time").sum(), nw.col("value").sum()))


def test_several_formats_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", CSV)
    pq.write_table(table(), tmp_path / "y.parquet")
    with refused("source.mixed", "format"):
        open_panel(tmp_path)
    assert rows(open_panel(tmp_path, format="csv")) == READINGS


@pytest.mark.parametrize(
    ("option", "value"),
    [("format", "excel"), ("engine", "ray"), ("threads", 0), ("memory_limit", "lots"), ("tz", "Mars/Olympus")],
)
def test_bad_options(tmp_path: Path, option: str, value: object) -> None:
    path = write(tmp_path / "x.csv", CSV)
    with refused("option", option):
        open_panel(path, **{option: value})  # type: ignore[arg-type]


def test_settings_reach_the_engine(tmp_path: Path) -> None:
    panel = open_panel(write(tmp_path / "x.csv", CSV), threads=1, memory_limit="300MB")
    connection: duckdb.DuckDBPyConnection = panel.engine.connection  # type: ignore[attr-defined]
    settings = "SELECT current_setting('threads'), current_setting('memory_limit')"
    assert connection.sql(settings).fetchall() == [(1, "286.1 MiB")]


def test_out_of_memory_is_no_fault_of_the_source(tmp_path: Path) -> None:
    panel = open_panel(write(tmp_path / "x.csv", CSV), memory_limit="20MB", threads=1)
    panel.engine.connection.execute("SET temp_directory = ''")  # type: ignore[attr-defined]
    joined = panel.frame
    for _ in range(14):
        joined = joined.join(panel.frame.select(nw.col("value").alias("v")), how="cross").drop("v")
    with refused("run.memory"):
        panel.collect(joined.with_columns(nw.col("value").sum().over("time").alias("s")))


def test_every_error_is_one_line(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "user,time,value\na,when,1\n")
    with pytest.raises(HalfmaskError) as caught:
        open_panel(path)
    assert "\n" not in str(caught.value)


@needs_data
@pytest.mark.parametrize(
    ("name", "readings", "users"),
    [("ch_households_halfhourly", 1_263_024, 537), ("melbourne_pedestrians_hourly", 656_823, 39)],
)
def test_real_files_open_with_no_options(name: str, readings: int, users: int) -> None:
    panel = open_panel(DATA / f"{name}.parquet")
    counts = panel.collect(panel.frame.group_by("user").agg(nw.len().alias("n")))
    assert sum(counts.column("n").to_pylist()) == readings
    # Two readings of the pedestrians name no counter: they stay, as readings of no user.
    assert len(counts.column("user").drop_null()) == users
