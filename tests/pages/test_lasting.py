"""How long promises last: the figure's numbers are the offer's own, and Laplace noise's where they are known."""

import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from halfmask.figures.lasting_promises import LastingPromises, lasting_caption, lasting_data, lasting_plot
from halfmask.figures.results_folder import read_inputs
from halfmask.menus.menu import Menu
from halfmask.menus.question import reports_a_day
from tests.said import incomplete, named


@pytest.fixture(scope="module")
def offer(made: Path) -> Menu:
    found = read_inputs(made)
    assert found.offer is not None
    assert found.profile is not None
    assert reports_a_day(found.profile) == 48
    return found.offer


@pytest.fixture(scope="module")
def data(offer: Menu) -> LastingPromises:
    found = lasting_data(offer, 48)
    assert found is not None
    return found


def test_one_reading_and_the_window_are_those_of_the_offer(data: LastingPromises, offer: Menu) -> None:
    assert len(data.promises) == len(offer.settings) - 1
    for each, kept in zip(offer.settings, data.promises.values(), strict=False):
        at = {one.readings: one for one in kept}
        assert each.protection is not None
        assert at[1].epsilon == pytest.approx(each.protection.reading)
        assert at[data.question.window].epsilon == pytest.approx(each.protection.window)


def test_odds_of_one_reading_are_those_of_laplace_noise(data: LastingPromises, offer: Menu) -> None:
    """Right with probability 1 - exp(-d/2b)/2: the lattice's step is small beside the noise."""
    for each, kept in zip(offer.settings, data.promises.values(), strict=False):
        b, change = each.setting.parameters[0], data.question.change
        assert kept[0].odds == pytest.approx(1 - math.exp(-change / (2 * b)) / 2, abs=0.01)
        assert kept[0].odds != pytest.approx(1 - math.exp(-change / (2 * 1.3 * b)) / 2, abs=0.01)


def test_promises_weaken_with_every_reading_and_no_faster_than_in_proportion(data: LastingPromises) -> None:
    for kept in data.promises.values():
        assert all(later.odds >= one.odds - 1e-9 for one, later in pairwise(kept))  # bounds near 1 are rounded
        assert all(0.5 < one.odds <= 1 for one in kept)
        for one in kept:
            assert one.epsilon is not None
            assert kept[0].epsilon is not None
            assert one.epsilon <= kept[0].epsilon * one.readings * 1.001


def test_the_figure_has_the_promises_numbers(data: LastingPromises) -> None:
    epsilons, odds = (each.marks for each in lasting_plot(data).subplots)
    for kept, left, right in zip(data.promises.values(), epsilons, odds, strict=True):
        assert left.x == right.x == [one.readings for one in kept]
        assert left.y == [one.epsilon for one in kept]
        assert right.y == [100 * one.odds for one in kept]


def test_the_caption_names_all_that_an_epsilon_is_about(data: LastingPromises) -> None:
    told = lasting_caption(data)
    assert named([told])
    assert incomplete([told]) == []
    level = min(data.promises, key=lambda name: data.promises[name][0].odds)
    last = data.longest(level)
    assert last is not None
    assert f"{level}, the strongest, keeps {last.named()}" in told
    assert re.search(rf"after {data.promises[level][-1].readings:,} readings", told)


def test_of_totals_a_month_has_the_offers_epsilon_of_30_days(offer: Menu) -> None:
    assert offer.question is not None
    asked = replace(offer.question, protect="whole-day", release="total", window=1, low=0, high=40, change=40)
    found = lasting_data(type(offer)(**{**vars(offer), "question": asked}), 48)
    assert found is not None
    assert found.marks == {1: "day", 7: "week", 30: "month", 365: "year"}
    for each, kept in zip(offer.settings, found.promises.values(), strict=False):
        assert next(one for one in kept if one.readings == 30).epsilon == asked.month().epsilon(each.setting)


def test_without_an_offer_there_is_none(offer: Menu) -> None:
    assert lasting_data(None, 48) is None
    assert lasting_data(type(offer)(**{**vars(offer), "question": None}), 48) is None
