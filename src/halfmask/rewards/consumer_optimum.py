"""The consumer's optimum: the rewards that buy the most benefit for the money.

With p_k(r) the share that takes setting k at rewards r >= 0, and b_k the benefit of one producer who chooses k, the
problem is to maximise lambda sum_k p_k b_k - sum_k p_k r_k. lambda is the price of utility. For one class of producers
(plain logit) it is concave in the shares, and its solution is

    r_k = max(0, lambda b_k - 1/beta - L),     L = sum_k p_k (lambda b_k - r_k),

with beta the value of money to producers. The paid settings are found by adding settings in order of falling benefit
while lambda b_k > 1/beta + L. For a given set of paid settings, L has a closed form. Let s = sum of exp(a_k) and g =
sum of exp(a_k) lambda b_k / (1 + s), both over settings that are not paid. Then x = beta (L - g) solves

    x exp(x) = sum over the paid of exp(a_k + beta lambda b_k - 1 - beta g) / (1 + s),

so log x + x is known, and x is Wright's omega function of it.

For several classes (mixed logit, or draws of an uncertain model) the best common schedule is not a concave problem.
With a separate schedule for every class it is concave, and its optimum bounds the benefit of every common schedule.
"""

import numpy as np
from scipy.special import wrightomega

from halfmask.arrays import FloatArray
from halfmask.rewards.choice_model import Producers

LEAST, MOST = 1e-9, 1e7
"""Range of prices that are searched, relative to the value of money: the benefit is worth from almost nothing up to
10^7 times as much.
"""

HALVINGS = 55


def own_rewards(population: Producers, worth: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the best rewards (..., C, K) for each class separately, and their value L (..., C).

    ``worth`` is lambda b (..., K).
    """
    order = np.argsort(-worth, axis=-1, kind="stable")[..., None, :]
    money = population.money[:, None]
    best = np.take_along_axis(worth[..., None, :], order, axis=-1)
    shape = (*worth.shape[:-1], *population.appeal.shape)
    appeal = np.take_along_axis(np.broadcast_to(population.appeal, shape), np.broadcast_to(order, shape), axis=-1)
    taken = np.exp(appeal)
    none = np.zeros((*appeal.shape[:-1], 1))
    unpaid = np.concatenate([np.cumsum(taken[..., ::-1], axis=-1)[..., ::-1], none], axis=-1)
    given = np.concatenate([np.cumsum((taken * best)[..., ::-1], axis=-1)[..., ::-1], none], axis=-1)
    base = given / (1 + unpaid)
    paid = np.logaddexp.accumulate(appeal + money * best - 1, axis=-1)
    more = np.asarray(wrightomega(paid - money * base[..., 1:] - np.log1p(unpaid[..., 1:])))
    level = np.concatenate([base[..., :1], base[..., 1:] + more / money], axis=-1)  # if the first 0, 1, ..., K are paid
    wanted = np.cumprod(best - 1 / money > level[..., :-1], axis=-1).sum(axis=-1)
    found = np.take_along_axis(level, wanted[..., None], axis=-1)
    return np.maximum(0.0, worth[..., None, :] - 1 / money - found), found[..., 0]


def apart_within(population: Producers, benefit: FloatArray, budget: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the best rewards (M, C, K) within budgets (M,), separate for every class, and a bound (M,) on the benefit.

    ``benefit`` is b (M, K). The rewards cost at most the budget per producer. No rewards exceed the bound: with
    V(lambda) the best value at a price, benefit <= (V(lambda) + budget) / lambda for every lambda.
    """
    size = np.maximum(np.abs(benefit).max(axis=1), 1e-300)
    low, high = np.log(LEAST / (size * population.money.max())), np.log(MOST / (size * population.money.min()))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        paid, _ = own_rewards(population, np.exp(middle)[:, None] * benefit)
        over = cost_apart(population, paid) > budget
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    paid, level = own_rewards(population, np.exp(low)[:, None] * benefit)
    return paid, (level @ population.weight + budget) / np.exp(low)


def cost_apart(population: Producers, paid: FloatArray) -> FloatArray:
    """Return the expected cost per producer (...) if classes have separate rewards (..., C, K)."""
    return np.asarray((population.choices(paid) * paid).sum(axis=-1) @ population.weight)
