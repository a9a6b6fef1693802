"""Truth is best for every bidder, nobody loses, bounds and budgets are kept."""

import numpy as np
import pytest
from scipy.optimize import linprog

from halfmask.errors import OptionError
from halfmask.rewards.auction import Purchase, least_cost, within_budget
from tests.refusals import refused

VARIANCES = np.array([0.01, 0.2, 1.0])
UNASKED = 4.0


def bids(producers: int, seed: int) -> np.ndarray:
    """Costs that fall with noise, a producer a row."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.exponential(1.0, (producers, 3)), axis=1)[:, ::-1] * rng.uniform(0.2, 3, (producers, 1))


def gain(purchase: Purchase, n: int, true: np.ndarray) -> float:
    """What bidder n has in the end: payment less its true cost."""
    return float(purchase.payments[n] - purchase.lottery[n, 1:] @ true)


@pytest.mark.parametrize("seed", range(4))
def test_the_purchase_is_the_linear_program_s(seed: int) -> None:
    costs = bids(12, seed)
    bound = 14.0
    full = np.concatenate([[UNASKED], VARIANCES])
    price = np.column_stack([np.zeros(12), costs]).ravel()
    one = np.kron(np.eye(12), np.ones(4))
    oracle = linprog(price, A_ub=np.tile(full, 12)[None], b_ub=[bound], A_eq=one, b_eq=np.ones(12))
    found = least_cost(costs, VARIANCES, UNASKED, bound)
    assert found.costs.sum() == pytest.approx(oracle.fun)
    assert found.variance <= bound * (1 + 1e-9)
    assert (((found.lottery > 1e-9) & (found.lottery < 1 - 1e-9)).any(axis=1)).sum() <= 1


@pytest.mark.parametrize("seed", range(4))
def test_no_bidder_gains_by_lying_and_nobody_loses(seed: int) -> None:
    costs = bids(10, seed)
    rng = np.random.default_rng(100 + seed)
    honest = least_cost(costs, VARIANCES, UNASKED, 15.0)
    for n in range(10):
        told = gain(honest, n, costs[n])
        assert told >= -1e-9
        for factor in (0.0, 0.3, 0.7, 1.2, 2.0, 10.0):
            for lie in (costs[n] * factor, costs[n] * rng.uniform(0, 2, 3)):
                other = costs.copy()
                other[n] = lie
                assert gain(least_cost(other, VARIANCES, UNASKED, 15.0), n, costs[n]) <= told + 1e-9


def test_paying_what_was_asked_would_invite_lies() -> None:
    """The check above can fail: under first-price payments some bidder gains by asking for more."""
    costs = bids(10, 0)
    honest = least_cost(costs, VARIANCES, UNASKED, 15.0)
    sellers = np.flatnonzero(honest.costs > 0)
    gains = []
    for n in sellers:
        other = costs.copy()
        other[n] = 1.2 * costs[n]
        bought = least_cost(other, VARIANCES, UNASKED, 15.0)
        gains.append(float(bought.costs[n] - bought.lottery[n, 1:] @ costs[n]))
    assert max(gains) > 1e-6


def test_a_bound_that_cannot_be_met_is_said_to_be_so() -> None:
    with refused("option.bound"):
        least_cost(bids(5, 1), VARIANCES, UNASKED, 0.01)
    with refused("option.needed"):
        least_cost(bids(5, 1), VARIANCES, UNASKED, 0.06)


@pytest.mark.parametrize("seed", range(6))
def test_within_a_budget_no_bidder_gains_by_lying_nobody_loses_and_the_budget_is_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.exponential(10, 20)
    honest = within_budget(costs, 5.0)
    assert len(honest.bought) * honest.payment <= 5.0 * (1 + 1e-12)
    for n in range(20):
        told = honest.payment - honest.epsilon * costs[n] if n in honest.bought else 0.0
        assert told >= -1e-12
        for lie in (0.0, 0.5 * costs[n], 0.9 * costs[n], 1.1 * costs[n], 2 * costs[n], 50.0):
            other = costs.copy()
            other[n] = lie
            found = within_budget(other, 5.0)
            got = found.payment - found.epsilon * costs[n] if n in found.bought else 0.0
            assert got <= told + 1e-9


class Odd:
    """Sets of bids as an adversary would choose them: ties, zeros, duplicates, one setting, huge and tiny money."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        producers, settings = int(rng.integers(2, 7)), int(rng.integers(1, 4))
        self.variances = np.round(rng.uniform(0, UNASKED, settings), int(rng.integers(0, 3)))
        tied = rng.choice([0, 0, 0.5, 1, 1, 2, 3, 1e6], (producers, settings))
        plain = tied if seed % 2 else rng.exponential(1, (producers, settings))
        self.costs = plain * 10.0 ** int(rng.integers(-12, 13))
        self.bound = float(rng.uniform(0.3, 1.1)) * producers * UNASKED
        self.rng, self.money = rng, float(max(self.costs.max(), 1e-300))

    def bought(self, costs: np.ndarray) -> Purchase:
        return least_cost(costs, self.variances, UNASKED, self.bound)

    def lies(self, n: int) -> list[np.ndarray]:
        """Other costs for all settings at once: scaled one by one, all of another bidder's, all equal, all nothing."""
        scaled = self.costs[n] * self.rng.choice([0, 0.5, 1 - 1e-9, 1, 1 + 1e-9, 2, 1e6], len(self.variances))
        other = self.costs[int(self.rng.integers(len(self.costs)))]
        return [scaled, other, np.full(len(self.variances), self.costs.mean()), np.zeros(len(self.variances))]


