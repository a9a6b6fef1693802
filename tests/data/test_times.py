"""Every way of writing a time gives the same wall clock."""

import gzip
import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.data.open_panel import open_panel
from halfmask.data.options import ReadOptions
from halfmask.errors import ReadingError
from halfmask.profiles.build import build_profile
from halfmask.profiles.first_look import ways_out
from tests.data.panels import rows, us, write
from tests.generated import cases
from tests.refusals import refused

JULY = us("2026-07-01T12:00")


def frame(times: pa.Array) -> pa.Table:
    n = len(times)
    return pa.table({"user": ["a"] * n, "time": times, "value": [1.0] * n})


def times(source: object, **options: str) -> list[int | None]:
    return [row[1] for row in rows(open_panel(source, **options))]  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_any_unit(unit: str) -> None:
    naive = pa.array([datetime(2026, 7, 1, 12)], pa.timestamp(unit))
    assert times(frame(naive)) == [JULY]
    zoned = naive.cast(pa.timestamp(unit, "UTC"))
    assert times(frame(zoned)) == [JULY]
    assert times(frame(zoned), tz="Europe/Dublin") == [JULY + 3_600_000_000]


@pytest.mark.parametrize(
    "text",
    [
        "2026-07-01T12:00:00",
        "2026-07-01 12:00",
        "2026-07-01T12:00:00.0",
        "2026-07-01 12:00:00.0000000",
        " 2026-07-01T12:00:00 ",
    ],
)
def test_iso_text_without_zone_is_taken_as_it_is(text: str) -> None:
    assert times(frame(pa.array([text]))) == [JULY]
    panel = open_panel(frame(pa.array([text])), tz="Asia/Tokyo")
    assert [row[1] for row in rows(panel)] == [JULY]
    assert panel.notes[-1] == "time has no zone: taken as local wall-clock time, `tz` has no effect"


@pytest.mark.parametrize(
    "text",
    [
        "2026-07-01T12:00:00Z",
        "2026-07-01 14:00:00+02:00",
        "2026-07-01T14:00+02",
        "2026-07-01T06:30:00.000-0530",
        "2026-07-01 12:00:00 +00:00",
        "2026-07-01T11:59:59.999999999Z",
    ],
)
def test_iso_text_with_zone_is_an_instant(text: str) -> None:
    expected = JULY - 1 if "999" in text else JULY
    assert times(frame(pa.array([text])), tz="UTC") == [expected]
    assert times(frame(pa.array([text])), tz="America/New_York") == [expected - 4 * 3_600_000_000]


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
def test_epoch_numbers_of_any_unit(tmp_path: Path, unit: str, factor: int) -> None:
    count = JULY // 10**6 * factor
    panel = open_panel(frame(pa.array([count])))
    assert [row[1] for row in rows(panel)] == [JULY]
    assert panel.notes[1] == f"time counts {unit} since 1970"
    assert times(frame(pa.array([float(count), None])), tz="Europe/Dublin") == [JULY + 3_600_000_000, None]
    path = write(tmp_path / "x.csv", f"user,time,value\na,{count},1\n")
    assert times(path) == [JULY]


def test_small_epochs_are_seconds_and_fractions_count() -> None:
    assert times(frame(pa.array([0, 1800, 3600], pa.int32()))) == [0, 1_800_000_000, 3_600_000_000]
    assert times(frame(pa.array([1_800_000_000.25, -0.5]))) == [1_800_000_000_250_000, -500_000]
    assert times(frame(pa.array([-1_000_000_000_000_000_001]))) == [-1_000_000_000_000_001]


def test_dates_and_nulls() -> None:
    assert times(frame(pa.array([None, 20_000], pa.date32()))) == [None, 20_000 * 86_400_000_000]
    assert times(frame(pa.array(["2026-07-01", "", None]))) == [us("2026-07-01"), None, None]


