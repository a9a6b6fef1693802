"""Menus of totals: choices and rewards are those of a panel whose readings are the totals."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from halfmask.choice.held_out_trial import evaluate_recommendations
from halfmask.choice.mix import mix
from halfmask.choice.requirements import assign
from halfmask.commands.recommend import Recommend, recommend
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.mechanisms.grid import grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu
from halfmask.menus.menu_table import menu_words
from halfmask.menus.optimize import optimize, protected
from halfmask.menus.question import Question
from halfmask.menus.refine import refine
from halfmask.menus.study_protection import StudyProtection
from halfmask.menus.total_error import total_errors
from halfmask.protection.best_guess import guess_error
from halfmask.protection.evidence import population_of
from halfmask.rewards.choice_model import ChoiceModel
from halfmask.rewards.reward_schedule import schedule
from tests.choice.cases import as_read
from tests.evaluation.direct_cases import Case, household
from tests.evaluation.test_totals import of_totals
from tests.refusals import refused

GRID = "laplace:b=0.05..8/0.05{0};gaussian:1{0};gaussian:3{0}"


@cache
def homes() -> Case:
    return household(users=30, days=12, step=2)


@cache
def days() -> Case:
    return of_totals(homes())


def menu_on(case: Case, ending: str) -> Menu:
    study = evaluate_grid(
        case.profile, grid(GRID.format(ending)), Experiment.on(case.profile, sizes="10,20,all", repeats=5)
    )
    return optimize(as_read(study), max_mean=0.5, max_std=0.5, omega=0.2).menu


@cache
def of_readings() -> Menu:
    return menu_on(days(), "")


@cache
def of_days() -> Menu:
    return menu_on(homes(), "@total")


def test_a_menu_of_totals_is_that_of_the_totals_as_readings() -> None:
    assert (of_days().release, of_readings().release) == ("total", "reading")
    assert str(of_days()["N"].setting) == "none@total"
    laws = [str(each.setting.released("reading")) for each in of_days().settings]
    assert laws == [str(each.setting) for each in of_readings().settings]
    assert len(laws) > 3
    of_days().check_data(homes().profile)


def test_a_menu_that_mixes_readings_and_totals_cannot_be_evaluated() -> None:
    first = of_days().settings[0]
    mixed = of_days().with_setting(replace(first, setting=PrivacySetting.parse("laplace:1")))
    with refused("setting.release"):
        mix(homes().profile, mixed, repeats=1)


def test_mixes_are_those_of_the_totals() -> None:
    mine, theirs = (
        mix(case.profile, menu, step=0.25, repeats=2).table
        for case, menu in ((homes(), of_days()), (days(), of_readings()))
    )
    for name in ("privacy", "utility"):
        assert np.array(mine[name]) == pytest.approx(np.array(theirs[name]), abs=1e-9)
    readings = mix(homes().profile, of_readings(), step=0.25, repeats=2, other_data=True).table
    assert np.abs(np.array(readings["utility"]) - np.array(mine["utility"])).max() > 0.02  # a draw a reading errs more


def test_assignments_and_rewards_are_those_of_the_totals() -> None:
    pairs = ((homes(), of_days()), (days(), of_readings()))
    id = of_days().ids[0]
    deltas = {str(label): 0.2 for label in homes().profile.labels[:5]}
    mine, theirs = (assign(case.profile, menu, id, deltas, c=-1, repeats=2) for case, menu in pairs)
    assert (mine.privacy, mine.utility) == pytest.approx((theirs.privacy, theirs.utility), abs=1e-9)
    model = ChoiceModel(-1.0, 3.0, 0.6)
    one, two = (schedule(menu, case.profile, model, "budget", 20.0) for case, menu in pairs)
    assert one.honest.rewards == pytest.approx(two.honest.rewards)
    assert one.honest.within == pytest.approx(two.honest.within)


def test_refined_menus_and_trials_are_of_totals_too() -> None:
    refined = refine(of_days(), homes().profile, evaluations=20)
    assert refined.menu.release == "total"
    mine, theirs = (
        evaluate_recommendations(case.profile, menu, min_privacy=0.3, readings=(10,))
        for case, menu in ((homes(), of_days()), (days(), of_readings()))
    )
    assert mine[0].met == theirs[0].met


def test_advice_from_readings_is_refused() -> None:
    with refused("option.release", "menu"):
        recommend(Recommend([0.1] * 48, menu=of_days(), profile=homes().profile, privacy=0.3))


def test_protection_on_a_menu_of_totals_is_of_totals() -> None:
    """A change of 1 in each of a day's 12 readings changes the day's total by 12: epsilon is 12 / b, in one report."""
    question = Question(1.0, 12, unit="kW", step=None)
    menu = protected(of_days(), homes().profile, question)
    people = population_of(days().profile)
    for each in menu.settings[:-1]:
        found = each.protection
        assert found is not None
        if each.setting.mechanism == "laplace":
            assert (found.reading, found.window) == pytest.approx((12 / each.setting.parameters[0],) * 2)
        assert found.guess == pytest.approx(guess_error(each.setting, people, None), abs=0.02)
        assert found.errors == pytest.approx(
            total_errors(days().profile, each.setting.released("reading")), rel=1e-6
        )  # fmt: skip
    rows = [setting.setting for setting in menu.settings[:-1]]
    facts = StudyProtection(rows, np.ones(len(rows), bool), homes().profile, question)
    assert facts.epsilon[0] == pytest.approx(menu.settings[0].protection.window)  # type: ignore[union-attr]
    words = menu_words(of_days(), homes().profile)
    assert words[0].reading == pytest.approx(menu_words(of_readings(), days().profile)[0].reading)
