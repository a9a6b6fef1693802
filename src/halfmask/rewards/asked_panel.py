"""The producers who are asked to take part, the rewards that buy the most for the money, and the error of their total.

The consumer's optimum. With p_k(r) the share that takes setting k at rewards r >= 0, and b_k the benefit of one
producer who chooses k, the problem is to maximise lambda sum_k p_k b_k - sum_k p_k r_k. lambda is the price of utility.
For one class of producers (plain logit) it is concave in the shares, and its solution is

    r_k = max(0, lambda b_k - 1/beta - L),     L = sum_k p_k (lambda b_k - r_k),

with beta the value of money to producers. The paid settings are found by adding settings in order of falling benefit
while lambda b_k > 1/beta + L. For a given set of paid settings, L has a closed form. Let s = sum of exp(a_k) and g =
sum of exp(a_k) lambda b_k / (1 + s), both over settings that are not paid. Then x = beta (L - g) solves

    x exp(x) = sum over the paid of exp(a_k + beta lambda b_k - 1 - beta g) / (1 + s),

so log x + x is known, and x is Wright's omega function of it.

For several classes (mixed logit, or draws of an uncertain model) the best common schedule is not a concave problem.
With a separate schedule for every class it is concave, and its optimum bounds the benefit of every common schedule.

The total. N producers are asked; each sends h reports of mean size m in a period. If a share p_k takes a setting whose
noise has variance v_k, the total of those who take part has the relative standard error

    e = sqrt(N h V) / (N h m P),     P = sum_k p_k,     V = sum_k p_k v_k.

Two services add noise to the part of the total that is split, however many producers choose it: F, twice the variance
of one draw, is added to N h V, and v_k is 0. The choice model gives every setting some producers, so F is there as soon
as the menu has a split setting.

e falls with more producers and with less noise. It is not concave in the shares. But if one more participant has a
fixed value c, the problem is the one above with b_k = c - v_k; scanning c scans participation.

The bound. Let h(c) be the largest value of c P - V within the budget if every class were paid by a separate schedule.
Every (P, V) that money can buy then has V >= c P - h(c), for every c. So e^2 is at least the minimum over P of max_c (c
P - h(c)) / P^2. This minimum lies at a crossing of two of these lines, so only crossings are tried. If all producers
are alike, the bound is reached.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import wrightomega

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
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


WITHIN = 1.959963984540054
"""A total is within x of the truth in 95 of 100 periods if x = 1.96 e."""

SCAN, ZOOMS, LINES = 24, 4, 20


@dataclass(frozen=True, eq=False)
class AskedPanel:
    """The producers that the consumer asks.

    ``producers``  their number N
    ``reports``    number h of reports of each in a period
    ``size``       mean |s| of a report
    ``variance``   variance of the noise that each report of a setting adds to the total (K,)
    ``split``      variance that each split setting adds to the total once (K,); 0 if there is none
    """

    producers: int
    reports: float
    size: float
    variance: FloatArray
    split: FloatArray | float = 0.0

    def noise(self, shares: FloatArray) -> FloatArray:
        """Return V + F / (N h) for shares (..., K)."""
        once = np.where(shares > 0, self.split, 0.0).sum(axis=-1) / (self.producers * self.reports)
        return np.asarray(shares @ self.variance + once)

    def error(self, shares: FloatArray) -> float:
        """Return the relative standard error of the total of those who take part; infinite if nobody does."""
        taking = float(shares.sum())
        return self.error_of(taking, float(self.noise(shares))) if taking > 0 else np.inf

    def error_of(self, taking: float, noise: float) -> float:
        """Return the error for the share that takes part, P, and the noise V + F / (N h)."""
        return float(np.sqrt(noise / (self.producers * self.reports)) / (self.size * taking))

    def producers_for(self, error: float, shares: FloatArray) -> float:
        """Return how many producers with these shares reach that error: (e N h m P)^2 = N h V + F."""
        aim, each = (error * self.size * float(shares.sum())) ** 2, float(shares @ self.variance)
        once = float(np.where(shares > 0, self.split, 0.0).sum())
        return float((each + np.sqrt(each**2 + 4 * aim * once)) / (2 * aim * self.reports))


@dataclass(frozen=True, eq=False)
class Point:
    """The outcome of given rewards (K,) per report: shares (K,), expected cost per producer and report, and error."""

    rewards: FloatArray
    shares: FloatArray
    cost: float
    error: float

    @property
    def within(self) -> float:
        """Share of the truth that the total stays within in 95 of 100 periods."""
        return WITHIN * self.error


def point(panel: AskedPanel, population: Producers, rewards: FloatArray) -> Point:
    """Return the outcome of given rewards: shares, cost and error."""
    shares = population.shares(rewards)
    return Point(rewards, shares, float(shares @ rewards), panel.error(shares))


def scanned(panel: AskedPanel, population: Producers, budgets: FloatArray) -> FloatArray:
    """Return the best rewards (B, K) for budgets (B,) per producer and report, if all producers were average."""
    alike = population.average
    low, high = _span(panel)
    rows = np.arange(len(budgets))
    grid = np.linspace(np.full(len(budgets), low), np.full(len(budgets), high), SCAN, axis=1)
    for _ in range(ZOOMS):
        paid, _ = _apart(panel, alike, np.exp(grid), budgets)
        shares = alike.choices(paid)[:, :, 0]
        at = (np.sqrt(panel.noise(shares)) / shares.sum(axis=-1)).argmin(axis=1)
        found = paid[rows, at, 0]
        grid = np.linspace(grid[rows, np.maximum(at - 1, 0)], grid[rows, np.minimum(at + 1, SCAN - 1)], SCAN, axis=1)
    return np.asarray(found)


def least_error(panel: AskedPanel, population: Producers, found: Point) -> float:
    """Return a lower bound on the error of all rewards with the same cost as ``found``.

    The bound uses many lines, most of them near ``found``.
    """
    low, high = _span(panel)
    at = 2 * float(panel.noise(found.shares)) / float(found.shares.sum())  # where the error is stationary
    near = at * np.exp(np.concatenate([-np.geomspace(3, 1e-4, LINES), [0.0], np.geomspace(1e-4, 3, LINES)]))
    never = np.array([0.0, *(-np.exp([low, high]))])  # lines that bound the share taking part from below
    slopes = np.concatenate([never, np.exp(np.linspace(low, high, SCAN // 2)), near])
    _, heights = _apart(panel, population, slopes[None], np.array([found.cost]))
    return _lowest(panel, slopes, heights[0])


def _span(panel: AskedPanel) -> tuple[float, float]:
    """Return the logarithms of the smallest and largest value c of one more participant that a search tries."""
    varied = panel.variance[panel.variance > 0]
    return (float(np.log(varied.min() / 100)), float(np.log(varied.max() * 1000))) if len(varied) else (-1.0, 1.0)


def _apart(
    panel: AskedPanel, population: Producers, c: FloatArray, budgets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return rewards (B, S, C, K) of classes paid separately, and h(c) (B, S), for values c (B, S) of a participant."""
    benefit = (c[:, :, None] - panel.variance).reshape(-1, len(panel.variance))
    paid, bound = apart_within(population, benefit, np.repeat(budgets, c.shape[1]))
    return paid.reshape(*c.shape, *paid.shape[1:]), bound.reshape(c.shape)


