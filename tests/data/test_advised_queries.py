"""Queries over a source that is no database, and those that refusals advise: each is followed."""

import shlex
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from halfmask.data.open_panel import open_panel
from halfmask.data.options import ReadOptions
from halfmask.data.sql import advised, typed_query
from halfmask.profiles.build import build_profile
from halfmask.profiles.first_look import ways_out
from tests.commands.program import halfmask
from tests.data.panels import rows
from tests.refusals import refused

TIMES = [datetime(2026, 1, 5) + i * timedelta(minutes=30) for i in range(96)]
USED = {f"{time}": round(0.2 + (7 * i % 96) / 80, 3) for i, time in enumerate(TIMES)}
HALF = [(time, value, kind) for time, value in USED.items() for kind in ("import", "export")]


def lines(delimiter: str = ",", meter: str = "00017") -> str:
    cells = [[meter, time, str(value if kind == "import" else 9 + value), kind] for time, value, kind in HALF]
    return "\n".join(delimiter.join(row) for row in [["meter", "time", "kWh", "direction"], *cells])


def sources(folder: Path) -> dict[str, Any]:
    """One table of two kinds of readings in many wrappings."""
    odd = folder / 'it\'s a "quote".csv'
    odd.write_text(lines())
    (folder / "latin.csv").write_bytes(("Anschlu\u00df;N\u00f6rd\n\n" + lines(";")).encode("cp1252"))
    (folder / "wide.txt").write_bytes(lines("\t").encode("utf-16"))
    (folder / "months").mkdir()
    (folder / "months" / "a.csv").write_text(lines(meter="00017"))
    (folder / "months" / "b.csv").write_text(lines(meter="00018"))
    table = pa.table({name: [row[i] for row in HALF] for i, name in enumerate(("time", "kWh", "direction"))})
    table = table.add_column(0, "meter", pa.array(["00017"] * len(HALF)))
    pq.write_table(table, folder / "x.parquet")
    pyarrow.feather.write_feather(table, folder / "x.feather")
    return {
        "a quote in its name": odd,
        "Latin-1 below other lines": folder / "latin.csv",
        "UTF-16": folder / "wide.txt",
        "a folder": folder / "months",
        "Parquet": folder / "x.parquet",
        "a stream": folder / "x.feather",
        "a frame": table,
    }


def test_the_advised_query_reads_any_kind_of_source(tmp_path: Path) -> None:
    for name, source in sources(tmp_path).items():
        with refused("column.kinds") as caught:
            open_panel(source)
        way = ways_out(str(caught.value), ReadOptions())[1]
        found = rows(open_panel(source, **way))
        assert {user for user, *_ in found} <= {"00017", "00018"}, name
        assert sorted({value for *_, value in found}) == sorted({*USED.values()}), name


def test_a_query_that_cannot_be_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(lines())
    with refused("source.damaged"):
        open_panel(path, sql="select nothing from readings")
    with refused("option.engine", "sql"):
        open_panel(path, sql="select * from readings", engine="spark")


def test_a_query_keeps_files_apart_where_it_keeps_all_columns(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("\n".join(["time,kWh", *(f"{t},{v}" for t, v in USED.items())]))
    panel = open_panel(tmp_path, sql="select * from readings where kWh <> '0.2'", user="@file")
    assert {user for user, *_ in rows(panel)} == {"a", "b"}


@pytest.mark.parametrize("query", ["select 1", "select \"a $b\" from r where x = 'it''s \\ 7'"])
def test_what_is_advised_is_what_is_asked(query: str) -> None:
    typed = advised(query).removeprefix("`sql=").removesuffix("`")
    assert typed_query(typed) == query


WORDS = ("n/e", "M", "Estimated", "#VALUE!", "Not available")


@pytest.mark.parametrize("word", WORDS)
def test_words_that_nobody_knows_are_taken_for_empty_by_the_advised_line(word: str, tmp_path: Path) -> None:
    cells = ["17," + time + "," + (word if i in (40, 41) else str(v)) for i, (time, v) in enumerate(USED.items())]
    (tmp_path / "x.csv").write_text("\n".join(["meter,time,kWh", *cells]))
    seen = halfmask("look", "x.csv", cwd=tmp_path).stdout
    assert f"row 41, column 'kWh': {word!r} is not a number" in seen
    assert _followed(seen, tmp_path) == (94, 2)


@pytest.mark.parametrize("last", ["Summe,,12.5", "2026-02-30 00:00:00,17,0.5", "# EOF,,"])
def test_rows_that_are_no_readings_are_left_out_by_the_advised_line(last: str, tmp_path: Path) -> None:
    cells = [f"{time},17,{v}" for time, v in USED.items()]
    (tmp_path / "x.csv").write_text("\n".join(["time,meter,kWh", *cells, last]))
    assert _followed(halfmask("look", "x.csv", cwd=tmp_path).stdout, tmp_path) == (96, 0)


def test_cells_of_a_wide_table_are_emptied_and_its_rows_kept(tmp_path: Path) -> None:
    cells = [f"{time},{'M' if i == 3 else v},{v},{'M' if i == 5 else v}" for i, (time, v) in enumerate(USED.items())]
    (tmp_path / "x.csv").write_text("\n".join(["time,a1,b2,c3", *cells]))
    assert _followed(halfmask("look", "x.csv", cwd=tmp_path).stdout, tmp_path) == (3 * 96 - 2, 2)


def _followed(seen: str, folder: Path) -> tuple[int, int]:
    """Readings, and rows without a value, that the first command of a look gives."""
    line = seen.partition("To go on")[2].splitlines()[1].strip()
    ended = halfmask(*shlex.split(line)[1:], cwd=folder)
    assert ended.returncode == 0, ended.stderr
    words = shlex.split(line)
    panel = open_panel(folder / "x.csv", sql=words[words.index("--sql") + 1])
    profile = build_profile(panel)
    return profile.readings, int(profile.rows["nonfinite"].sum())
