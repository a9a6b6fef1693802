"""What Arrow reads quickly, in blocks or groups of rows, is what DuckDB reads with care; the rest it refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from halfmask.data import arrow_blocks as blocks
from halfmask.data.formats import parquet
from halfmask.data.open_panel import open_panel
from halfmask.data.panel import Panel
from halfmask.data.zones import second_passings, wall_clock, wall_clocks
from halfmask.profiles.build import build_profile
from tests.data.panels import write
from tests.refusals import refused

ZONES = ("Europe/Dublin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca", "UTC")
MOMENTS = np.arange("2026-10-24T20:00", "2026-10-25T06:00", 1800, "M8[s]")
CHANGE = np.concatenate([MOMENTS[:14], MOMENTS[12:-2]])
"""What a clock shows that goes back from 03:00 to 02:00."""


def quickly(panel: Panel) -> list[tuple[Any, ...]]:
    """All rows by the quick way."""
    assert panel.quick is not None
    return _rows(pa.Table.from_batches(panel.quick()))


def carefully(panel: Panel) -> list[tuple[Any, ...]]:
    return _rows(pa.Table.from_batches(panel.batches()))


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(map(repr, row.values())) for row in table.to_pylist()]


@pytest.fixture(autouse=True)
def _many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 100)


FORMS = {
    "zone-less": [f"{moment}" for moment in MOMENTS],
    "with a blank": [f"{moment}".replace("T", " ") for moment in MOMENTS],
    "with fractions": [f"{moment}.{i:03}" for i, moment in enumerate(MOMENTS)],
    "days": [f"{moment}"[:10] for moment in MOMENTS],
    "in UTC": [f"{moment}Z" for moment in MOMENTS],
    "with one offset": [f"{moment}+05:30" for moment in MOMENTS],
    "with offsets of a zone": [f"{moment}+0{2 if i < 14 else 1}:00" for i, moment in enumerate(CHANGE)],
    "seconds": [str(moment.astype(int)) for moment in MOMENTS],
    "milliseconds": [f"{moment.astype(int)}250" for moment in MOMENTS],
}


@pytest.mark.parametrize("tz", [None, "Europe/Dublin"])
@pytest.mark.parametrize("form", FORMS)
def test_both_ways_read_the_same(form: str, tz: str | None, tmp_path: Path) -> None:
    words = ("0.5", "-1e-3", "NA", "", "n/a", "nan", "-inf", '"2.25"', " 3", "1e300")
    lines = [f'"m;{i % 3}";;{time};{words[i % len(words)]}' for i, time in enumerate(FORMS[form])]
    text = "Export of a portal\r\nmeter;note;time;energy_wh\r\n" + "\r\n".join(lines)
    panel = open_panel(write(tmp_path / "x.csv", text), tz=tz, unit="Wh:kWh")
    found = quickly(panel)
    assert len(found) == len(MOMENTS)
    assert found == carefully(panel)


REFUSED = {
    "a zone where none was": "a,2026-01-02 00:00:00Z,1,",
    "a word for no time": "a,n/a,1,",
    "a time of another form": "a,02/01/2026 00:00,1,",
    "a number of another form": 'a,2026-01-02 00:00:00,"1,5",',
    "a line that is cut": "a,2026-01-02",
    "bytes that are no text": "\udcff,2026-01-02 00:00:00,1,",
    "a line too long": f"a,2026-01-02 00:00:00,1,{'x' * 100_000}",
}


@pytest.mark.parametrize("odd", REFUSED)
def test_what_is_written_otherwise_is_refused(odd: str, tmp_path: Path) -> None:
    usual = "meter,time,value,note\n" + "".join(f"a,{moment},1.5,\n".replace("T", " ") for moment in MOMENTS)
    path = tmp_path / "x.csv"
    path.write_text(usual)
    panel = open_panel(path)
    assert len(quickly(panel)) == len(MOMENTS)
    path.write_bytes((usual + REFUSED[odd]).encode(errors="surrogateescape"))  # as if it stood far below the first rows
    with pytest.raises(pa.ArrowInvalid) as refused:
        quickly(panel)
    assert panel.engine.misread(refused.value)


def test_a_cell_over_two_lines_is_read_whole_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = [f"a,{moment},1.5,".replace("T", " ") for moment in MOMENTS]
    text = "\n".join(["meter,time,value,note", *usual, 'a,2026-01-02 00:00:00,1,"two\nlines"', *usual])
    panel = open_panel(write(tmp_path / "x.csv", text))
    outcomes = set()
    for size in range(30, 90):
        monkeypatch.setattr(blocks, "BLOCK", size)
        try:
            outcomes.add(quickly(panel) == carefully(panel))
        except pa.ArrowInvalid:
            outcomes.add(None)
    assert outcomes == {True, None}


def test_whole_numbers_too_large_for_a_time_are_refused(tmp_path: Path) -> None:
    lines = [f"a,{1_700_000_000 + 1800 * i},1" for i in range(2000)]
    panel = open_panel(write(tmp_path / "x.csv", "\n".join(["meter,time,value", *lines, f"a,{10**17},1"])))
    with pytest.raises(pa.ArrowInvalid) as refused:
        quickly(panel)
    assert panel.engine.misread(refused.value)


@pytest.mark.parametrize("tz", ZONES)
def test_clocks_of_a_zone_by_array_and_by_query(tz: str) -> None:
    rng = np.random.default_rng(14)
    changes = np.array(second_passings(tz)[:200], np.int64) * 3_600_000_000
    near = (changes[:, None] + np.arange(-2, 3) * 1_800_000_000 - 1).ravel()
    instants = np.concatenate([near, rng.integers(0, 56 * 365 * 86_400, 5_000) * 1_000_000])
    instants = instants[instants < 56 * 365 * 86_400_000_000]  # what is decreed for later differs between databases
    query = f"SELECT {wall_clock('t', tz)} AS t FROM (SELECT unnest(?) AS t)"
    found = duckdb.connect().execute(query, [instants.tolist()]).fetchnumpy()["t"]
    assert np.array_equal(wall_clocks(instants, tz), found)
    with pytest.raises(pa.ArrowInvalid, match="before 1970"):
        wall_clocks(np.array([-1]), tz)


SECONDS = MOMENTS.astype(np.int64)
STORED = {
    "times": pa.array(SECONDS * 10**6, pa.timestamp("us")),
    "instants": pa.array(SECONDS * 10**6, pa.timestamp("us", "UTC")),
    "whole seconds": pa.array(SECONDS, pa.int64()),
}
"""Columns of times that Arrow reads by itself."""


def stored(path: Path, times: pa.Array, users: pa.DataType | None = None, values: pa.DataType | None = None) -> Path:
    """A Parquet file of three rows a group; some values are missing, or no numbers."""
    readings = [None if i % 7 == 3 else np.nan if i % 7 == 5 else i / 4 for i in range(len(times))]
    columns = {
        "meter": pa.array([100 + i % 3 for i in range(len(times))], pa.int32()).cast(users or pa.int32()),
        "time": times,
        "energy_wh": pa.array(readings, pa.float64()).cast(values or pa.float64()),
    }
    pq.write_table(pa.table(columns), path, row_group_size=3)
    return path


def is_read_by_groups(panel: Panel) -> bool:
    return getattr(panel.quick, "func", None) is parquet._batches


@pytest.mark.parametrize("tz", [None, "Europe/Dublin"])
@pytest.mark.parametrize("kind", STORED)
def test_both_ways_read_the_same_parquet(kind: str, tz: str | None, tmp_path: Path) -> None:
    for name in ("a", "b"):
        stored(tmp_path / f"{name}.parquet", STORED[kind])
    one, three = (open_panel(tmp_path, tz=tz, threads=threads, unit="Wh:kWh") for threads in (1, 3))
    assert is_read_by_groups(one)
    found = quickly(one)
    assert len(found) == 2 * len(MOMENTS)
    assert found == carefully(one)
    assert found == quickly(three)
    assert sorted(found) == sorted(carefully(three))  # where a zone is looked up, its threads do not keep the order


def test_an_empty_file_and_names_with_points_change_nothing(tmp_path: Path) -> None:
    names = {"meter": "meter.id", "time": "time.local", "energy_wh": "energy.wh"}
    full = pq.read_table(stored(tmp_path / "a.parquet", STORED["times"]))
    for name, rows in (("a", full.slice(0, 0)), ("b", full)):
        pq.write_table(rows.rename_columns(list(names.values())), tmp_path / f"{name}.parquet")
    panel = open_panel(tmp_path, user="meter.id", time="time.local", value="energy.wh")
    assert is_read_by_groups(panel)
    assert quickly(panel) == carefully(panel)
    assert build_profile(panel).fingerprint() == build_profile(replace(panel, quick=None)).fingerprint()


LEFT_TO_SQL = {
    "users that are texts": {"times": STORED["times"], "users": pa.string()},
    "values of half the digits": {"times": STORED["times"], "values": pa.float32()},
    "times in milliseconds": {"times": STORED["times"].cast(pa.timestamp("ms"))},
    "days": {"times": pa.array(range(20_000, 20_000 + len(MOMENTS)), pa.date32())},
}


@pytest.mark.parametrize("what", LEFT_TO_SQL)
def test_what_is_stored_otherwise_is_left_to_the_query(what: str, tmp_path: Path) -> None:
    panel = open_panel(stored(tmp_path / "x.parquet", **LEFT_TO_SQL[what]))
    assert not is_read_by_groups(panel)
    assert len(carefully(panel)) == len(MOMENTS)


def test_groups_too_large_to_hold_and_files_that_differ_are_left_to_the_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(tmp_path / "a.parquet", STORED["times"])
    with monkeypatch.context() as few:
        few.setattr(parquet, "GROUP_ROWS", 2)
        assert not is_read_by_groups(open_panel(tmp_path))
    assert is_read_by_groups(open_panel(tmp_path))
    stored(tmp_path / "b.parquet", STORED["times"], values=pa.float32())
    assert not is_read_by_groups(open_panel(tmp_path))


def test_a_row_of_parquet_without_a_time_is_read_with_care(tmp_path: Path) -> None:
    times = pa.array([*STORED["times"].to_pylist()[:-1], None], pa.timestamp("us"))
    panel = open_panel(stored(tmp_path / "x.parquet", times))
    assert is_read_by_groups(panel)
    with pytest.raises(pa.ArrowInvalid) as refused:
        quickly(panel)
    assert panel.engine.misread(refused.value)
    profile = build_profile(panel)
    assert profile.about["unplaced"] == 1
    assert profile.fingerprint() == build_profile(replace(panel, quick=None)).fingerprint()


def test_parquet_damaged_in_its_middle_is_named(tmp_path: Path) -> None:
    path = stored(tmp_path / "x.parquet", STORED["times"])
    panel = open_panel(path)
    start = pq.read_metadata(path).row_group(5).column(2).data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 12] = b"\xff" * 12
    path.write_bytes(content)
    with refused("source.damaged"):
        build_profile(panel)


def test_columns_of_one_name_are_left_to_the_query(tmp_path: Path) -> None:
    """The query calls the second of two columns ``kwh`` ``kwh_1``: it must not be read as another of that name."""
    full = pq.read_table(stored(tmp_path / "x.parquet", STORED["times"]))
    names = ["meter", "time", "kwh", "kwh", "kwh_1"]
    columns = [*full.columns[:2], *[full.column(2)] * 3]
    pq.write_table(pa.Table.from_arrays(columns, names=names), tmp_path / "x.parquet")
    assert not is_read_by_groups(open_panel(tmp_path / "x.parquet", value="kwh_1"))