def odd_markets(count: int) -> list[tuple[Odd, Purchase]]:
    """Those of the odd sets of bids that can be bought from, with what is bought."""
    found = []
    for seed in range(count):
        market = Odd(seed)
        try:
            found.append((market, market.bought(market.costs)))
        except OptionError:  # somebody cannot be done without under this bound
            continue
    assert len(found) > count / 3
    return found


def test_odd_bids_leave_truth_the_best_and_at_most_one_lottery() -> None:
    for market, honest in odd_markets(60):
        assert (((honest.lottery > 1e-9) & (honest.lottery < 1 - 1e-9)).any(axis=1)).sum() <= 1
        assert honest.variance <= market.bound * (1 + 1e-9)
        for n in range(len(market.costs)):
            told = gain(honest, n, market.costs[n])
            assert told >= 0  # exactly: nobody ever loses a cent by rounding
            for lie in market.lies(n):
                other = market.costs.copy()
                other[n] = lie
                assert gain(market.bought(other), n, market.costs[n]) <= told + 1e-12 * market.money


def test_who_asks_for_less_sells_no_less_and_two_who_bid_alike_gain_alike() -> None:
    for market, honest in odd_markets(40):
        full = np.concatenate([[UNASKED], market.variances])
        for n in range(len(market.costs)):
            cheaper = market.costs.copy()
            cheaper[n] *= 0.5
            assert market.bought(cheaper).lottery[n] @ full <= honest.lottery[n] @ full + 1e-9
        twin = market.costs.copy()
        twin[1] = twin[0]
        both = market.bought(twin)
        assert gain(both, 0, twin[0]) == pytest.approx(gain(both, 1, twin[0]), abs=1e-9 * market.money)


def test_whoever_has_a_lottery_loses_under_neither_draw() -> None:
    seen = 0
    for _, honest in odd_markets(40):
        surplus = honest.payments - honest.costs
        assert (surplus >= 0).all()  # stated cost of what is drawn + surplus - that cost
        seen += int(((honest.lottery > 1e-9) & (honest.lottery < 1 - 1e-9)).any(axis=1).any())
    assert seen


def test_a_few_large_costs_do_not_blur_what_small_bidders_are_paid() -> None:
    """Payments are differences of totals; the total here is 1e15 times what the marginal bidders ask."""
    costs = np.array([[1e15], [1e15], [1.0], [2.0], [3.0]])
    found = least_cost(costs, np.array([0.0]), 1.0, 3.0)
    assert found.payments.tolist() == [0, 0, 3, 3, 0]


@pytest.mark.parametrize(
    ("costs", "variances", "unasked", "bound", "code"),
    [
        ([[1.0]], [1.0], 4.0, np.nan, "option.bound"),
        ([[1.0]], [1.0], np.inf, 1.0, "option.variance"),
        ([[1.0]], [1.0], 0.0, 1.0, "option.variance"),
        ([[np.inf]], [1.0], 4.0, 2.0, "option.cost"),
        ([[1e200]], [1.0], 4.0, 2.0, "option.cost"),
        ([[-1.0]], [1.0], 4.0, 2.0, "option.cost"),
        ([[1.0]], [1.0], 4.0, 2.0, "option.needed"),
        ([[1.0], [2.0]], [1.0], 4.0, 1.0, "option.bound"),
    ],
)
def test_what_no_purchase_can_be_made_of_is_refused(
    costs: list[list[float]], variances: list[float], unasked: float, bound: float, code: str
) -> None:
    with refused(code):
        least_cost(np.array(costs), np.array(variances), unasked, bound)


def test_a_small_unit_changes_no_purchase() -> None:
    costs = bids(8, 3)
    usual = least_cost(costs, VARIANCES, UNASKED, 12.0)
    tiny = least_cost(costs, VARIANCES * 1e-24, UNASKED * 1e-24, 12.0e-24)
    assert np.allclose(tiny.lottery, usual.lottery)
    assert np.allclose(tiny.payments, usual.payments)


def test_a_budget_buys_from_no_one_where_it_is_below_the_cheapest_or_there_is_but_one() -> None:
    assert len(within_budget(np.array([5.0]), 100.0).bought) == 0
    assert len(within_budget(np.array([5.0, 6.0, 7.0]), 1e-3).bought) == 0
    free = within_budget(np.zeros(4), 1.0)
    assert (len(free.bought), free.payment) == (3, 0.0)
    with refused("option.budget"):
        within_budget(np.array([1.0, 2.0]), np.inf)


def test_within_a_budget_ties_and_zeros_leave_truth_the_best() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        costs = rng.choice([0.0, 1.0, 1.0, 2.0, 5.0, 1e9], int(rng.integers(2, 8)))
        budget = float(rng.choice([0.1, 1.0, 5.0, 1e6]))
        honest = within_budget(costs, budget)
        assert len(honest.bought) * honest.payment <= budget * (1 + 1e-12)
        for n, cost in enumerate(costs):
            told = honest.payment - honest.epsilon * cost if n in honest.bought else 0.0
            assert told >= -1e-12 * (1 + cost)
            for lie in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 1e9, 2e9):
                other = costs.copy()
                other[n] = lie
                found = within_budget(other, budget)
                got = found.payment - found.epsilon * cost if n in found.bought else 0.0
                assert got <= told + 1e-9 * (1 + budget)
