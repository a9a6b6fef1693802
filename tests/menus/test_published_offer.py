"""The command that publishes an offer: what it writes follows from the summary, and the analyst's own file says so."""

import math
from html import escape
from pathlib import Path
from typing import Any

import pytest

import halfmask
from halfmask.commands.evaluate import evaluate
from halfmask.commands.leaflet import leaflet
from halfmask.commands.offer import offer
from halfmask.menus.menu import CALIBRATION, OWN, Menu
from halfmask.menus.offer_table import calibration_notes, offer_rows, offer_warnings
from halfmask.menus.total_error import total_error
from tests.menus.cases import street
from tests.refusals import refused

GRID = "laplace:b=0.1..60/0.5@total"
GIVEN: dict[str, Any] = {"low": 0, "high": 64, "epsilon": "8,2", "private": 4}


@pytest.fixture(autouse=True)
def small_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small grid instead of the default one: scores are not what is tested here."""

    def fewer(people: Any, **options: Any) -> Any:
        release = "@total" if str(options.pop("grid", "")).endswith("@total") else ""
        options.pop("advance", None)
        return evaluate(people, grid=GRID.removesuffix("@total") + release, **{**options, "sizes": "all"})

    monkeypatch.setattr("halfmask.commands.evaluate.evaluate", fewer)


def test_levels_with_epsilons_and_bounds_need_no_data(tmp_path: Path) -> None:
    """Two offers have the same levels and promises, and figures that differ by the noise."""
    first, second = (offer(street().profile, tmp_path / f"{n}.json", **GIVEN).menu for n in range(2))
    assert [each.setting for each in first.settings] == [each.setting for each in second.settings]
    assert [each.promise for each in first.settings] == [each.promise for each in second.settings]
    assert first.public != second.public
    assert Menu.read(tmp_path / "0.json").provenance[CALIBRATION]["epsilon"] == 4


def test_what_is_published_names_no_file_of_the_analysts(tmp_path: Path) -> None:
    study = tmp_path / "our study.parquet"
    evaluate(street().profile, grid=GRID, sizes="all").write(study)
    offer(street().profile, tmp_path / "offer.json", own=tmp_path / "own.json", study=study, **GIVEN)
    assert "our study" not in (tmp_path / "offer.json").read_text()
    assert "our study" in (tmp_path / "own.json").read_text()


def test_the_own_file_has_the_same_levels_and_exact_figures(tmp_path: Path) -> None:
    own = tmp_path / "offer-own.json"
    shown = offer(street().profile, tmp_path / "offer.json", own=own, **GIVEN).menu
    exact = Menu.read(own)
    assert [each.setting for each in exact.settings] == [each.setting for each in shown.settings]
    for each in exact.settings[:-1]:
        assert each.protection is not None
        assert each.protection.errors[200] == pytest.approx(total_error(street().profile, each.setting, 200), rel=1e-3)
    assert OWN in exact.provenance
    with refused("option.own"):
        leaflet(own, tmp_path / "x.html")
    leaflet(tmp_path / "offer.json", tmp_path / "x.html")
    assert len(calibration_notes(exact)) == 1


@pytest.mark.parametrize(
    "asked", [{"protect": "day", "high": 64}, {"protect": "whole-day", "within": "5%"}, {"protect": "home", "high": 64}]
)
def test_other_levels_follow_from_the_summary(asked: dict[str, Any]) -> None:
    """Levels by the guess or by the error, for readings and totals; bounds too, if they are not given."""
    found = offer(street().profile, levels=2, private=20, **asked).menu
    assert len(found.settings) == 3
    assert len(calibration_notes(found)) >= 2
    assert len(offer_rows(found)) == 4
    if asked["protect"] == "home":
        assert found.question is not None
        assert found.question.window == len(street().profile.periods)


def test_levels_are_not_chosen_by_figures_that_the_noise_covers() -> None:
    few = street().profile.subset(street().profile.labels[:20])
    with refused("option.noisy", "epsilon", "private"):
        offer(few, high=64, low=0, private=0.1)
    told = offer(few, **{**GIVEN, "private": 0.1}).menu
    why = told.provenance[CALIBRATION]["unknown"]
    assert any(why in each for each in offer_warnings(told))
    assert all(each.needed is None for each in told.settings)


def test_a_promise_about_all_readings_of_a_day_does_not_rest_on_a_noisy_number_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: dict[str, Any] = {**GIVEN, "private": 20, "protect": "day", "change": 0.5}
    monkeypatch.setattr("halfmask.menus.public_summary.INTERVAL_STANDS_OUT", math.inf)
    with refused("option.noisy", "window"):
        offer(street().profile, **asked)
    told = offer(street().profile, window=12, **asked).menu.question
    assert told is not None
    assert told.window == 12


def test_nothing_is_said_about_masked_readings_if_their_number_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Epsilon of a day's readings is nearly in proportion to their number."""

    def figures(private: float) -> tuple[Any, Any]:
        made = offer(street().profile, **{**GIVEN, "private": private}).menu.provenance["offer"]
        return made["curve"], made["closest"] and made["closest"]["readings"]

    assert all(each > 0 for each in figures(20))
    assert figures(1e-3) == (None, None), "of an unknown total"
    monkeypatch.setattr("halfmask.menus.public_summary.INTERVAL_STANDS_OUT", math.inf)
    assert figures(20) == (None, None)


def test_published_epsilons_are_rounded_up() -> None:
    menu = offer(street().profile, **{**GIVEN, "epsilon": "8,2.43"}).menu
    assert menu.provenance["offer"]["closest"]["epsilon"] == 2.5


def test_the_statement_says_why_errors_are_missing(tmp_path: Path) -> None:
    few = street().profile.subset(street().profile.labels[:20])
    asked = {**GIVEN, "private": 0.1}
    menu = offer(few, tmp_path / "offer.json", sign="A. Officer", until="2027-12-31", **asked).menu
    assert escape(menu.provenance[CALIBRATION]["unknown"][1:]) in (tmp_path / "offer-statement.html").read_text()


def test_nothing_spent_publishes_nothing() -> None:
    assert OWN in offer(street().profile, private=0, epsilon="8,2", low=0, high=64).menu.provenance
    with refused("option.range", "private"):
        halfmask.offer(street().profile, private=-1)
    with refused("option.own"):
        halfmask.offer(street().profile, private=0, own="x.json")
