"""The commands as a new user tries them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import numpy as np
import pyarrow.parquet as pq
import pytest

from halfmask import __version__
from halfmask.commands._app import app
from halfmask.commands._printing import print_rows
from tests.commands.program import PROGRAM, halfmask, process
from tests.profiles.oracle import expected_profile
from tests.profiles.panels import HALF_HOUR, awkward, table
from tests.real_data import DATA, PEDESTRIANS, SWISS, needs_data

KEYS = {"readings", "users", "periods", "zeros", "negatives", "nonfinite", "duplicates", "missing", "empty_users"}
HEAVY = ("numpy", "duckdb", "numba", "pyarrow", "narwhals", "scipy", "matplotlib", "pandas", "polars", "pyspark")


def shown(path: Path) -> dict[str, object]:
    """What ``show --json`` prints: one object."""
    ended = halfmask("show", "--json", path)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, object] = json.loads(ended.stdout)
    return found


def test_the_json_page_tells_the_truth(tmp_path: Path) -> None:
    readings = [*awkward(), *awkward()[::10]]
    source = tmp_path / "source.parquet"
    pq.write_table(table(readings), source)
    assert (
        halfmask("profile", source, "-o", tmp_path / "x.profile", "--duplicates", "first", "--max", "inf").returncode
        == 0
    )
    found, expected = shown(tmp_path / "x.profile"), expected_profile(readings, "day", HALF_HOUR)
    assert set(found) >= KEYS
    usable = sum(expected.rows["readings"])
    assert found["readings"] == usable
    assert found["users"] == len(expected.labels)
    assert found["periods"] == len(expected.periods)
    assert found["missing"] == sum(expected.rows["expected"]) - usable
    assert found["empty_users"] == 1
    assert found["all_zero_users"] == 2  # the readings of one are too small to count
    assert found["duplicates"] == expected.duplicates > 10
    assert found["unplaced"] == expected.unplaced > 2
    for name in ("zeros", "negatives", "nonfinite"):
        assert found[name] == sum(expected.rows[name]) > 2


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    pq.write_table(table(awkward()), tmp_path / "source.parquet")
    ended = halfmask("profile", "source.parquet", "--dry-run", "--max", "inf", "-o", "x.profile", cwd=tmp_path)
    assert ended.returncode == 0
    assert "sampling step" in ended.stdout
    assert "user = user, time = time, value = value" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["source.parquet"]


def test_what_only_the_readings_show_is_said_by_look_and_by_profile(tmp_path: Path) -> None:
    stamps = [f"2026-10-{day}T{hour:02}:00" for day in (24, 25, 26, 27, 28) for hour in range(24)]
    readings = [f"a,{stamp},{1 + i * 7 % 13}" for i, stamp in enumerate([*stamps, "2026-10-25T02:00"])]
    readings += [f"b,{stamp},{-900 if i == 30 else 1 + i * 7 % 11}" for i, stamp in enumerate(stamps)]
    path = tmp_path / "night.csv"
    path.write_text("\n".join(["user,time,kwh", *readings]))
    seen = halfmask("look", path, "--max", "20")
    made = halfmask("profile", path, "--max", "20", "-o", tmp_path / "x.profile")
    shown = [line.removeprefix("note: ") for line in seen.stdout.splitlines() if line.startswith("note: ")]
    said = made.stderr.splitlines()
    noted = {*shown, f"wrote {tmp_path / 'x.profile'}", "user = user, time = time, value = kwh"}  # the first: a table
    assert [line for line in said if not line.startswith(("! ", "next: "))] == [line for line in said if line in noted]
    assert noted <= set(said)
    assert any("2026-10-25" in line for line in said)
    assert any("--min -20" in line for line in said)


def test_the_picture_is_printed_and_drawn(tmp_path: Path) -> None:
    halfmask("synth", "-o", tmp_path / "p.parquet", "--users", 5, "--days", 20)
    halfmask("profile", tmp_path / "p.parquet", "-o", tmp_path / "x.profile")
    for kind, begins in {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}.items():
        ended = halfmask("show", tmp_path / "x.profile", "--png", tmp_path / f"x.{kind}", "--explain")
        assert "How large readings are" in ended.stderr
        assert "█" in ended.stderr
        assert (tmp_path / f"x.{kind}").read_bytes().startswith(begins)


@needs_data
def test_swiss_households_with_nothing_but_the_path(tmp_path: Path) -> None:
    ended = halfmask("profile", SWISS, "-o", tmp_path / "x.profile", "--explain")
    assert ended.returncode == 0, ended.stderr
    assert "6 more have only zeros" in ended.stdout
    assert "(3.5%)" in ended.stdout
    found = shown(tmp_path / "x.profile")
    assert (found["users"], found["periods"], found["step"]) == (537, 49, "30 min")
    assert (found["all_zero_users"], found["missing"], found["duplicates"]) == (6, 0, 0)
    assert found["negatives"] == counted("ch_households_halfhourly.parquet")["negatives"] > 0


@needs_data
def test_melbourne_pedestrians_with_nothing_but_the_path(tmp_path: Path) -> None:
    ended = halfmask("profile", PEDESTRIANS, "-o", tmp_path / "x.profile")
    assert ended.returncode == 0, ended.stderr
    found, expected = shown(tmp_path / "x.profile"), counted("melbourne_pedestrians_hourly.parquet")
    assert found["step"] == "1 h"
    assert {name: found[name] for name in expected} == expected
    quantiles = found["quantiles"]
    assert isinstance(quantiles, dict)
    values = pq.read_table(PEDESTRIANS)["value"].to_numpy()
    for share in ("0.25", "0.5", "0.99"):
        assert quantiles[share] == pytest.approx(np.nanquantile(values, float(share)), rel=0.011)


def counted(name: str) -> dict[str, int]:
    """The same facts by another program."""
    import polars as pl

    source = pl.read_parquet(DATA / name).with_columns(pl.col("value").cast(pl.Float64))
    frame = source.drop_nulls(["user", "time"])
    usable = frame.filter(pl.col("value").is_finite())
    unique = usable.unique(["user", "time"], keep="first", maintain_order=True)
    minutes = 30 if "half" in name else 60
    span = (pl.col("time").max() - pl.col("time").min()).dt.total_minutes()
    slots = unique.group_by("user").agg(span // minutes + 1, pl.len().alias("n"))
    return {
        "readings": unique.height,
        "users": frame["user"].n_unique(),
        "periods": unique["time"].dt.date().n_unique(),
        "zeros": unique.filter(pl.col("value") == 0).height,
        "negatives": unique.filter(pl.col("value") < 0).height,
        "nonfinite": frame.height - usable.height,
        "duplicates": usable.height - unique.height,
        "unplaced": source.height - frame.height,
        "missing": int(slots.select(pl.max_horizontal("time", "n").sum()).item()) - unique.height,
    }


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A panel that takes a few seconds to read as text."""
    from halfmask.data.synth import synth

    folder = tmp_path_factory.mktemp("larger")
    synth(folder / "p.parquet", users=60, days=365, seed=1)
    import pyarrow.csv

    pyarrow.csv.write_csv(pq.read_table(folder / "p.parquet"), folder / "p.csv")
    return folder / "p.csv"


