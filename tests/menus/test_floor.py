"""A floor under the menu, with an attack made up for the test: its error is the noise's deviation, or its mean."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.mechanisms.grid import grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.attack_floor import Floor, louder, parse_floor, refine_above
from halfmask.menus.menu import Menu, brief, menu_json, noise_std
from halfmask.menus.optimize import optimize
from tests.choice.cases import as_read, homes
from tests.refusals import refused

COARSE = "laplace:b=0.05..1.5/0.29;sine:k=1,values=0.3|0.75|1.2"
TABLE = (0.5, 0.1, 0.9, 0.2, 1.2, 1.0)


@pytest.fixture(scope="module")
def coarse() -> Menu:
    study = evaluate_grid(homes().profile, grid(COARSE), Experiment.on(homes().profile, sizes="10,20,all", repeats=5))
    return optimize(as_read(study), max_mean=0.5, max_std=0.5, omega=0.2).menu


def deviation(setting: PrivacySetting) -> float:
    """An attack that sees nothing but the size of the noise: a deviation of 2 would tell nothing."""
    return min((noise_std(setting) or 0.0) / 2, 0.99)


def table(_: float, error: float, around: float) -> PrivacySetting | None:
    """Noise of nearly one magnitude, a little quieter than asked for."""
    sizes = np.array(TABLE[::2]) * max(around, 2 * error)
    return PrivacySetting("tabulated", tuple(np.stack([sizes, TABLE[1::2]], axis=1).ravel().tolist()))


def nothing(*_: float) -> None:
    """No law is ever found."""


def test_every_setting_keeps_the_floor_and_its_bin(coarse: Menu) -> None:
    found = refine_above(coarse, homes().profile, Floor("size", 0.2, deviation, nothing), evaluations=15)
    below = [each.id for each in coarse.settings[:-1] if deviation(each.setting) < 0.2]
    assert below, "the floor is above no setting of the grid: the test would show nothing"
    for each in found.menu.settings[:-1]:
        assert deviation(each.setting) >= 0.2
        assert each.bin[0] <= each.privacy.median < each.bin[1] or each.bin[1] == 1
        assert each.setting.mechanism != "tabulated"
    kept = {each.id for each in found.menu.settings[:-1]}
    assert {each.before.id for each in found.bins if each.after is None} == set(coarse.ids[:-1]) - kept
    assert len(found.menu.empty_bins) == len(coarse.empty_bins) + len(coarse.settings) - len(found.menu.settings)
    assert [each.bin for each in found.menu.empty_bins] == sorted(each.bin for each in found.menu.empty_bins)
    assert found.menu.provenance["floor"] == {"size": 0.2}
    assert len(found.rows()) == len(coarse.settings)


def test_an_emptied_bin_says_why(coarse: Menu) -> None:
    found = refine_above(coarse, homes().profile, Floor("size", 0.9, deviation, nothing), evaluations=5)
    emptied = [each for each in found.menu.empty_bins if each not in coarse.empty_bins]
    assert emptied
    assert all("size of at least 0.9" in each.reason for each in emptied)
    assert "none" in {row[-2] for row in found.rows()}


def test_a_rule_is_not_said_to_fail_a_floor_that_was_not_measured(coarse: Menu) -> None:
    rule = replace(coarse.settings[0], setting=PrivacySetting.parse("round:0.5"))
    menu = replace(coarse, settings=(rule, coarse.settings[-1]))
    found = refine_above(menu, homes().profile, Floor("size", 0.1, deviation, table), evaluations=5)
    (told,) = [each.reason for each in found.menu.empty_bins if each.bin == rule.bin]
    assert told.startswith("round:0.5 adds no noise of one law")
    assert "size of at least" not in told


def test_a_law_is_taken_only_where_it_is_better(coarse: Menu) -> None:
    found = refine_above(coarse, homes().profile, Floor("size", 0.2, deviation, table), evaluations=5)
    assert any(each.law for each in found.bins)
    for each in found.bins:
        tried = [one.objective for one in (each.family, each.law) if one]
        assert (each.after is None) == (not tried)
        if each.after:
            assert each.after.objective == max(tried)
            assert (each.after.setting.mechanism == "tabulated") == (each.after is each.law)
            assert each.error == deviation(each.after.setting) >= 0.2


def test_a_law_below_the_floor_is_not_taken(coarse: Menu) -> None:
    quiet = PrivacySetting("tabulated", (0.1, 1.0))
    found = refine_above(coarse, homes().profile, Floor("size", 0.2, deviation, lambda *_: quiet), evaluations=2)
    assert all(each.law is None for each in found.bins)


def test_the_menu_above_a_floor_is_a_menu(coarse: Menu, tmp_path: Path) -> None:
    found = refine_above(coarse, homes().profile, Floor("size", 0.2, deviation, table), evaluations=2)
    found.menu.write(tmp_path / "menu.json")
    assert menu_json(Menu.read(tmp_path / "menu.json")) == menu_json(found.menu)


def test_louder_noise_is_just_above_the_floor() -> None:
    floor = Floor("size", 0.2, deviation, nothing)
    raised = louder(PrivacySetting.parse("laplace:0.001"), floor)
    assert raised is not None
    assert 0.2 <= deviation(raised) < 0.203
    loud = PrivacySetting.parse("laplace:1")
    assert louder(loud, floor) == loud
    assert louder(PrivacySetting.parse("laplace:1"), Floor("never", 0.2, lambda _: 0.0, nothing)) is None


@pytest.mark.parametrize("text", ["size", "weight=0.2", "size=much", "=0.2", ""])
def test_a_floor_that_is_none_is_refused(text: str) -> None:
    with refused("option.floor"):
        parse_floor(text, "size")
    assert parse_floor("size = 0.25", "size") == 0.25


def test_a_long_table_is_counted() -> None:
    assert brief(PrivacySetting("tabulated", (0.5, 0.5, 1.0, 0.8, 2.0, 0.9, 3.0, 1.0))) == "tabulated, 4 points"
    assert brief(PrivacySetting.parse("laplace:0.5")) == "laplace:0.5"


def test_a_menu_of_other_data_is_refused(coarse: Menu) -> None:
    bare = Menu(coarse.settings, coarse.normalisers, coarse.weights, coarse.constraints)
    with refused("option.other", "other_data"):
        refine_above(bare, homes().profile, Floor("size", 0.2, deviation, nothing))
