"""Relative errors that were forced on data they do not suit are warned of at every later step."""

from pathlib import Path

import pytest

from halfmask.profiles.store import save_profile
from tests.choice.cases import homes, menu
from tests.commands.program import halfmask

WARNING = "yet errors are relative"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Homes of whose readings a tenth are zero, and their menu by relative errors."""
    made = tmp_path_factory.mktemp("warned")
    save_profile(homes().profile, made / "homes.profile")
    menu().write(made / "menu.json")
    return made


@pytest.mark.parametrize(
    "step",
    [
        ("mix", "homes.profile", "menu.json", "-o", "mix.parquet", "--step", "0.5", "--repeats", "1"),
        ("leaflet", "menu.json", "-o", "leaflet.html"),
        ("report", "."),
    ],
)
def test_every_step_warns(folder: Path, step: tuple[str, ...]) -> None:
    ended = halfmask(*step, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    said = ended.stderr
    if step[0] == "report":
        said = (folder / "report.html").read_text(encoding="utf-8")
        assert 'class="danger"' in said
    assert WARNING in said


def test_data_that_relative_errors_suit_give_no_warning(folder: Path) -> None:
    suits = {**menu().provenance, "unfit_for_relative": None}
    menu().__class__(**{**vars(menu()), "provenance": suits}).write(folder / "suits.json")
    assert WARNING not in halfmask("leaflet", "suits.json", "-o", "suits.html", cwd=folder).stderr
