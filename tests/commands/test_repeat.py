"""What the report prints under "How to repeat it" gives the same bytes."""

import html
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import halfmask as package
from tests.commands.program import halfmask

FILES = ("homes.profile", "study.parquet", "menu.json", "mix.parquet")
GRID = "laplace:b=0.05..2/0.05;sine:k=2,values=0|0.6|1.2"


def done(*arguments: object, cwd: Path) -> None:
    ended = halfmask(*arguments, cwd=cwd)
    assert ended.returncode == 0, ended.stderr


def chosen(at: Path, optimize: tuple[str, ...], evaluate: tuple[str, ...]) -> None:
    """A folder with profile, study and menu, made with options that are not the defaults."""
    (at / "homes").mkdir()
    package.synth(at / "p.parquet", users=24, days=5)
    table = pq.read_table(at / "p.parquet").rename_columns(["house", "when", "kw"]).append_column("no", [[1.0] * 5760])
    pyarrow.csv.write_csv(table, at / "odd name.csv")
    columns = ("--user", "house", "--time", "when", "--value", "kw", "--min", "0.001", "--max", "50", "--unit", "kW")
    done("profile", "odd name.csv", "-o", "homes/homes.profile", *columns, "--duplicates", "last", cwd=at)
    done("evaluate", "homes/homes.profile", "-o", "homes/study.parquet", "--repeats", "2", *evaluate, cwd=at)
    done("optimize", "homes/study.parquet", "-o", "homes/menu.json", *optimize, cwd=at)


def made(at: Path, optimize: tuple[str, ...], evaluate: tuple[str, ...], protect: str) -> list[str]:
    """The same with mixes and report; the commands of the report."""
    chosen(at, optimize, evaluate)
    wide = ("--study", "homes/study.parquet", "--levels", "2", "--private", "0", "--within", "5%", "--protect", protect)
    done("offer", "homes/homes.profile", "-o", "homes/offer.json", *wide, cwd=at)
    mix = ("--step", "0.25", "--repeats", "2", "--seed", "3")
    done("mix", "homes/homes.profile", "homes/menu.json", "-o", "homes/mix.parquet", *mix, cwd=at)
    done("report", "homes", cwd=at)
    page = (at / "homes" / "report.html").read_text(encoding="utf-8")
    (lines,) = re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page, flags=re.DOTALL)
    return html.unescape(lines).splitlines()


@pytest.mark.parametrize(
    ("optimize", "evaluate", "drawn"),
    [
        (
            (
                "--bins",
                "4",
                "--omega",
                "0.2",
                "--weights",
                "0.5,0.25,0.25,1,0,0",
                "--max-mean",
                "0.3",
                "--max-std",
                "0.4",
            ),
            ("--grid", GRID, "--sizes", "12,all", "--seed", "5", "--error", "scaled"),
            False,
        ),
        pytest.param(
            ("--profile", "homes/homes.profile", "--colour", "0.5", "--max-mean", "1", "--max-std", "1"),
            ("--setting", "laplace:0.3", "--setting", "gaussian:0.2", "--setting", "sine:0,0.6"),
            True,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_the_report_prints_gives_the_same_bytes(
    optimize: tuple[str, ...],
    evaluate: tuple[str, ...],
    drawn: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Figures take longest: that they repeat is seen in the slow case, and of single ones in tests/pages."""
    if not drawn:
        monkeypatch.setattr("halfmask.pages.report.drawings", lambda _: [])
    here, there = tmp_path / "here", tmp_path / "there"
    there.mkdir()
    here.mkdir()
    protect = "whole-day" if drawn else "reading"  # an offer about readings is made from the study, which is quick
    first, *lines = made(here, optimize, evaluate, protect)
    assert [shlex.split(line)[1] for line in lines] == ["profile", "evaluate", "optimize", "offer", "mix", "report"]
    assert str(tmp_path) not in "\n".join(lines)
    shutil.copy(here / "odd name.csv", there)  # any folder does that holds the readings
    subprocess.run(shlex.split(first), cwd=there, check=True)
    for line in lines:
        done(*shlex.split(line)[1:], cwd=there)
    for file in (*FILES, "report.html"):
        assert (here / "homes" / file).read_bytes() == (there / "homes" / file).read_bytes(), file


def test_a_panel_opens_again_without_naming_columns(tmp_path: Path) -> None:
    wide = ("--bins", "2", "--omega", "0.5", "--max-mean", "1", "--max-std", "1")
    chosen(tmp_path, wide, ("--grid", GRID, "--sizes", "all"))
    arguments = ("homes/menu.json", "--profile", "homes/homes.profile", "--panel", "odd name.csv", "-o", "card.json")
    done("audit", *arguments, cwd=tmp_path)
    assert '"resolution": "readings"' in (tmp_path / "card.json").read_text()
