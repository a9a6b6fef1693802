"""`optimize --refine --floor`: the menu that the real attack cannot undo beyond the floor."""

from pathlib import Path

import pytest

from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.mechanisms.grid import grid
from halfmask.menus.menu import Menu
from halfmask.profiles.store import save_profile
from halfmask.protection.attacks.reconstruction import lattice_errors
from halfmask.protection.evidence import population_of
from halfmask_device.decimals import upwards
from tests.choice.cases import homes
from tests.commands.program import halfmask, refused

WIDE = ("--max-mean", 0.5, "--max-std", 0.5, "--omega", 0.2, "--bins", 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("floor")
    save_profile(homes().profile, made / "homes.profile")
    few = grid("laplace:b=0.1..1.5/0.1")
    tried = Experiment.on(homes().profile, sizes="10,20,all")
    evaluate_grid(homes().profile, few, tried).write(made / "study.parquet")
    return made


def test_the_menu_keeps_the_floor(folder: Path) -> None:
    asked = ("--profile", "homes.profile", "--refine", "--floor", "reconstruction=0.4", *WIDE)
    ended = halfmask("optimize", "study.parquet", "-o", "menu.json", *asked, "--explain", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    assert "Refined, with reconstruction=0.4 or more" in ended.stdout
    menu, population = Menu.read(folder / "menu.json"), population_of(homes().profile)
    assert menu.provenance["floor"] == {"reconstruction": 0.4}
    assert len(menu.settings) > 1
    for each in menu.settings[:-1]:
        found = lattice_errors(each.setting, population)
        assert found.best >= 0.4 * found.prior
    assert any(each.setting.mechanism == "tabulated" for each in menu.settings)
    assert "tabulated, " in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 200


def test_a_required_guarantee_outlives_the_floor(folder: Path) -> None:
    """The better laws above the floor are bounded and promise nothing: with the requirement none of them is taken."""
    asked = ("--profile", "homes.profile", "--refine", "--floor", "reconstruction=0.4", "--require", "guarantee", *WIDE)
    ended = halfmask("optimize", "study.parquet", "-o", "kept.json", *asked, "--explain", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    menu = Menu.read(folder / "kept.json")
    assert len(menu.settings) > 1
    assert menu.question is not None
    for each in menu.settings[:-1]:
        found = lattice_errors(each.setting, population_of(homes().profile))
        assert found.best >= 0.4 * found.prior
        assert each.protection is not None
        assert each.protection.window == pytest.approx(menu.question.epsilon(each.setting))
        assert upwards(each.protection.window) in ended.stdout
    assert "tabulated" not in ended.stdout


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("--floor", "reconstruction=0.2"), "add --refine"),
        (("--refine", "--profile", "homes.profile", "--floor", "averaging=0.2"), "write reconstruction=0.2"),
        (("--refine", "--profile", "homes.profile", "--floor", "reconstruction=2"), "between 0"),
    ],
)
def test_a_floor_that_does_not_fit_is_refused(folder: Path, asked: tuple[str, ...], told: str) -> None:
    assert told in refused("optimize", "study.parquet", "-o", "no.json", *asked, *WIDE, cwd=folder)
    assert not (folder / "no.json").exists()
