"""The menu's file: what it holds, and what is said of a bad one."""

import json
from pathlib import Path
from typing import Any

import pytest

from halfmask.errors import FileFormatError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, menu_json, noise_std
from tests.choice.cases import homes, menu
from tests.refusals import refused


def test_a_menu_comes_back_from_its_file_and_equal_menus_are_equal_bytes(tmp_path: Path) -> None:
    menu().write(tmp_path / "a.json")
    again = Menu.read(tmp_path / "a.json")
    again.write(tmp_path / "b.json")
    assert again == menu()
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_the_file_is_as_documented() -> None:
    plain = menu_json(menu())
    assert set(plain) >= {"settings", "normalisers", "weights", "constraints", "empty_bins", "provenance"}
    last = plain["settings"][-1]
    assert (last["id"], last["setting"], last["privacy"]["median"], last["utility"]["p10"]) == ("N", "none", 0, 1)
    first = plain["settings"][0]
    assert set(first) == {"id", "setting", "bin", "privacy", "utility", "objective", "noise_std"}
    assert first["objective"] == pytest.approx(first["utility"]["median"] + first["utility"]["p10"])
    assert plain["provenance"]["fingerprint"] == homes().profile.fingerprint()
    assert {"aggregate", "error", "seed", "grid", "period"} <= set(plain["provenance"])


def _broken(**changes: Any) -> str:
    plain = {**menu_json(menu()), **changes}
    return json.dumps({name: value for name, value in plain.items() if value is not None})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a menu"),
        ("[1, 2]", "not a menu"),
        ('{"settings": []}', "not a menu"),
        (_broken(version=99), "version 99"),
        (_broken(settings=None), "`settings`"),
        (_broken(settings=[]), "end with N"),
        (_broken(settings=menu_json(menu())["settings"][:1]), "end with N"),
        (_broken(normalisers={}), "local_mean"),
        (_broken(normalisers={**menu().normalisers, "local_std": -1}), "not above 0"),
        (_broken(weights={"privacy": [1, 1, 1], "utility": [1, 0, 0]}), "privacy weights"),
        (_broken(settings=[{**menu_json(menu())["settings"][0], "setting": "lapalce:1"}]), "lapalce"),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "menu.json"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=said) as caught:
        Menu.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with refused("file.missing"):
        Menu.read(tmp_path / "none.json")


def test_an_unknown_id_lists_those_there_are() -> None:
    with refused("option.setting"):
        menu()["Z"]


def test_a_menu_of_other_data_is_refused_unless_meant() -> None:
    other = Menu(menu().settings, menu().normalisers, menu().weights, {}, (), {"fingerprint": "of others"})
    with refused("option.other", "other_data"):
        other.check_data(homes().profile)
    other.check_data(homes().profile, other_data=True)
    menu().check_data(homes().profile)


def test_noise_std_is_of_the_law_and_absent_without_one() -> None:
    assert noise_std(PrivacySetting.parse("laplace:2")) == pytest.approx(2 * 2**0.5)
    assert noise_std(PrivacySetting.parse("round:0.5")) is None
    assert noise_std(PrivacySetting.parse("clip:0,10/laplace:2")) is None
