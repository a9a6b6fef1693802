"""The producers who are asked: the error of their total, by shares of settings and their noise.

N producers are asked, each with h reports of mean size m in a period. If a share p_k takes a setting whose noise has
variance v_k, the total of those who take part has the relative standard error

    e = sqrt(N h V) / (N h m P),     P = sum_k p_k,     V = sum_k p_k v_k.

e falls with more producers and with less noise. It is not concave in the shares, but for a fixed value c of one more
participant the problem is that of `rewards.consumer_optimum` with b_k = c - v_k: scanning c scans participation.

The bound. With h(c) the most that c P - V can be within the budget, if every class were paid by a separate schedule,
all (P, V) that money can buy have V >= c P - h(c), for every c. So e^2 is at least the least of max_c (c P - h(c)) /
P^2 over P. Between two crossings of these lines there is not a minimum, so the crossings are tried. For producers who
are all alike the bound is reached.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.rewards.choice_model import Producers
from halfmask.rewards.consumer_optimum import apart_within

WITHIN = 1.959963984540054
"""A total is within x of the truth in 95 of 100 periods for x = 1.96 e."""

SCAN, ZOOMS, LINES = 24, 4, 20


@dataclass(frozen=True, eq=False)
class AskedPanel:
    """Whom the consumer asks: ``producers`` N, ``reports`` h of each per period, ``size`` the mean |s| of a report."""

    producers: int
    reports: float
    size: float
    variance: FloatArray

    def error(self, shares: FloatArray) -> float:
        """The relative standard error of the total of those who take part; infinite if nobody does."""
        taking = float(shares.sum())
        return self.error_of(taking, float(shares @ self.variance)) if taking > 0 else np.inf

    def error_of(self, taking: float, noise: float) -> float:
        """The same from P and V."""
        return float(np.sqrt(noise / (self.producers * self.reports)) / (self.size * taking))

    def producers_for(self, error: float, shares: FloatArray) -> float:
        """How many producers with these shares give that error: the line of equal utility, noise against number."""
        return self.producers * (self.error(shares) / error) ** 2


@dataclass(frozen=True, eq=False)
class Point:
    """What rewards (K,) per report lead to: shares (K,), the expected cost per producer and report, and the error."""

    rewards: FloatArray
    shares: FloatArray
    cost: float
    error: float

    @property
    def within(self) -> float:
        """The total is within this share of the truth in 95 of 100 periods."""
        return WITHIN * self.error


def point(panel: AskedPanel, population: Producers, rewards: FloatArray) -> Point:
    """What given rewards lead to."""
    shares = population.shares(rewards)
    return Point(rewards, shares, float(shares @ rewards), panel.error(shares))


def scanned(panel: AskedPanel, population: Producers, budgets: FloatArray) -> FloatArray:
    """The best rewards (B, K) for budgets (B,) per producer and report, were all producers the average one."""
    alike = population.average
    low, high = _span(panel)
    rows = np.arange(len(budgets))
    grid = np.linspace(np.full(len(budgets), low), np.full(len(budgets), high), SCAN, axis=1)
    for _ in range(ZOOMS):
        paid, _ = _apart(panel, alike, np.exp(grid), budgets)
        shares = alike.choices(paid)[:, :, 0]
        at = (np.sqrt(shares @ panel.variance) / shares.sum(axis=-1)).argmin(axis=1)
        found = paid[rows, at, 0]
        grid = np.linspace(grid[rows, np.maximum(at - 1, 0)], grid[rows, np.minimum(at + 1, SCAN - 1)], SCAN, axis=1)
    return np.asarray(found)


def least_error(panel: AskedPanel, population: Producers, found: Point) -> float:
    """The bound: an error that no rewards of the same cost come below. Lines lie close together around the found."""
    low, high = _span(panel)
    at = 2 * float(found.shares @ panel.variance) / float(found.shares.sum())  # where the error is stationary
    near = at * np.exp(np.concatenate([-np.geomspace(3, 1e-4, LINES), [0.0], np.geomspace(1e-4, 3, LINES)]))
    never = np.array([0.0, *(-np.exp([low, high]))])  # lines that say how few can be made to take part
    slopes = np.concatenate([never, np.exp(np.linspace(low, high, SCAN // 2)), near])
    _, heights = _apart(panel, population, slopes[None], np.array([found.cost]))
    return _lowest(panel, slopes, heights[0])


def _span(panel: AskedPanel) -> tuple[float, float]:
    """Logarithms of what one more participant can be worth: all magnitudes of variance."""
    varied = panel.variance[panel.variance > 0]
    return (float(np.log(varied.min() / 100)), float(np.log(varied.max() * 1000))) if len(varied) else (-1.0, 1.0)


def _apart(
    panel: AskedPanel, population: Producers, c: FloatArray, budgets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """For values c (B, S) of one more participant: rewards (B, S, C, K) of classes paid apart, and h(c) (B, S)."""
    benefit = (c[:, :, None] - panel.variance).reshape(-1, len(panel.variance))
    paid, bound = apart_within(population, benefit, np.repeat(budgets, c.shape[1]))
    return paid.reshape(*c.shape, *paid.shape[1:]), bound.reshape(c.shape)


def _lowest(panel: AskedPanel, slopes: FloatArray, heights: FloatArray) -> float:
    """The least error on or above the lines V = c P - h(c), for P up to 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = (heights[:, None] - heights) / (slopes[:, None] - slopes)
    taking = np.append(crossing[np.isfinite(crossing) & (crossing > 0) & (crossing < 1)], 1.0)
    noise = np.maximum((slopes[:, None] * taking - heights[:, None]).max(axis=0), 0.0)
    at = int(np.argmin(noise / taking**2))
    return panel.error_of(float(taking[at]), float(noise[at]))


