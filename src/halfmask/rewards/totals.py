"""What rewards are for: the error of a total, from who takes part and with how much noise.

N producers are asked, each with h reports of mean size m in a period. Where a share p_k takes a setting whose noise has
variance v_k, the total of those who take part has the relative standard error

    e = sqrt(N h sum_k p_k v_k) / (N h m sum_k p_k).

e falls with more producers and with less noise. It is not concave in the shares, but for a fixed value c of one more
participant the problem is that of `halfmask.rewards.optimum` with b_k = c - v_k: scanning c scans participation.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.rewards.model import Population
from halfmask.rewards.optimum import Optimum, within_budget

WITHIN = 1.959963984540054
"""A total is within x of the truth in 95 of 100 periods where x = 1.96 e."""

SCAN = 24


@dataclass(frozen=True, eq=False)
class Panel:
    """Whom the consumer asks: ``producers`` N, ``reports`` h of each per period, ``size`` the mean |s| of a report."""

    producers: int
    reports: float
    size: float
    variance: FloatArray

    def error(self, shares: FloatArray) -> float:
        """The relative standard error of the total of those who take part; infinite where nobody does."""
        taking = float(shares.sum())
        if taking <= 0:
            return np.inf
        noise = float(shares @ self.variance)
        return float(np.sqrt(noise / (self.producers * self.reports)) / (self.size * taking))

    def producers_for(self, error: float, shares: FloatArray) -> float:
        """How many producers with these shares give that error: the line of equal utility, noise against number."""
        return self.producers * (self.error(shares) / error) ** 2


@dataclass(frozen=True, eq=False)
class Point:
    """One point of the curve: what a budget per report buys; ``benefit`` (K,) is what a chooser of each is worth."""

    optimum: Optimum
    error: float
    benefit: FloatArray

    @property
    def within(self) -> float:
        """The total is within this share of the truth in 95 of 100 periods."""
        return WITHIN * self.error


def best_error(panel: Panel, population: Population, budget: float, bonus: FloatArray | float = 0.0) -> Point:
    """The rewards with the smallest error of the total at an expected cost of at most ``budget`` per producer.

    ``bonus`` is added to what a chooser of each setting is worth, for ends other than the error.
    """

    def found(log_c: float) -> Point:
        benefit = np.exp(log_c) - panel.variance + bonus
        optimum = within_budget(population, benefit, budget)
        return Point(optimum, panel.error(optimum.shares), benefit)

    return _least(panel, found, lambda point: point.error)


def keeping_privacy(panel: Panel, population: Population, budget: float, privacy: FloatArray, least: float) -> Point:
    """As `best_error`, with the average privacy of those who take part at ``least`` or above.

    Choosers of more private settings get a bonus; the least bonus that does is found by halving.
    """

    def average(point: Point) -> float:
        shares = point.optimum.shares
        return float(shares @ privacy / shares.sum())

    free = best_error(panel, population, budget)
    if average(free) >= least:
        return free
    size = float(panel.variance.max())
    low, high = 0.0, size
    held = best_error(panel, population, budget, high * (privacy - least))
    while average(held) < least and high < 1e6 * size:
        high *= 10
        held = best_error(panel, population, budget, high * (privacy - least))
    if average(held) < least:
        raise OptionError(f"no reward keeps the average privacy at {least:g}: {average(held):.3g} is the most")
    for _ in range(20):
        middle = (low + high) / 2
        tried = best_error(panel, population, budget, middle * (privacy - least))
        low, high, held = (middle, high, held) if average(tried) < least else (low, middle, tried)
    return held


def cheapest(panel: Panel, population: Population, error: float) -> Point:
    """The cheapest rewards that keep the relative standard error at or below ``error``.

    The least budget by root search on `best_error`, which falls as the budget grows.
    """
    free = best_error(panel, population, 0.0)
    if free.error <= error:
        return free
    most = _dearest(panel, population)
    if most.error > error:
        raise OptionError(
            f"no reward brings the error of a total to {error:.3g}: {most.error:.3g} is the least that "
            f"{panel.producers:,} producers give; about {panel.producers_for(error, most.optimum.shares):,.0f} would"
        )
    budget = brentq(
        lambda b: best_error(panel, population, b).error - error, 0.0, most.optimum.cost, xtol=1e-9, rtol=1e-6
    )
    point = best_error(panel, population, budget)
    while point.error > error:  # the root is met from above by rounding alone
        budget *= 1 + 1e-6
        point = best_error(panel, population, budget)
    return point


def curve(panel: Panel, population: Population, points: int = 24) -> list[Point]:
    """What each budget buys, from nothing to where money stops paying: all but a thousandth of what can be had."""
    free, most = best_error(panel, population, 0.0), _dearest(panel, population)
    last = most.optimum.cost
    while last > 1e-9 and best_error(panel, population, last / 2).error < free.error - 0.999 * (
        free.error - most.error
    ):
        last /= 2
    budgets = [0.0, *np.geomspace(last / 200, last, points - 1)]
    return [best_error(panel, population, budget) for budget in budgets]


def _dearest(panel: Panel, population: Population) -> Point:
    """Where money buys nothing more: a budget at which everyone takes the least noisy setting but for one in 10^4."""
    value = -population.appeal / population.money[:, None]
    enough = float(value.max() + np.log(1e4 * value.shape[1]) / population.money.min())
    return best_error(panel, population, max(enough, 1e-6))


def _least(panel: Panel, found: Callable[[float], Point], key: Callable[[Point], float]) -> Point:
    """The least over log c: a scan over all magnitudes of variance, then a search around its best."""
    varied = panel.variance[panel.variance > 0]
    low, high = (np.log(varied.min() / 100), np.log(varied.max() * 1000)) if len(varied) else (-1.0, 1.0)
    scan = np.linspace(low, high, SCAN)
    points = [found(each) for each in scan]
    best = int(np.argmin([key(each) for each in points]))
    around = scan[max(best - 1, 0)], scan[min(best + 1, SCAN - 1)]
    fine = minimize_scalar(lambda c: key(found(c)), bounds=around, method="bounded", options={"xatol": 1e-4})
    refined = found(float(fine.x))
    return min(refined, points[best], key=key)
