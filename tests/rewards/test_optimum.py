"""The closed form is the best of many numerical searches; budgets and targets are met; the bound holds."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from halfmask.arrays import FloatArray
from halfmask.rewards.asked_panel import (
    AskedPanel,
    Point,
    apart_within,
    budgets_of_curve,
    cost_apart,
    costliest,
    least_error,
    own_rewards,
    point,
    scanned,
)
from halfmask.rewards.choice_model import ChoiceModel
from halfmask.rewards.honest_prices import arbitrage, least_ratios, meets_ratios, repaired
from halfmask.rewards.reward_search import Problem, best, in_whole_units
from tests.refusals import refused

PRIVACY = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
BENEFIT = np.array([1.0, 0.9, 0.6, 0.3, 0.1])
PANEL = AskedPanel(1000, 48, 0.6, np.array([0.01, 0.2, 1.0, 5.0, 20.0]))
INFORMATION = 1 / PANEL.variance
RATIOS = least_ratios(INFORMATION, INFORMATION)
ALIKE = ChoiceModel(-2.0, 3.0, 0.8).population(PRIVACY)
DIFFERENT = ChoiceModel(-2.0, 3.0, 0.8, spread=2.0).population(PRIVACY)


def searched(benefit: np.ndarray, price: float, starts: int = 12) -> float:
    """The best value that SLSQP finds from many starts."""
    rng = np.random.default_rng(5)

    def loss(paid: np.ndarray) -> float:
        return -float(ALIKE.shares(paid) @ (price * benefit - paid))

    bounds = [(0, None)] * len(benefit)
    options = {"ftol": 1e-15, "maxiter": 2000}
    found = [
        minimize(loss, rng.random(5) * price, method="SLSQP", bounds=bounds, options=options) for _ in range(starts)
    ]
    return -float(min(each.fun for each in found))


@pytest.mark.parametrize("price", [0.3, 2.0, 5.0, 20.0, 200.0])
@pytest.mark.parametrize("benefit", [BENEFIT, BENEFIT - 0.5, BENEFIT[::-1]], ids=["useful", "some harm", "turned"])
def test_the_closed_form_is_the_best_of_many_searches(price: float, benefit: np.ndarray) -> None:
    (paid,), (level,) = own_rewards(ALIKE, price * benefit)
    value = float(ALIKE.shares(paid) @ (price * benefit - paid))
    assert value == pytest.approx(searched(benefit, price), rel=1e-6, abs=1e-9)
    assert value == pytest.approx(level, rel=1e-10)
    other = paid.copy()
    other[0] += 0.1
    assert ALIKE.shares(other) @ (price * benefit - other) < value


def test_rewards_obey_the_first_order_conditions() -> None:
    """r_k = max(0, lambda b_k - 1/beta - L), L = sum p_k (lambda b_k - r_k), as they stand in the docs."""
    (paid,), _ = own_rewards(ALIKE, 5 * BENEFIT)
    level = float(ALIKE.shares(paid) @ (5 * BENEFIT - paid))
    assert np.allclose(paid, np.maximum(0.0, 5 * BENEFIT - 1 / 0.8 - level), atol=1e-10)
    assert (paid == 0).any()
    assert (paid > 0).any()


def test_a_budget_is_kept_and_used_and_its_price_is_the_slope_of_what_it_buys() -> None:
    budgets = np.array([0.499, 0.5, 0.501])
    paid, bound = apart_within(ALIKE, np.tile(BENEFIT, (3, 1)), budgets)
    cost = cost_apart(ALIKE, paid)
    assert (cost <= budgets).all()
    assert np.allclose(cost, budgets, rtol=1e-9)
    less, at, more = (float(ALIKE.shares(each[0]) @ BENEFIT) for each in paid)
    assert bound[1] == pytest.approx(at, rel=1e-9)
    k = int(paid[1, 0].argmax())
    price = (paid[1, 0, k] + 1 / 0.8 - cost[1]) / (BENEFIT[k] - at)  # from the first-order condition
    assert 1 / price == pytest.approx((more - less) / 0.002, rel=1e-3)


def direct(problem: Problem, starts: int = 5) -> float:
    """The least error within the problem's budget that a search without slopes finds from random starts."""
    rng = np.random.default_rng(2)
    people, budget = problem.people, float(problem.budget or 0.0)
    demands = [{"type": "ineq", "fun": lambda r: budget - float(people.shares(r) @ r)}]
    if problem.least_privacy is not None:
        above = problem.privacy - problem.least_privacy
        demands.append({"type": "ineq", "fun": lambda r: float(people.shares(r) @ above)})
    if problem.ratios is not None:
        demands.append({"type": "ineq", "fun": lambda r: problem.honesty @ r})
    best_found = np.inf
    for _ in range(starts):
        each = minimize(
            lambda r: np.log(PANEL.error(people.shares(np.maximum(r, 0)))), rng.random(5) * 3, method="SLSQP",
            bounds=[(0, 20)] * 5, constraints=demands, options={"maxiter": 500, "ftol": 1e-12},
        )  # fmt: skip
        at = point(PANEL, people, np.maximum(each.x, 0.0))
        if at.cost <= budget * (1 + 1e-6) and all(np.min(d["fun"](each.x)) >= -1e-7 for d in demands[1:]):
            best_found = min(best_found, at.error)
    return best_found