def test_mixed_zones_are_counted(tmp_path: Path) -> None:
    lines = ["a,2026-01-01T00:00:00Z,1"] * 3 + ["a,2026-01-01T00:00:00,1"] * 2
    path = write(tmp_path / "x.csv", "user,time,value\n" + "\n".join(lines) + "\n")
    with refused("reading.zones"):
        open_panel(path)
    # Also where the odd one is far beyond the first look.
    write(tmp_path / "y.csv", "user,time,value\n" + "\n".join(lines[3:] * 10_000 + lines[:1]) + "\n")
    panel = open_panel(tmp_path / "y.csv")
    with refused("reading.zones"):
        rows(panel)


@pytest.mark.parametrize(
    "text", ["yesterday", "01.07.2026 12:00", "2026-13-01", "2026-07-01T25:00", "2026-07-01T12:00:00 PST"]
)
def test_other_texts_are_refused(text: str) -> None:
    with refused("reading.cell", "date_format", "sql"):
        rows(open_panel(frame(pa.array(["2026-07-01T12:00:00", text])), time="time"))


def test_calendar_numbers_are_dates_and_times_of_day_alone_are_refused() -> None:
    assert times(frame(pa.array([20260101, 20260102]))) == [us("2026-01-01"), us("2026-01-02")]
    assert times(frame(pa.array([202601012330, 202601020000]))) == [us("2026-01-01T23:30"), us("2026-01-02")]
    with refused("column.clock", "time"):
        open_panel(frame(pa.array(["00:30", "01:00"])))
    with refused("column.type", "time"):
        open_panel(frame(pa.array([True, False])), time="time")


def test_pandas_zones() -> None:
    stamps = pd.date_range("2026-10-25T00:00", periods=4, freq="h", tz="UTC").tz_convert("Europe/Dublin")
    data = pd.DataFrame({"user": "a", "time": stamps, "value": 1.0})
    # 01:00 comes twice on that day, the second time a microsecond later: both are kept, and in order.
    expected = ["2026-10-25T01:00", "2026-10-25T01:00", "2026-10-25T02:00", "2026-10-25T03:00"]
    assert times(data, tz="Europe/Dublin") == [us(text) + (i == 1) for i, text in enumerate(expected)]


@cases(15)
@given(st.lists(st.datetimes(datetime(1950, 1, 1), datetime(2090, 1, 1)), min_size=1, max_size=20))
def test_a_time_is_the_same_however_it_is_written(moments: list[datetime]) -> None:
    micros = [(moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) for moment in moments]
    assert times(frame(pa.array(moments, pa.timestamp("us")))) == micros
    assert times(frame(pa.array([moment.isoformat() for moment in moments]))) == micros
    zone = ZoneInfo("Australia/Lord_Howe")
    abroad = [moment.replace(tzinfo=UTC).astimezone(zone) for moment in moments]
    texts = [moment.isoformat() for moment in abroad]
    assert times(frame(pa.array(texts)), tz="UTC") == micros


def test_an_unknown_zone_is_refused_even_where_it_has_no_effect() -> None:
    with refused("option", "tz"):
        open_panel(frame(pa.array([datetime(2026, 1, 1)])), tz="Europe/Dublinn")


def stamps(first: str, zone: str, hours: int) -> tuple[list[str], list[int]]:
    """Times with the offsets of a zone, an hour apart, and its wall clock, a microsecond later the second time."""
    begin = datetime.fromisoformat(first).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    local = [(begin + timedelta(hours=i)).astimezone(ZoneInfo(zone)) for i in range(hours)]
    texts = [moment.isoformat() for moment in local]
    return texts, [us(text[:19]) + moment.fold for text, moment in zip(texts, local, strict=True)]