@pytest.mark.parametrize("interrupted", [True, False])
def test_what_an_interrupt_leaves_half_made_is_dropped_without_a_word(interrupted: bool) -> None:
    """As objects of a library that was being loaded, whose parts are missing."""
    script = """
        from contextlib import suppress
        from halfmask.commands import _program as cli
        class HalfMade:
            def __del__(self):
                raise AttributeError
        with suppress(KeyboardInterrupt):
            cli._interrupt(2, None) if INTERRUPTED else None
        HalfMade()
    """.replace("INTERRUPTED", str(interrupted))
    done = subprocess.run([sys.executable, "-c", dedent(script)], capture_output=True, text=True, check=True)
    assert ("Traceback" in done.stderr) is not interrupted


@pytest.mark.parametrize(
    ("command", "after"),
    [
        ("profile", 0.0),
        ("synth", 0.3),
        *(pytest.param("profile", after, marks=pytest.mark.slow) for after in (0.3, 1.0)),
        *(pytest.param("synth", after, marks=pytest.mark.slow) for after in (0.0, 1.0)),
    ],
)
def test_an_interrupt_leaves_no_file(command: str, after: float, larger: Path, tmp_path: Path) -> None:
    """Wherever the work stands. Should it be done before the signal, the file is whole and the code 0."""
    what = {"profile": ["profile", str(larger)], "synth": ["synth", "--users", "6435"]}[command]
    running = subprocess.Popen(
        [*PROGRAM, *what, "-o", str(tmp_path / "x")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stderr is not None
    if command == "profile":
        assert running.stderr.readline().startswith("user = ")  # the source is open, the pass begins
    else:
        while not any(path.stat().st_size for path in tmp_path.iterdir()):  # the first rows are written
            assert running.poll() is None
            time.sleep(0.02)
    time.sleep(after)
    running.send_signal(signal.SIGINT)
    _, complaint = running.communicate(timeout=60)
    assert "Traceback" not in complaint
    if running.returncode == 0:
        assert [path.name for path in tmp_path.iterdir()] == ["x"]
    else:
        assert running.returncode in (130, -signal.SIGINT), complaint  # a shell shows 130 for both
        assert complaint.splitlines()[-1] == "halfmask: interrupted; nothing was half-written"
        assert list(tmp_path.iterdir()) == []


def test_help_loads_nothing_heavy() -> None:
    looking = f"""
import sys
from halfmask import __version__
from halfmask.commands._app import app
try:
    app(["--help"])
except SystemExit:
    pass
import halfmask
print("loaded:", [name for name in {HEAVY!r} if name in sys.modules])
"""
    ended = subprocess.run([sys.executable, "-c", looking], capture_output=True, text=True, check=True)
    assert "Usage: halfmask" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "loaded: []"


def test_every_command_and_option_says_what_it_does() -> None:
    commands = [name for name in app if not name.startswith("-")]
    assert {"profile", "show", "synth"} <= set(commands)
    for name in commands:
        command = app[name]
        assert command.help.strip()
        for argument in command.assemble_argument_collection(parse_docstring=True):
            if argument.show:  # a group of options is itself none
                assert argument.parameter.help, f"halfmask {name} {argument.name}"


def test_help_and_version_from_the_program() -> None:
    listed = process("--help")
    assert listed.returncode == 0
    assert "profile" in listed.stdout
    assert halfmask("--version").stdout.strip() == __version__
    script = Path(sys.executable).with_name("halfmask")
    assert os.access(script, os.X_OK)


def test_a_title_with_colons_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([["a"], ["b"]], "sum masked by laplace:100: noise cancels")
    assert "laplace:100: noise" in capsys.readouterr().out