@pytest.mark.parametrize("people", [ALIKE, DIFFERENT], ids=["alike", "different"])
@pytest.mark.parametrize("honest", [False, True], ids=["free", "honest"])
@pytest.mark.parametrize("privacy", [None, 0.7], ids=["any privacy", "privacy kept"])
def test_no_search_finds_a_better_total_for_the_money(people: object, honest: bool, privacy: float | None) -> None:
    """Relative error with free participation is not concave: the scan over participation finds what searches do."""
    ratios = RATIOS if honest else None
    problem = Problem(PANEL, people, PRIVACY, 0.5, None, privacy, ratios)  # type: ignore[arg-type]
    found = best(problem)
    assert found.cost <= 0.5
    assert found.error <= direct(problem) * (1 + 1e-5)
    if privacy is not None:
        assert found.shares @ PRIVACY / found.shares.sum() >= privacy
        assert found.error > best(Problem(PANEL, people, PRIVACY, 0.5)).error  # type: ignore[arg-type]
    if honest:
        assert arbitrage(found.rewards, INFORMATION, INFORMATION) == []


def test_the_bound_is_reached_where_all_are_alike_and_passed_by_no_rewards_where_they_differ() -> None:
    rng = np.random.default_rng(4)
    for people, least, most in ((ALIKE, 0.0, 1e-6), (DIFFERENT, 1e-6, 0.1)):
        found = best(Problem(PANEL, people, PRIVACY, 0.5))
        bound = least_error(PANEL, people, found)
        assert least <= found.error / bound - 1 <= most + 1e-12
        for rewards in rng.exponential(1.0, (300, 5)):
            at = point(PANEL, people, rewards)
            if at.cost <= 0.5:
                assert at.error >= bound


def test_the_cheapest_schedule_for_an_error_meets_it_and_less_money_does_not() -> None:
    middle = 0.5 * sum(best(Problem(PANEL, ALIKE, PRIVACY, budget)).error for budget in (0.0, 2.0))
    for ratios in (None, RATIOS):
        found = best(Problem(PANEL, ALIKE, PRIVACY, None, middle, None, ratios))
        assert found.error <= middle * (1 + 1e-9)
        less = Problem(PANEL, ALIKE, PRIVACY, 0.98 * found.cost, None, None, ratios)
        assert best(less).error > middle
    with refused("option.reach"):
        best(Problem(PANEL, ALIKE, PRIVACY, None, 1e-9))


