"""`compare` prints differences with intervals, and the same as JSON."""

import json
from pathlib import Path

import pytest

from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.mechanisms.grid import grid
from halfmask.menus.menu import Menu
from halfmask.menus.optimize import optimize
from halfmask.profiles.store import save_profile
from tests.commands.program import halfmask, refused
from tests.menus.cases import street


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compare")
    save_profile(street().profile, made / "street.profile")
    for seed in (1, 2):
        tried = Experiment.on(street().profile, sizes="100,all", seed=seed)
        study = evaluate_grid(street().profile, grid("laplace:b=0.05..3/0.05"), tried)
        study.write(made / f"study{seed}.parquet")
        optimize(made / f"study{seed}.parquet").menu.write(made / f"menu{seed}.json")
    return made


@pytest.mark.parametrize("asked", [("study1.parquet", "study2.parquet"), ("menu1.json", "menu2.json")])
def test_json_has_an_interval_and_a_verdict_for_each_level(folder: Path, asked: tuple[str, str]) -> None:
    profile = ("--profile", "street.profile") if asked[0].startswith("menu") else ()
    ended = halfmask("compare", *asked, *profile, "--json", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["paired"] == bool(profile)
    assert len(found["rounds"]) == 5
    contested = [each for each in found["rounds"] if each["verdict"] != "no contender"]
    assert contested
    for each in contested:
        assert each["low"] <= each["difference"] <= each["high"]
        assert each["verdict"] in ("no difference", "trade"), "one grid under two seeds"
    for each in found["rounds"]:
        if each["verdict"] == "no contender":
            assert each["difference"] is None
            assert None in (each["first"], each["second"])


def test_the_table_says_the_same(folder: Path) -> None:
    ended = halfmask("compare", "study1.parquet", "study2.parquet", "--explain", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    assert "no difference that shows" in ended.stdout
    assert " wins" not in ended.stdout.replace("study1.parquet wins 0, study2.parquet 0", "")
    assert "study1.parquet wins 0, study2.parquet 0" in ended.stdout
    assert "--profile" in ended.stderr
    assert "profile" in refused("compare", "menu1.json", "menu2.json", cwd=folder)


def test_what_both_menus_protect_is_shown(folder: Path) -> None:
    ended = halfmask("compare", "menu1.json", "menu2.json", "--profile", "street.profile", "--json", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    protection = json.loads(ended.stdout)["protection"]
    menus = [Menu.read(folder / f"menu{seed}.json") for seed in (1, 2)]
    assert [each["setting"] for each in protection] == [str(each.setting) for menu in menus for each in menu.settings]
    bounds = {each["promise"]["change"] for each in protection}
    assert len(bounds) == 1
    for each in protection:
        b = float(each["setting"].partition(":")[2] or 0)
        if b:  # a whole day: the sum of the changes of its readings
            assert each["promise"]["epsilon"] == pytest.approx(bounds.copy().pop() / b, rel=0.02)
        assert {"own-total-day", "reidentification-day"} <= {found["name"] for found in each["attacks"]}


def test_readings_and_totals_have_no_common_scale_but_promises_and_attacks(folder: Path) -> None:
    tried = Experiment.on(street().profile, sizes="100,all", seed=1)
    study = evaluate_grid(street().profile, grid("laplace:b=1..40/1@total"), tried)
    study.write(folder / "totals.parquet")
    optimize(folder / "totals.parquet").menu.write(folder / "totals.json")
    ended = halfmask("compare", "menu1.json", "totals.json", "--profile", "street.profile", "--json", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["rounds"] == []
    assert {each["menu"] for each in found["protection"]} == {"menu1.json", "totals.json"}