def as_files(folder: Path, texts: list[str]) -> dict[str, object]:
    """The same readings for every reader: Arrow's of CSV, DuckDB's of CSV, Parquet, JSON, SQLite, a column a sensor."""
    table = frame(pa.array(texts))
    lines = [f"a,{text},1.0" for text in texts]
    pq.write_table(table, folder / "x.parquet")
    with sqlite3.connect(folder / "x.db") as database:
        database.execute("create table r (user text, time text, value real)")
        database.executemany("insert into r values ('a', ?, 1.0)", [[text] for text in texts])
    with gzip.open(folder / "packed.csv.gz", "wt") as packed:
        packed.write("\n".join(["user,time,value", *lines]))
    return {
        "csv": write(folder / "x.csv", "\n".join(["user,time,value", *lines])),
        "csv by duckdb": str(folder / "packed.csv.gz"),
        "parquet": str(folder / "x.parquet"),
        "json": write(folder / "x.json", "\n".join(map(json.dumps, table.to_pylist()))),
        "sqlite": str(folder / "x.db"),
        "frame": table,
        "sensors": write(folder / "w.csv", "\n".join(["time,s1,s2", *(f"{text},1.5,2.5" for text in texts)])),
    }


@pytest.mark.parametrize(
    ("first", "zone"),
    [
        ("2026-02-01T00:00", "Europe/Paris"),
        ("2026-02-01T00:00", "Asia/Kathmandu"),
        ("2026-10-10T00:00", "Europe/Berlin"),
        ("2026-03-20T00:00", "Europe/London"),
    ],
    ids=["one offset", "45 minutes", "clocks go back", "clocks go on"],
)
def test_offsets_are_cut_by_the_clock_they_show_in_every_reader(first: str, zone: str, tmp_path: Path) -> None:
    days = 28
    last = datetime.fromisoformat(first).replace(tzinfo=ZoneInfo(zone)) + timedelta(days=days)
    hours = (last.astimezone(UTC) - datetime.fromisoformat(first).replace(tzinfo=ZoneInfo(zone))) // timedelta(hours=1)
    texts, expected = stamps(first, zone, hours)
    for name, source in as_files(tmp_path, texts).items():
        panel = open_panel(source)
        assert sorted({row[1] for row in rows(panel)}) == expected, name
        profile = build_profile(panel)
        assert (len(profile.periods), profile.about["duplicates"]) == (days, 0), name


def test_offsets_in_names_of_columns_show_their_clock(tmp_path: Path) -> None:
    texts, expected = stamps("2026-10-24T18:00", "Europe/Berlin", 12)
    lines = [",".join(["user", *texts]), ",".join(["a", *["1.5"] * len(texts)])]
    assert times(write(tmp_path / "x.csv", "\n".join(lines))) == expected


def test_offsets_far_below_the_first_rows_count(tmp_path: Path) -> None:
    texts, expected = stamps("2026-01-01T00:00", "Europe/Berlin", 5000)
    path = write(tmp_path / "x.csv", "\n".join(["user,time,value", *(f"a,{text},1" for text in texts)]))
    assert times(path) == expected
    assert {"+01:00", "+02:00"} == {text[-6:] for text in texts}
    assert {text[-6:] for text in texts[:1000]} == {"+01:00"}


@pytest.mark.parametrize("other", ["+05:30", "+02:00", "Z"])
def test_offsets_that_no_clock_shows_are_asked_about(other: str, tmp_path: Path) -> None:
    """Two offsets at one instant, or that of summer in winter: one clock cannot have shown both."""
    lines = [f"{user},2026-01-{1 + i // 24:02}T{i % 24:02}:00:00{offset},1" for i in range(72)
             for user, offset in (("a", "+01:00"), ("b", "+01:00"), ("c", other))]  # fmt: skip
    path = write(tmp_path / "x.csv", "\n".join(["user,time,value", *lines]))
    with pytest.raises(ReadingError) as refused:
        open_panel(path)
    assert refused.value.fields == ("tz",)
    ways = [way["tz"] for way in ways_out(str(refused.value), ReadOptions())]
    assert ways == ["Europe/Berlin", "UTC"]
    berlin, utc = (sorted(times(path, tz=zone)) for zone in ways)
    assert [time + 3_600_000_000 for time in utc] == berlin


def test_a_named_zone_wins_over_the_offsets(tmp_path: Path) -> None:
    texts, expected = stamps("2026-02-01T00:00", "Europe/Paris", 48)
    path = write(tmp_path / "x.csv", "\n".join(["user,time,value", *(f"a,{text},1" for text in texts)]))
    assert times(path, tz="UTC") == [time - 3_600_000_000 for time in expected]
