"""No command writes over what it reads."""

import os
from pathlib import Path

import pytest

import halfmask
from halfmask.commands.profile import ProfileOptions
from tests.commands.program import error_of
from tests.commands.program import halfmask as program
from tests.refusals import refused

FILES = ("src.csv", "menu.json", "m.profile", "study.parquet", "campaign.json", "bids.csv", "halfmask.db", "few.txt")
OVER = [
    "profile src.csv -o src.csv",
    "profile src.csv -o ./src.csv",
    "profile src.csv -o link.csv",
    "profile link.csv -o hard.csv",
    "profile *.csv -o src.csv",
    "profile readings -o readings/day.csv",
    "profile --db halfmask.db -o halfmask.db",
    "leaflet menu.json -o menu.json",
    "evaluate m.profile -o m.profile",
    "evaluate m.profile --settings few.txt -o few.txt",
    "evaluate m.profile --method direct --panel src.csv -o src.csv",
    "optimize study.parquet -o study.parquet",
    "optimize study.parquet --profile m.profile -o m.profile",
    "offer m.profile --study study.parquet -o study.parquet",
    "mix m.profile menu.json -o menu.json",
    "audit menu.json --profile m.profile --panel src.csv -o src.csv",
    "audit --setting laplace:1 --campaign campaign.json -o campaign.json",
    "auction bids.csv --menu menu.json --variance 60 -o bids.csv",
    "payout -o halfmask.db",
    "show m.profile --png m.profile",
    "simulate --panel src.csv --figure src.csv",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files that would be destroyed; what they hold does not matter, as nothing is read."""
    for name in FILES:
        (tmp_path / name).write_text(name)
    (tmp_path / "readings").mkdir()
    (tmp_path / "readings" / "day.csv").write_text("day")
    (tmp_path / "link.csv").symlink_to("src.csv")
    os.link(tmp_path / "src.csv", tmp_path / "hard.csv")
    return tmp_path


def held(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("line", OVER)
def test_an_output_that_is_an_input_is_refused_before_anything_is_read(line: str, folder: Path) -> None:
    before = held(folder)
    assert error_of(*line.split(), cwd=folder).code == "option.overwrites"
    assert held(folder) == before


def test_python_refuses_it_too(folder: Path) -> None:
    with refused("option.overwrites", place=str(folder / "src.csv")):
        halfmask.profile(folder / "src.csv", folder / "link.csv")
    with refused("option.overwrites", place=str(folder / "src.csv")):
        halfmask.mask(str(folder / "src.csv"), output=str(folder / "src.csv"), state=folder / "mine")


def test_what_is_not_read_may_be_written_over(folder: Path) -> None:
    for options in (
        ProfileOptions(str(folder / "readings"), output=folder / "m.profile"),
        ProfileOptions(str(folder), output=folder / "m.profile"),  # a folder of readings may hold their profile
        ProfileOptions(str(folder / "src.csv"), output=folder / "menu.json", unit="menu.json"),
    ):
        options.check()


def test_merging_may_write_over_its_inputs(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("two", 2)):
        halfmask.synth(tmp_path / f"{name}.parquet", users=3, days=2, seed=seed)
        halfmask.profile(tmp_path / f"{name}.parquet", tmp_path / f"{name}.profile")
    ended = program("merge", "one.profile", "two.profile", "-o", "one.profile", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
