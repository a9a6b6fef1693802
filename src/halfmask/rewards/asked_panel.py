"""The producers who are asked to take part, the rewards that buy the most for the money, and the error of their total.

1. Best rewards for a given benefit. p_k(r) is the share of producers that takes setting k at rewards r >= 0, b_k is the
benefit of one producer who takes k, and lambda is the value of benefit in money. The problem is to maximise

    lambda sum_k p_k b_k - sum_k p_k r_k

For one class of producers (plain logit) it is concave in the shares. With beta the value of money to producers and a_k
the value of k without a reward, its solution is

    r_k = max(0, lambda b_k - 1/beta - L),  L = sum_k p_k (lambda b_k - r_k)

The paid settings are found by adding settings in order of falling benefit while lambda b_k > 1/beta + L. For a given
set of paid settings, L has a closed form. Let s = sum of exp(a_k) and g = sum of exp(a_k) lambda b_k / (1 + s), both
over unpaid settings. Then x = beta (L - g) solves

    x exp(x) = sum over paid settings of exp(a_k + beta lambda b_k - 1 - beta g) / (1 + s)

so x is Wright's omega function of the logarithm of the right side.

For several classes (mixed logit, or draws of an uncertain model) the best common rewards are not a concave problem.
Separate rewards for every class are. Their optimum bounds the benefit of all common rewards.

2. Error of the total. N producers are asked. Each sends h reports of mean size m in a period. A share p_k takes setting
k, whose noise has variance v_k. The total of those who take part has the relative standard error

    e = sqrt(N h V) / (N h m P),  P = sum_k p_k,  V = sum_k p_k v_k

For a split setting, v_k is 0, and the two services add noise to the total once: F, twice the variance of one draw, is
added to N h V. The choice model gives every setting some producers, so F is there whenever the menu has a split
setting.

The error is not concave in the shares. But if one more participant has a fixed value c, the problem is that of part 1
with b_k = c - v_k. Scanning c scans participation.

3. Lower bound on the error. Let h(c) be the largest value of c P - V within the budget, with separate rewards for every
class. All (P, V) within the budget then have V >= c P - h(c) for every c. So e^2 is at least the minimum over P of
max_c (c P - h(c)) / P^2. The minimum lies where two of these lines cross, so only crossings are tried. If all producers
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
"""The range of lambda that is searched, relative to the value of money."""

HALVINGS = 55


def own_rewards(population: Producers, worth: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the best rewards (..., C, K) for each of C classes separately, and their value L (..., C).

    ``worth``  lambda b (..., K)
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
    """Return the best rewards (M, C, K) within M budgets, separate for every class, and an upper bound (M,) on the
    benefit.

    ``benefit``  b (M, K)
    ``budget``   (M,) largest cost per producer

    The bound holds for all rewards: benefit <= (V(lambda) + budget) / lambda for every lambda, with V the best value.
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
"""In 95 of 100 periods the relative error of a total is at most this times its standard error."""

SCAN, ZOOMS, LINES = 24, 4, 20


@dataclass(frozen=True, eq=False)
class AskedPanel:
    """The producers that the consumer asks.

    ``producers``  number N of producers
    ``reports``    number h of reports of each in a period
    ``size``       mean |s| of a report
    ``variance``   (K,) variance of the noise that each report of a setting adds to the total
    ``split``      (K,) variance that each split setting adds to the total once; 0 if there is none
    """

    producers: int
    reports: float
    size: float
    variance: FloatArray
    split: FloatArray | float = 0.0

    def noise(self, shares: FloatArray) -> FloatArray:
        """Return the noise variance per report asked for, V + F / (N h), for shares (..., K)."""
        once = np.where(shares > 0, self.split, 0.0).sum(axis=-1) / (self.producers * self.reports)
        return np.asarray(shares @ self.variance + once)

    def error(self, shares: FloatArray) -> float:
        """Return the relative standard error of the total of those who take part; infinite if nobody does."""
        taking = float(shares.sum())
        return self.error_of(taking, float(self.noise(shares))) if taking > 0 else np.inf

    def error_of(self, taking: float, noise: float) -> float:
        """Return the relative standard error for the share that takes part and the result of `noise`."""
        return float(np.sqrt(noise / (self.producers * self.reports)) / (self.size * taking))

    def producers_for(self, error: float, shares: FloatArray) -> float:
        """Return the number of producers that is needed for an error, for given shares of settings."""
        aim, each = (error * self.size * float(shares.sum())) ** 2, float(shares @ self.variance)
        once = float(np.where(shares > 0, self.split, 0.0).sum())
        return float((each + np.sqrt(each**2 + 4 * aim * once)) / (2 * aim * self.reports))