def test_a_privacy_that_no_money_buys_is_refused() -> None:
    with refused("option.reach"):
        best(Problem(PANEL, ALIKE, PRIVACY, 0.5, None, 0.95))
    with refused("option.reach"):
        best(Problem(PANEL, ALIKE, PRIVACY, 0.5, None, 0.95, RATIOS))


def test_more_money_never_buys_a_worse_total() -> None:
    budgets = budgets_of_curve(PANEL, ALIKE, 8)
    points = [point(PANEL, ALIKE, each) for each in scanned(PANEL, ALIKE, budgets)]
    assert all(later.error <= earlier.error * (1 + 1e-9) for earlier, later in pairwise(points))
    assert points[0].cost == pytest.approx(0, abs=1e-6)
    assert points[-1].error <= points[0].error - 0.99 * (points[0].error - costliest(PANEL, ALIKE).error)


def monotone(most: int, settings: int) -> list[FloatArray]:
    """All schedules of whole rewards up to ``most`` that do not fall with information (here: in the given order)."""
    made = [np.zeros(0)]
    for _ in range(settings):
        made = [np.append(each, r) for each in made for r in range(int(each[-1]) + 1 if len(each) else most + 1)]
    return made


@pytest.mark.parametrize("budget", [0.4, 1.5])
def test_whole_rewards_are_honest_and_the_best_of_all_that_are(budget: float) -> None:
    problem = Problem(PANEL, ALIKE, PRIVACY, budget, None, None, RATIOS)
    found = in_whole_units(problem, best(problem))
    assert found is not None
    assert (found.rewards == np.rint(found.rewards)).all()
    assert found.cost <= budget
    assert meets_ratios(found.rewards, RATIOS)
    allowed = [point(PANEL, ALIKE, each) for each in monotone(8, 5) if meets_ratios(each, RATIOS)]
    assert found.error <= min(at.error for at in allowed if at.cost <= budget) * (1 + 1e-12)


def test_whole_rewards_for_one_setting_alone_are_found() -> None:
    """Far from every rounding of the best rewards, which pay all settings."""
    privacy, variance = np.array([0.1, 0.2, 0.4, 0.6, 0.8, 0.0]), np.array([1e-5, 0.003, 0.64, 7.8, 25, 0])
    panel, people = AskedPanel(299, 42.8, 0.62, variance), ChoiceModel(-1.0, 3.0, 0.6).population(privacy)
    held = np.append(1 / variance[:-1], np.inf)
    problem = Problem(panel, people, privacy, 1.2, None, None, least_ratios(held, held))
    found = in_whole_units(problem, best(problem))
    assert found is not None
    assert found.rewards.tolist() == [0, 0, 0, 0, 0, 4]
    assert found.error < 0.92 * point(panel, people, np.array([1.0, 1, 1, 1, 1, 3])).error, "where steps by one end"


def test_whole_rewards_for_an_error_meet_it() -> None:
    free = best(Problem(PANEL, ALIKE, PRIVACY, 0.7))
    problem = Problem(PANEL, ALIKE, PRIVACY, None, free.error, None, RATIOS)
    found = in_whole_units(problem, best(problem))
    assert found is not None
    assert found.error <= free.error * (1 + 1e-9)


def test_honesty_costs_something_and_repair_alone_costs_more() -> None:
    free = best(Problem(PANEL, ALIKE, PRIVACY, 0.5))
    assert arbitrage(free.rewards, INFORMATION, INFORMATION) != []
    honest = best(Problem(PANEL, ALIKE, PRIVACY, 0.5, None, None, RATIOS), [free.rewards])
    assert honest.error > free.error
    mended: Point = point(PANEL, ALIKE, repaired(free.rewards, RATIOS))
    assert mended.cost > 0.5  # what is repaired upwards spends more, so it is optimised again
    shrunk = [point(PANEL, ALIKE, share * mended.rewards) for share in np.linspace(0, 1, 200)]
    assert honest.error <= min(at.error for at in shrunk if at.cost <= 0.5)


