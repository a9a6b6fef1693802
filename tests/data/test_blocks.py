"""What Arrow reads quickly, in blocks, is what DuckDB reads with care; what it cannot take it refuses."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from halfmask.data.engines.sql import DuckDBDialect
from halfmask.data.formats import blocks
from halfmask.data.panel import Panel
from halfmask.data.sources import open_panel
from halfmask.data.zones import second_passings, wall_clock, wall_clocks
from tests.data.panels import write

ZONES = ("Europe/Dublin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca", "UTC")
MOMENTS = np.arange("2026-10-24T20:00", "2026-10-25T06:00", 1800, "M8[s]")


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
    "with offsets": [f"{moment}{'+05:30' if i % 2 else '-0100'}" for i, moment in enumerate(MOMENTS)],
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
    query = f"SELECT {wall_clock(DuckDBDialect(), 't', tz)} AS t FROM (SELECT unnest(?) AS t)"
    found = duckdb.connect().execute(query, [instants.tolist()]).fetchnumpy()["t"]
    assert np.array_equal(wall_clocks(instants, tz), found)
    with pytest.raises(pa.ArrowInvalid, match="before 1970"):
        wall_clocks(np.array([-1]), tz)
