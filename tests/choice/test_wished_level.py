"""Advice by wishes: the level whose promise and reward meet them, without any reading."""

import math
from dataclasses import replace

import pytest

from halfmask.choice.advice_table import wish_rows
from halfmask.choice.wished_level import wished_level
from halfmask.commands.recommend import Recommend, recommend
from halfmask.menus.menu import Menu, none_setting
from halfmask.menus.question import Question
from tests.pages.studies import menu_of
from tests.refusals import refused

TOTALS = {
    "L1": ("laplace:5@total", 0.3, 0.9),
    "L2": ("laplace:20@total", 0.6, 0.8),
    "S": ("laplace:40@split", 0.7, 0.9),
}


def offer() -> Menu:
    """An offer with epsilon 8, 2 and, split, 1 for a whole day up to 40."""
    made = menu_of(TOTALS)
    asked = Question(40.0, 1, unit="kWh", protect="whole-day", release="total", readings=48, high=40.0)
    return replace(made, settings=(*made.settings[:-1], none_setting("total")), question=asked)


@pytest.mark.parametrize(
    ("epsilon", "chosen", "meets"), [(8, "L1", True), (3, "L2", True), (1, "S", True), (0.5, "S", False)]
)
def test_the_lightest_level_that_keeps_the_wish(epsilon: float, chosen: str, meets: bool) -> None:
    found = wished_level(offer(), epsilon)
    assert (found.chosen.entry.id, found.chosen.meets) == (chosen, meets)
    for each, b in zip(found.levels, (5, 20, 40), strict=False):
        assert each.promise.epsilon == pytest.approx(40 / b)
        assert each.meets == (40 / b <= epsilon)
    assert not found.levels[-1].meets  # open promises nothing


def test_of_those_that_keep_it_the_one_that_pays_most() -> None:
    rewards = {"L1": 9.0, "L2": 2.0, "S": 3.0}
    assert wished_level(offer(), 2, rewards=rewards).chosen.entry.id == "S"
    assert wished_level(offer(), 8, rewards=rewards).chosen.entry.id == "L1"
    none = wished_level(offer(), 2, rewards=rewards, least_reward=5)
    assert not none.chosen.meets
    with refused("option.rewards", "reward"):
        wished_level(offer(), 2, least_reward=5)


def test_a_wish_about_another_unit_is_recomputed() -> None:
    day = wished_level(offer(), 2, protect="day", change=0.5)
    assert [each.promise.epsilon for each in day.levels[:3]] == pytest.approx([24 / b for b in (5, 20, 40)])
    reading = wished_level(offer(), 2, protect="reading", change=0.5)
    assert reading.levels[0].promise.epsilon == pytest.approx(0.1)
    month = wished_level(offer(), 2, protect="month")
    for each, b in zip(month.levels, (5, 20, 40), strict=False):
        assert each.promise.epsilon is not None
        assert 40 / b < each.promise.epsilon <= 30 * 40 / b
        loss = 40 / b  # composition of pure epsilons, Dwork, Rothblum and Vadhan
        assert each.promise.epsilon <= loss * math.sqrt(60 * math.log(1e6)) + 30 * loss * math.expm1(loss)


def test_wishes_that_cannot_be_are_refused() -> None:
    with refused("option.range", "epsilon"):
        wished_level(offer(), 0)
    with refused("option.missing", "change"):
        wished_level(offer(), 1, protect="day")
    with refused("option", "protect"):
        wished_level(offer(), 1, protect="home")
    with refused("option.offer", "menu"):
        wished_level(menu_of(TOTALS), 1)
    with refused("option.wish", "epsilon"):
        recommend(Recommend(menu=offer()))
    with refused("option.wish"):
        recommend(Recommend(menu=offer(), epsilon=1, privacy=0.4))


def test_the_table_says_against_whom_a_promise_holds() -> None:
    head, *rows = wish_rows(wished_level(offer(), 1))
    column = head.index("holds against")
    assert [row[column] for row in rows] == ["everyone", "everyone", "everyone but the two services together", "-"]
    assert [row[0] for row in rows] == ["", "", "take this", ""]