def test_an_uncertain_model_pays_for_its_uncertainty() -> None:
    covariance = np.diag([0.3, 0.5, 0.05, 0.0]).tolist()
    unsure = ChoiceModel(-2.0, 3.0, 0.8, 0.0, tuple(map(tuple, covariance)))
    people = unsure.draws(PRIVACY, 200, np.random.default_rng(1))
    assert people.weight.sum() == pytest.approx(1)
    certain = best(Problem(PANEL, ALIKE, PRIVACY, 0.5))
    assert point(PANEL, people, certain.rewards).cost != pytest.approx(0.5, rel=1e-3)
    found = best(Problem(PANEL, people, PRIVACY, 0.5))
    assert found.cost == pytest.approx(0.5, rel=1e-6)


def test_what_is_not_paid_is_paid_nothing_and_not_what_rounding_leaves() -> None:
    found = best(Problem(PANEL, ALIKE, PRIVACY, 0.5, None, 0.7))
    assert ((found.rewards == 0) | (found.rewards > 1e-6)).all()
    assert (found.rewards == 0).any()


SPLIT = AskedPanel(1000, 1, 10.0, np.array([0.0, 100.0, 400.0, 1600.0, 0.0]), np.array([0.0, 0, 0, 0, 2 * 3200.0]))
"""Open, three plain levels, and a split one whose two draws are added once."""


def test_the_error_of_a_total_with_a_split_part_is_that_of_all_draws() -> None:
    shares, rng = np.array([0.1, 0.05, 0.05, 0.1, 0.2]), np.random.default_rng(3)
    count = (1000 * shares).round().astype(int)
    plain = zip(SPLIT.variance, count, strict=True)
    noise = sum(rng.laplace(0, np.sqrt(v / 2), (20_000, n)).sum(axis=1) for v, n in plain)
    total = noise + rng.laplace(0, 40, (20_000, 2)).sum(axis=1)
    assert SPLIT.error(shares) == pytest.approx(float(total.std()) / (10 * count.sum()), rel=0.03)
    nobody = np.array([0.1, 0.05, 0.05, 0.1, 0.0])
    assert SPLIT.error(nobody) ** 2 * 0.3**2 < SPLIT.error(shares) ** 2 * 0.5**2
    wanted = SPLIT.error(shares) / 2
    more = replace(SPLIT, producers=round(SPLIT.producers_for(wanted, shares)))
    assert more.error(shares) == pytest.approx(wanted, rel=2e-3)


def test_a_split_report_is_worth_as_much_as_an_open_one() -> None:
    information = np.array([np.inf, 0.01, 0.0025, 0.000625, 0.0])
    ratios = least_ratios(information, information)
    assert (ratios[4, :4] == 0).all()
    assert (ratios[:4, 4] == 0).all()
    people = ChoiceModel(-2.0, 3.0, 0.8).population(PRIVACY)
    with_split = best(Problem(SPLIT, people, PRIVACY, budget=0.3))
    assert with_split.rewards[4] == pytest.approx(with_split.rewards[0], rel=1e-3)
    assert with_split.rewards[4] > 2 * with_split.rewards[1:4].max()
    tried = [point(SPLIT, people, each) for each in np.random.default_rng(2).random((4000, 5))]
    near = [each.error for each in tried if 0.29 < each.cost <= 0.3]
    assert len(near) > 20
    assert min(near) >= with_split.error
    assert with_split.error >= least_error(SPLIT, people, with_split) * (1 - 1e-9)
    plain = replace(SPLIT, variance=np.append(SPLIT.variance[:4], 6400.0), split=0.0)
    without = best(Problem(plain, people, PRIVACY, budget=0.3))
    assert without.rewards[4] < without.rewards[:4].max()
    assert without.error > with_split.error
