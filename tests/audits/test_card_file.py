"""A card keeps its type: its file gives the same card back, and a damaged one is found by reading it."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import halfmask
from halfmask.audits.card import DRAWN
from halfmask.errors import FileFormatError
from halfmask.protection.guarantees.promises import odds
from tests.audits.cards import card

HEAD = ("format", "version")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[halfmask.ReportCard, Path]:
    """A small card, as a command makes it, and its file."""
    path = tmp_path_factory.mktemp("card") / "card.json"
    made = replace(card(), about=replace(card().about, asked={"seed": 3}))
    made.write(path)
    return made, path


def test_a_file_gives_the_same_card_back(made: tuple[halfmask.ReportCard, Path], tmp_path: Path) -> None:
    written, path = made
    read = halfmask.ReportCard.read(path)
    assert read == written
    assert read.cards[0].typical == written.cards[0].typical
    assert [each.promises for each in read.cards] == [each.promises for each in written.cards]
    read.write(tmp_path / "card.json")
    assert (tmp_path / "card.json").read_bytes() == path.read_bytes()
    assert read.experiment.fingerprint == written.about.fingerprint


def test_a_card_shows_itself(made: tuple[halfmask.ReportCard, Path]) -> None:
    read = halfmask.ReportCard.read(made[1])
    assert all(each.id in read._repr_html_() for each in read.cards)
    assert read.to_polars()["id"].to_list() == [each.id for each in read.cards]
    assert read.plot().axes


def test_a_guarantee_from_a_file_answers_as_the_one_that_was_written(made: tuple[halfmask.ReportCard, Path]) -> None:
    given, path = made
    for written, read in zip(given.cards, halfmask.ReportCard.read(path).cards, strict=True):
        for count in (1, 48):
            assert read.typical.epsilon_at(1e-6, count) == written.typical.epsilon_at(1e-6, count)
            assert odds(read.typical, count) == odds(written.typical, count)
        assert read.lines() == written.lines()


OTHER: dict[type, Any] = {str: 7, int: "seven", float: "seven", bool: "yes", type(None): "none", dict: [], list: {}}
"""A value of another type, by type."""
OWN = ("details", "asked")
"""What an attack and a command keep for themselves, in their own form."""
DERIVED = ("against", "calibration", "caught", "lines", "share", "window", "words")
"""What follows from other fields, and is written for other readers."""
DEFAULTED = ("step", "unit", "misfit", "low", "high")
"""What a guarantee, a sampler and a finding may lack."""


def places(page: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to every field of a page, the first and the last of each list."""
    if isinstance(page, dict):
        steps: list[str | int] = list(page)
    else:
        steps = sorted({0, len(page) - 1}) if isinstance(page, list) and page else []
    for step in steps:
        yield (*at, step)
        if step not in OWN:
            yield from places(page[step], (*at, step))


def damaged(page: Any, place: tuple[str | int, ...], value: Any = None) -> Any:
    """The page with another value at a place, or without the field where none is given."""
    step, *rest = place
    copy = page.copy()
    if rest:
        copy[step] = damaged(page[step], tuple(rest), value)
    elif value is None:
        del copy[step]
    else:
        copy[step] = value
    return copy


def at(page: Any, place: tuple[str | int, ...]) -> Any:
    return at(page[place[0]], place[1:]) if place else page


def name_of(place: tuple[str | int, ...]) -> str:
    """The field of a place: an item of a list is named by its list."""
    return str(next(step for step in reversed(place) if isinstance(step, str)))


def test_a_card_that_lacks_any_field_is_refused_by_its_name(made: tuple[halfmask.ReportCard, Path]) -> None:
    page = json.loads(made[1].read_text())
    assert halfmask.ReportCard.from_json(page) == made[0]
    free = {*OWN, *HEAD, *DERIVED, *DEFAULTED}
    dropped = [place for place in places(page) if isinstance(place[-1], str) and free.isdisjoint(place)]
    assert len(dropped) > 300
    for place in dropped:
        with pytest.raises(ValueError, match=f"[`']{re.escape(place[-1])}[`']"):
            halfmask.ReportCard.from_json(damaged(page, place))


def test_a_card_with_any_field_of_another_type_is_refused_by_its_name(
    made: tuple[halfmask.ReportCard, Path],
) -> None:
    page = json.loads(made[1].read_text())
    changed = [place for place in places(page) if {*HEAD, *DERIVED}.isdisjoint(place)]
    assert len(changed) > 400
    for place in changed:
        value = at(page, place)
        with pytest.raises(ValueError, match=r".") as refused:
            halfmask.ReportCard.from_json(damaged(page, place, OTHER[type(value)]))
        tables = [name for name in place if isinstance(name, str)]
        assert any(name in str(refused.value) for name in tables[-3:]), (place, str(refused.value))


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("settings",), [], "settings"),
        (("settings", 1, "id"), "A", "id"),
        (("settings", 0, "setting"), "laplace", "settings[0].setting"),
        (("settings", 0, "typical", "setting"), "none", "typical.setting"),
        (("settings", 0, "delta", "inf"), 2, "delta"),
        (("settings", 0, "promises", "a day", "odds"), 1.5, "odds"),
        (("settings", 0, "promises", "a day", "epsilon"), -1, "epsilon"),
        (("settings", 0, "curve", "1"), [0.5], "curve"),
        (("about", "windows"), {"one reading": 1, "everything": 9}, "windows"),
        (("best", "like"), "Z", "best.like"),
        (("noise", "at"), [1.0], "laws"),
        (("version",), 2, "version 2"),
        (("format",), "a card", "halfmask card"),
    ],
)
def test_a_damaged_card_is_found_by_reading_it(
    place: tuple[str | int, ...], value: Any, told: str, made: tuple[halfmask.ReportCard, Path], tmp_path: Path
) -> None:
    page = damaged(json.loads(made[1].read_text()), place, value)
    (tmp_path / "card.json").write_text(json.dumps(page))
    with pytest.raises(FileFormatError, match=rf"card.json.*{re.escape(told)}.*halfmask audit"):
        halfmask.ReportCard.read(tmp_path / "card.json")


@pytest.mark.parametrize("attack", sorted(DRAWN))
def test_details_that_are_drawn_are_read(attack: str, made: tuple[halfmask.ReportCard, Path]) -> None:
    page = json.loads(made[1].read_text())
    found = page["settings"][0]["attacks"]
    number = next(place for place, each in enumerate(found) if each["name"] == attack)
    assert found[number]["value"] is not None
    for name in DRAWN[attack]:
        place = ("settings", 0, "attacks", number, "details", name)
        for broken in (damaged(page, place), damaged(page, place, "much")):
            with pytest.raises(ValueError, match=rf"attacks\[{number}\].details.{name}"):
                halfmask.ReportCard.from_json(broken)