def _lowest(panel: AskedPanel, slopes: FloatArray, heights: FloatArray) -> float:
    """Return the least error on or above all lines V = c P - h(c), for P up to 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = (heights[:, None] - heights) / (slopes[:, None] - slopes)
    taking = np.append(crossing[np.isfinite(crossing) & (crossing > 0) & (crossing < 1)], 1.0)
    noise = np.maximum((slopes[:, None] * taking - heights[:, None]).max(axis=0), 0.0)
    noise = noise + float(panel.noise(np.ones(len(panel.variance))) - panel.variance.sum())  # what is added once
    at = int(np.argmin(noise / taking**2))
    return panel.error_of(float(taking[at]), float(noise[at]))


def costliest(panel: AskedPanel, population: Producers) -> Point:
    """Return the outcome of rewards beyond which money buys nothing: all but 1 in 10^4 take the least noisy setting."""
    quiet = int(np.argmin(panel.variance))
    behind = (np.maximum(population.appeal.max(axis=1), 0.0) - population.appeal[:, quiet]) / population.money
    rewards = np.zeros(len(panel.variance))
    rewards[quiet] = float(max(behind.max(), 0.0) + np.log(1e4 * (len(rewards) + 1)) / population.money.min())
    return point(panel, population, rewards)


def budgets_of_curve(panel: AskedPanel, population: Producers, points: int) -> FloatArray:
    """Return budgets from 0 up to the one that brings all but a thousandth of the possible reduction of error."""
    alike = population.average
    last = costliest(panel, alike)
    halves = last.cost / 2.0 ** np.arange(24)
    found = scanned(panel, alike, np.append(halves, 0.0))
    errors = np.array([point(panel, alike, each).error for each in found])
    enough = halves[errors[:-1] <= errors[-1] - 0.999 * (errors[-1] - last.error)]
    most = float(enough.min()) if len(enough) else last.cost
    return np.array([0.0, *np.geomspace(most / 200, most, points - 1)])


def budget_for(panel: AskedPanel, population: Producers, error: float) -> float:
    """Return roughly the budget at which the best rewards reach that error, if all producers were average."""
    alike = population.average
    high = costliest(panel, alike).cost

    def excess(budget: float) -> float:
        return point(panel, alike, scanned(panel, alike, np.array([budget]))[0]).error - error

    if excess(high) >= 0 or excess(0.0) <= 0:
        return high if excess(high) >= 0 else 0.0
    return float(brentq(excess, 0.0, high, rtol=1e-3))


def check_error_reach(panel: AskedPanel, population: Producers, error: float) -> None:
    """Raise an OptionError if no rewards reduce the error of a total to ``error``."""
    most = costliest(panel, population)
    if most.error > error:
        raise OptionError(
            f"no reward brings the error of a total to {error:.3g}: {most.error:.3g} is the least that "
            f"{panel.producers:,} producers give; about {panel.producers_for(error, most.shares):,.0f} would",
            kind="reach",
        )
