"""The closed form is the best of many numerical searches; budgets and targets are met; the bound holds."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from halfmask.errors import OptionError
from halfmask.rewards.model import ChoiceModel
from halfmask.rewards.optimum import at_price, reaching, within_budget
from halfmask.rewards.totals import Panel, best_error, cheapest, curve

PRIVACY = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
BENEFIT = np.array([1.0, 0.9, 0.6, 0.3, 0.1])
PANEL = Panel(1000, 48, 0.6, np.array([0.01, 0.2, 1.0, 5.0, 20.0]))
ALIKE = ChoiceModel(-2.0, 3.0, 0.8)
DIFFERENT = ChoiceModel(-2.0, 3.0, 0.8, spread=2.0)


def searched(model: ChoiceModel, benefit: np.ndarray, price: float, starts: int = 20) -> float:
    """The best value that SLSQP finds from many starts."""
    people = model.population(PRIVACY)
    rng = np.random.default_rng(5)

    def loss(paid: np.ndarray) -> float:
        return -float(people.shares(paid) @ (price * benefit - paid))

    bounds = [(0, None)] * len(benefit)
    options = {"ftol": 1e-15, "maxiter": 2000}
    found = [minimize(loss, rng.random(5) * price, bounds=bounds, options=options) for _ in range(starts)]
    return -min(each.fun for each in found)


@pytest.mark.parametrize("price", [0.3, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("benefit", [BENEFIT, BENEFIT - 0.5], ids=["all useful", "some harm"])
def test_the_closed_form_is_the_best_of_many_searches(price: float, benefit: np.ndarray) -> None:
    found = at_price(ALIKE.population(PRIVACY), benefit, price)
    assert found.value == pytest.approx(searched(ALIKE, benefit, price), rel=1e-6, abs=1e-9)
    assert found.gap < 1e-9


@pytest.mark.parametrize("price", [2.0, 10.0])
def test_producers_who_differ_have_a_bound_that_no_schedule_passes(price: float) -> None:
    found = at_price(DIFFERENT.population(PRIVACY), BENEFIT, price)
    best = searched(DIFFERENT, BENEFIT, price)
    assert found.value >= best - 1e-6 * abs(best)
    assert best <= found.bound
    assert found.gap < 0.25 * found.value


def test_a_budget_is_kept_and_used() -> None:
    found = within_budget(ALIKE.population(PRIVACY), BENEFIT, 0.5)
    assert found.cost == pytest.approx(0.5, rel=1e-6)
    assert found.cost <= 0.5
    other = within_budget(ALIKE.population(PRIVACY), BENEFIT, 0.6)
    assert other.benefit > found.benefit
    assert other.price > found.price


def test_the_price_is_the_slope_of_the_budget_curve() -> None:
    people = ALIKE.population(PRIVACY)
    less, at, more = (within_budget(people, BENEFIT, b) for b in (0.499, 0.5, 0.501))
    assert 1 / at.price == pytest.approx((more.benefit - less.benefit) / 0.002, rel=1e-3)


def test_a_target_is_reached_at_least_cost_or_said_to_be_out_of_reach() -> None:
    people = ALIKE.population(PRIVACY)
    found = reaching(people, BENEFIT, 0.5)
    assert found.benefit == pytest.approx(0.5, rel=1e-6)
    assert within_budget(people, BENEFIT, 0.99 * found.cost).benefit < 0.5
    with pytest.raises(OptionError, match="no reward reaches"):
        reaching(people, BENEFIT, 1.5)


def test_the_error_of_a_total_is_the_least_of_a_direct_search() -> None:
    """Relative error with free participation is not concave; the scan over participation finds what a search does."""
    people = ALIKE.population(PRIVACY)
    found = best_error(PANEL, people, 0.5)
    rng = np.random.default_rng(2)
    spent = {"type": "ineq", "fun": lambda r: 0.5 - float(people.shares(r) @ r)}
    tried = [
        minimize(
            lambda r: np.log(PANEL.error(people.shares(r))),
            rng.random(5) * 3,
            bounds=[(0, 20)] * 5,
            constraints=spent,
            options={"maxiter": 1000, "ftol": 1e-14},
        )
        for _ in range(30)
    ]
    best = min(np.exp(each.fun) for each in tried if each.success and people.shares(each.x) @ each.x <= 0.5 + 1e-6)
    assert found.optimum.cost <= 0.5
    assert found.error <= best * (1 + 1e-4)


def test_the_cheapest_schedule_for_an_error_meets_it_and_less_money_does_not() -> None:
    people = ALIKE.population(PRIVACY)
    target = 0.5 * (best_error(PANEL, people, 0.0).error + best_error(PANEL, people, 2.0).error)
    found = cheapest(PANEL, people, target)
    assert found.error <= target
    assert best_error(PANEL, people, 0.97 * found.optimum.cost).error > target
    with pytest.raises(OptionError, match="no reward brings"):
        cheapest(PANEL, people, 1e-9)


def test_more_money_never_buys_a_worse_total() -> None:
    points = curve(PANEL, ALIKE.population(PRIVACY), points=8)
    errors = [each.error for each in points]
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(errors))
    assert points[0].optimum.cost == pytest.approx(0, abs=1e-6)


def test_an_uncertain_model_pays_for_its_uncertainty() -> None:
    covariance = np.diag([0.3, 0.5, 0.05, 0.0]).tolist()
    unsure = ChoiceModel(-2.0, 3.0, 0.8, 0.0, tuple(map(tuple, covariance)))
    people = unsure.draws(PRIVACY, 200, np.random.default_rng(1))
    assert people.weight.sum() == pytest.approx(1)
    found = within_budget(people, BENEFIT, 0.5)
    certain = within_budget(ALIKE.population(PRIVACY), BENEFIT, 0.5)
    assert people.shares(certain.rewards) @ certain.rewards != pytest.approx(0.5, rel=1e-3)
    assert found.cost == pytest.approx(0.5, rel=1e-3)