def costliest(panel: AskedPanel, population: Producers) -> Point:
    """Where money buys nothing more: everyone takes the least noisy setting but for one in 10^4."""
    quiet = int(np.argmin(panel.variance))
    behind = (np.maximum(population.appeal.max(axis=1), 0.0) - population.appeal[:, quiet]) / population.money
    rewards = np.zeros(len(panel.variance))
    rewards[quiet] = float(max(behind.max(), 0.0) + np.log(1e4 * (len(rewards) + 1)) / population.money.min())
    return point(panel, population, rewards)


def budgets_of_curve(panel: AskedPanel, population: Producers, points: int) -> FloatArray:
    """Budgets from nothing to where money stops paying: all but a thousandth of what can be had."""
    alike = population.average
    last = costliest(panel, alike)
    halves = last.cost / 2.0 ** np.arange(24)
    found = scanned(panel, alike, np.append(halves, 0.0))
    errors = np.array([point(panel, alike, each).error for each in found])
    enough = halves[errors[:-1] <= errors[-1] - 0.999 * (errors[-1] - last.error)]
    most = float(enough.min()) if len(enough) else last.cost
    return np.array([0.0, *np.geomspace(most / 200, most, points - 1)])


def budget_for(panel: AskedPanel, population: Producers, error: float) -> float:
    """About the budget at which the best rewards give that error, were all producers the average one."""
    alike = population.average
    high = costliest(panel, alike).cost

    def excess(budget: float) -> float:
        return point(panel, alike, scanned(panel, alike, np.array([budget]))[0]).error - error

    if excess(high) >= 0 or excess(0.0) <= 0:
        return high if excess(high) >= 0 else 0.0
    return float(brentq(excess, 0.0, high, rtol=1e-3))


def check_error_reach(panel: AskedPanel, population: Producers, error: float) -> None:
    """An OptionError if no money brings the error of a total down to ``error``."""
    most = costliest(panel, population)
    if most.error > error:
        raise OptionError(
            f"no reward brings the error of a total to {error:.3g}: {most.error:.3g} is the least that "
            f"{panel.producers:,} producers give; about {panel.producers_for(error, most.shares):,.0f} would",
            kind="reach",
        )
