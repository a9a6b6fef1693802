"""``halfmask audit`` as a privacy officer runs it."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from halfmask.commands._printing import print_rows
from halfmask.figures.results_folder import read_inputs
from halfmask.menus.menu import Menu
from halfmask.pages.report import page_of
from tests.commands.program import error_of, halfmask, refused


def test_one_setting_without_a_menu_answers_in_json() -> None:
    ended = halfmask("audit", "--setting", "sine:1.2,0.3,1.2,1.5,1.5", "--sensitivity", "0.1", "--json")
    assert ended.returncode == 0, ended.stderr
    page = json.loads(ended.stdout)
    assert page["epsilon"] is None
    assert [page["delta"][key] for key in ("0", "0.1", "0.5", "1", "inf")] == pytest.approx(
        [0.0391, 0.0217, 0.0087, 0.0077, 0.0065], abs=5e-5
    )
    assert set(page["delta"]) == {"0", "0.1", "0.5", "1", "2", "5", "inf"} == set(page["composed"]["48"])
    assert page["composed"]["48"]["1"] == pytest.approx(0.356, abs=1e-3)


def test_one_setting_as_a_table_in_words() -> None:
    ended = halfmask("audit", "--setting", "laplace:1", "--sensitivity", "0.1", "--reports", "10")
    assert ended.returncode == 0, ended.stderr
    assert "10 reports" in ended.stdout
    assert "epsilon 0.1 for a change of up to 0.1 in one reading, delta 0" in ended.stdout


def test_a_narrow_terminal_cuts_no_number(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    numbers = ["0.525", "13,300", "> 99%", "1.40%", "7.62%", "6.67%", "88%"]
    print_rows([[f"heading {place}" for place in range(7)], numbers])
    cells = re.split(r"\s{2,}", capsys.readouterr().out.splitlines()[-1].strip())
    assert cells
    assert set(cells) <= {*numbers}


@pytest.mark.parametrize(
    ("options", "code", "field"),
    [
        ([], "option", "setting"),
        (["menu.json"], "option", "profile"),
        (["menu.json", "--setting", "laplace:1"], "option", "setting"),
        (["menu.json", "--profile", "none.profile", "--value", "kwh"], "option", "panel"),
        (["--setting", "laplace:1"], "option.range", "sensitivity"),
        (["--setting", "laplace:1", "--sensitivity", "-1"], "option.range", "sensitivity"),
        (["--setting", "laplace:1", "--sensitivity", "inf"], "option.range", "sensitivity"),
        (["menu.json", "--profile", "none.profile", "--sensitivity", "nan"], "option.range", "sensitivity"),
        (["--setting", "laplace:1", "--sensitivity", "1", "--reports", "x"], "option.number", "reports"),
        (["--setting", "laplace:1", "--sensitivity", "1", "--reports", "0"], "option.range", "reports"),
    ],
)
def test_bad_calls_name_the_option(tmp_path: Path, options: list[str], code: str, field: str) -> None:
    error = error_of("audit", *options, cwd=tmp_path)
    assert (error.code, error.fields[0]) == (code, field)


def test_a_menu_that_is_not_there_is_refused_in_one_line(tmp_path: Path) -> None:
    assert "menu.json" in refused("audit", "menu.json", "--profile", "none.profile", cwd=tmp_path)


def test_a_card_without_a_place_is_refused_before_the_work(tmp_path: Path) -> None:
    """The menu is not even there: nothing was read before."""
    for output, code in (("away/card.json", "option.no_folder"), (tmp_path, "option.folder")):
        assert error_of("audit", "menu.json", "--profile", "x.profile", "-o", output, cwd=tmp_path).code == code


def test_a_menu_gets_a_card_and_the_report_shows_it(whole: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "homes"))
    panel, readings = tmp_path / "two-values.parquet", pq.read_table(whole.parent / "homes-panel.parquet")
    value = readings.column_names[-1]
    pq.write_table(readings.append_column("doubled", pc.multiply(readings[value], 2)), panel)
    made = Menu.read(folder / "menu.json")
    replace(made, settings=made.settings[-2:]).write(folder / "menu.json")
    (folder / "mix.parquet").unlink()
    options = ["--profile", folder / "homes.profile", "--panel", panel, "-o", folder / "card.json"]
    assert "are not the profile's" in halfmask("audit", folder / "menu.json", *options, "--value", "doubled").stderr
    ended = halfmask("audit", folder / "menu.json", *options, "--value", value, "--explain")
    assert ended.returncode == 0, ended.stderr
    assert "What each setting protects" in ended.stdout
    assert "Calibrate" in ended.stderr
    page = json.loads((folder / "card.json").read_text())
    ids = [each["id"] for each in json.loads((folder / "menu.json").read_text())["settings"]]
    assert [each["id"] for each in page["settings"]] == ids
    assert page["about"]["evidence"] == "readings every 30 minutes"
    html = page_of(read_inputs(folder), [])  # the report without its figures
    assert "What it really protects" in html
    assert page["settings"][0]["sentence"].replace("'", "&#39;") in html
    assert "What choosing the menu costs" in html
