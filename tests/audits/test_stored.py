"""A card keeps its type: its file gives the same card back, and a damaged one is found by reading it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import halfmask
from halfmask.errors import FileFormatError
from halfmask.protection.guarantees.units import odds


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[halfmask.ReportCard, Path]:
    """A small card and its file."""
    at = tmp_path_factory.mktemp("card")
    halfmask.synth(at / "p.parquet", users=12, days=3)
    profile = halfmask.profile(at / "p.parquet")
    study = halfmask.evaluate(profile, settings=("laplace:0.3", "sine:0,0.6"), sizes="all", repeats=2)
    menu = halfmask.optimize(study, max_mean=10, max_std=10).menu
    return halfmask.audit(menu, profile, output=at / "card.json"), at / "card.json"


def test_a_file_gives_the_same_card_back(made: tuple[halfmask.ReportCard, Path], tmp_path: Path) -> None:
    card, path = made
    read = halfmask.ReportCard.read(path)
    assert read == card
    assert read.cards[0].typical == card.cards[0].typical
    assert [each.promises for each in read.cards] == [each.promises for each in card.cards]
    read.write(tmp_path / "card.json")
    assert (tmp_path / "card.json").read_bytes() == path.read_bytes()
    assert read.experiment.fingerprint == card.about["fingerprint"]


def test_a_card_shows_itself(made: tuple[halfmask.ReportCard, Path]) -> None:
    read = halfmask.ReportCard.read(made[1])
    assert all(each.id in read._repr_html_() for each in read.cards)
    assert read.to_polars()["id"].to_list() == [each.id for each in read.cards]
    assert read.plot().axes


def test_a_guarantee_from_a_file_answers_as_the_one_that_was_written(made: tuple[halfmask.ReportCard, Path]) -> None:
    card, path = made
    for written, read in zip(card.cards, halfmask.ReportCard.read(path).cards, strict=True):
        for count in (1, 48):
            assert read.typical.epsilon_at(1e-6, count) == written.typical.epsilon_at(1e-6, count)
            assert odds(read.typical, count) == odds(written.typical, count)
        assert read.lines() == written.lines()


def changed(path: tuple[str | int, ...], value: Any) -> Callable[[dict[str, Any]], None]:
    def change(page: dict[str, Any]) -> None:
        at: Any = page
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "damage",
    [
        changed(("settings",), []),
        changed(("settings", 0, "id"), 7),
        changed(("settings", 0, "setting"), "laplace"),
        changed(("settings", 0, "typical"), {}),
        changed(("settings", 0, "delta", "inf"), 2),
        changed(("settings", 0, "attacks", 0, "words"), None),
        changed(("settings", 0, "privacy"), {"median": "much"}),
        changed(("settings", 0, "warnings"), "none"),
        changed(("about", "reports"), {}),
        changed(("about", "sensitivity"), None),
        changed(("best", "like"), "Z"),
        changed(("noise",), "white"),
    ],
)
def test_a_damaged_card_is_found_by_reading_it(
    damage: Callable[[dict[str, Any]], None], made: tuple[halfmask.ReportCard, Path], tmp_path: Path
) -> None:
    page = json.loads(made[1].read_text())
    damage(page)
    (tmp_path / "card.json").write_text(json.dumps(page))
    with pytest.raises(FileFormatError, match=r"card.json is no whole card .*halfmask audit"):
        halfmask.ReportCard.read(tmp_path / "card.json")
