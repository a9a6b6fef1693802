"""The consumer's optimum: rewards that buy most for the money.

With p_k(r) the share that takes setting k at rewards r >= 0 and b_k what one chooser of k is worth, the problem is to
maximise lambda sum_k p_k b_k - sum_k p_k r_k; lambda is the price of utility. For one class of producers (plain logit)
it is concave in the shares, and its solution is

    r_k = max(0, lambda b_k - 1/beta - L),     L = sum_k p_k (lambda b_k - r_k),

with beta what money is worth to producers and L by root search. For several classes (mixed logit, or draws of an
uncertain model) it is not concave: many starts give a schedule, and letting every class have a schedule of its own
gives a bound that no common schedule can pass.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.rewards.model import Population

LEAST, MOST = 1e-9, 1e7
"""Prices are searched from where benefit is worth next to nothing to ten million times what money is."""

STARTS = 8


@dataclass(frozen=True, eq=False)
class Optimum:
    """Rewards (K,) per producer and period, the shares (K,) they lead to, and what they cost and give per producer.

    ``price`` is lambda, the money that a little more benefit costs; ``bound`` is the most that lambda benefit - cost
    can be under any rewards, even if every class had its own, so ``gap`` = bound - value is certified.
    """

    rewards: FloatArray
    shares: FloatArray
    benefit: float
    cost: float
    price: float
    bound: float

    @property
    def value(self) -> float:
        """lambda benefit - cost: what the optimum maximises at its price."""
        return self.price * self.benefit - self.cost

    @property
    def gap(self) -> float:
        """How far the value can be from the best at most; 0 for one class of producers, but for rounding."""
        return max(self.bound - self.value, 0.0)


def at_price(population: Population, benefit: FloatArray, price: float) -> Optimum:
    """The best rewards where a unit of benefit is worth ``price`` in money."""
    worth = price * benefit
    alone = [_one_class(a, m, worth) for a, m in zip(population.appeal, population.money, strict=True)]
    bound = float(population.weight @ np.array([value for _, value in alone]))
    rewards = alone[0][0]
    if len(alone) > 1:
        rewards = _many_classes(population, worth, np.array([own for own, _ in alone]))
    return measured(population, benefit, rewards, price, bound)


def measured(
    population: Population, benefit: FloatArray, rewards: FloatArray, price: float, bound: float = np.inf
) -> Optimum:
    """What given rewards lead to, cost and give."""
    shares = population.shares(rewards)
    return Optimum(rewards, shares, float(shares @ benefit), float(shares @ rewards), price, bound)


def within_budget(population: Population, benefit: FloatArray, budget: float) -> Optimum:
    """The best rewards that are expected to cost at most ``budget`` per producer."""
    if not budget >= 0:
        raise OptionError(f"the budget of {budget:g} is below 0")
    return _by_price(population, benefit, lambda found: found.cost - budget, side=-1)


def reaching(population: Population, benefit: FloatArray, target: float) -> Optimum:
    """The cheapest rewards whose benefit is at least ``target``; an OptionError where no money buys it."""
    found = _by_price(population, benefit, lambda found: found.benefit - target, side=1)
    if found.benefit < target:
        raise OptionError(f"no reward reaches a benefit of {target:g} per producer: {found.benefit:g} is the most")
    return found


def _by_price(population: Population, benefit: FloatArray, excess: Callable[[Optimum], float], *, side: int) -> Optimum:
    """The optimum at the price where ``excess``, which grows with the price, passes 0; ``side`` -1: just below it."""
    size = float(np.abs(benefit).max()) or 1.0
    low, high = np.log(LEAST / (size * population.money.max())), np.log(MOST / (size * population.money.min()))

    def at(log_price: float) -> Optimum:
        return at_price(population, benefit, float(np.exp(log_price)))

    least, most = at(low), at(high)
    if excess(least) >= 0 or excess(most) <= 0:
        return least if excess(least) >= 0 else most
    root = brentq(lambda x: excess(at(x)), low, high, xtol=1e-13, rtol=1e-14)
    step = 1e-13
    found = at(root)
    while side * excess(found) < 0 and step < 1:  # the root is met from the wrong side by rounding alone
        found, step = at(root + side * step), 10 * step
    return found


def _one_class(appeal: FloatArray, money: float, worth: FloatArray) -> tuple[FloatArray, float]:
    """Rewards and value for producers who are all alike: the closed form of this module's docstring."""

    def rewards(level: float) -> FloatArray:
        return np.maximum(0.0, worth - 1 / money - level)

    def excess(level: float) -> float:
        paid = rewards(level)
        value = appeal + money * paid
        top = max(float(value.max()), 0.0)
        taken = np.exp(value - top)
        return float(taken @ (worth - paid)) / (float(np.exp(-top)) + float(taken.sum())) - level

    low, high = min(0.0, float(worth.min())), max(0.0, float(worth.max()))
    pad = 1e-6 * (high - low) + 1 / money
    level = brentq(excess, low - pad, high + pad, xtol=1e-14 * (pad + high - low), rtol=1e-14, maxiter=500)
    return rewards(level), level


def _many_classes(population: Population, worth: FloatArray, own: FloatArray) -> FloatArray:
    """The best of many starts: each class's own schedule (the spread of them), their mean, and none."""

    def loss(paid: FloatArray) -> tuple[float, FloatArray]:
        chance = population.choices(paid)
        margin = worth - paid
        profit = chance @ margin
        slope = chance * (population.money[:, None] * (margin - profit[:, None]) - 1)
        return -float(population.weight @ profit), -np.asarray(population.weight @ slope)

    picked = own[np.unique(np.linspace(0, len(own) - 1, STARTS).astype(int))]
    starts = [*picked, np.average(own, axis=0, weights=population.weight), np.zeros(len(worth))]
    found = [minimize(loss, each, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(worth)) for each in starts]
    return np.asarray(min(found, key=lambda each: each.fun).x)
