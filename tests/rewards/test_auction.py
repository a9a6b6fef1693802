"""Truth is best for every bidder, nobody loses, bounds and budgets are kept."""

import numpy as np
import pytest
from scipy.optimize import linprog

from halfmask.errors import OptionError
from halfmask.rewards.auction import Purchase, least_cost, within_budget

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
    with pytest.raises(OptionError, match="cannot be bought"):
        least_cost(bids(5, 1), VARIANCES, UNASKED, 0.01)
    with pytest.raises(OptionError, match="cannot be done without"):
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