@dataclass(frozen=True, eq=False)
class Point:
    """The outcome of rewards (K,) per report: shares (K,), expected cost per producer and report, and error."""

    rewards: FloatArray
    shares: FloatArray
    cost: float
    error: float

    @property
    def within(self) -> float:
        """The relative error of the total that is not exceeded in 95 of 100 periods."""
        return WITHIN * self.error


def point(panel: AskedPanel, population: Producers, rewards: FloatArray) -> Point:
    """Return the outcome of rewards."""
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

    It uses many lines, most of them near ``found``.
    """
    low, high = _span(panel)
    at = 2 * float(panel.noise(found.shares)) / float(found.shares.sum())  # where the error is stationary
    near = at * np.exp(np.concatenate([-np.geomspace(3, 1e-4, LINES), [0.0], np.geomspace(1e-4, 3, LINES)]))
    never = np.array([0.0, *(-np.exp([low, high]))])  # lines that bound the share taking part from below
    slopes = np.concatenate([never, np.exp(np.linspace(low, high, SCAN // 2)), near])
    _, heights = _apart(panel, population, slopes[None], np.array([found.cost]))
    return _lowest(panel, slopes, heights[0])


def _span(panel: AskedPanel) -> tuple[float, float]:
    """Return the logarithms of the smallest and largest value of one more participant that is searched."""
    varied = panel.variance[panel.variance > 0]
    return (float(np.log(varied.min() / 100)), float(np.log(varied.max() * 1000))) if len(varied) else (-1.0, 1.0)


def _apart(
    panel: AskedPanel, population: Producers, c: FloatArray, budgets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return separate rewards of classes (B, S, C, K), and h(c) (B, S).

    ``c``  (B, S) values of a participant
    """
    benefit = (c[:, :, None] - panel.variance).reshape(-1, len(panel.variance))
    paid, bound = apart_within(population, benefit, np.repeat(budgets, c.shape[1]))
    return paid.reshape(*c.shape, *paid.shape[1:]), bound.reshape(c.shape)


def _lowest(panel: AskedPanel, slopes: FloatArray, heights: FloatArray) -> float:
    """Return the least error on or above all lines V = c P - h(c), for P up to 1 (part 3 of the module's docstring).

    ``slopes``   c of each line
    ``heights``  h(c) of each line
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = (heights[:, None] - heights) / (slopes[:, None] - slopes)
    taking = np.append(crossing[np.isfinite(crossing) & (crossing > 0) & (crossing < 1)], 1.0)
    noise = np.maximum((slopes[:, None] * taking - heights[:, None]).max(axis=0), 0.0)
    noise = noise + float(panel.noise(np.ones(len(panel.variance))) - panel.variance.sum())  # what is added once
    at = int(np.argmin(noise / taking**2))
    return panel.error_of(float(taking[at]), float(noise[at]))


def costliest(panel: AskedPanel, population: Producers) -> Point:
    """Return the outcome beyond which money has no effect: all but 1 in 10^4 producers take the least noisy setting."""
    quiet = int(np.argmin(panel.variance))
    behind = (np.maximum(population.appeal.max(axis=1), 0.0) - population.appeal[:, quiet]) / population.money
    rewards = np.zeros(len(panel.variance))
    rewards[quiet] = float(max(behind.max(), 0.0) + np.log(1e4 * (len(rewards) + 1)) / population.money.min())
    return point(panel, population, rewards)


def budgets_of_curve(panel: AskedPanel, population: Producers, points: int) -> FloatArray:
    """Return budgets from 0 up to the one that gives 99.9 % of the possible reduction of error."""
    alike = population.average
    last = costliest(panel, alike)
    halves = last.cost / 2.0 ** np.arange(24)
    found = scanned(panel, alike, np.append(halves, 0.0))
    errors = np.array([point(panel, alike, each).error for each in found])
    enough = halves[errors[:-1] <= errors[-1] - 0.999 * (errors[-1] - last.error)]
    most = float(enough.min()) if len(enough) else last.cost
    return np.array([0.0, *np.geomspace(most / 200, most, points - 1)])


def budget_for(panel: AskedPanel, population: Producers, error: float) -> float:
    """Return roughly the budget at which the best rewards reach an error, if all producers were average."""
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
