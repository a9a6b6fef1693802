"""Search for the best rewards under a budget or an error. Least average privacy and honest prices can be required too.

Rewards r >= 0 are searched by sequential quadratic programming with exact gradients, from several starts. If all
producers are alike and nothing else is required, the closed form of `rewards.asked_panel` is optimal and is one of the
starts. Otherwise the problem is not concave, and the result may not be optimal; `rewards.asked_panel.least_error`
bounds its distance from the optimum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement, count
from math import comb
from typing import Any

import numpy as np
from scipy.optimize import minimize

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.rewards.asked_panel import AskedPanel, Point, budget_for, check_error_reach, costliest, point, scanned
from halfmask.rewards.choice_model import Producers
from halfmask.rewards.honest_prices import meets_ratios, repaired, repaired_whole, which_meet_ratios

LISTS, AT_ONCE = 20_000, 1000
"""The number of lists of integer rewards that are all tried, and the number evaluated at once."""
SHARES = (3.0, 2.0, 1.5, 1.2, 1.0, 0.7, 0.4, 0.0)
NOTHING = 1e-9
TIGHT = 1e-7
"""The margin by which requirements are exceeded, to allow for rounding."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The panel, the producers and the target.

    ``budget``         budget per producer and report, or None
    ``error``          error of the total, if ``budget`` is None
    ``least_privacy``  least average privacy of those who take part; None if not required
    ``ratios``         ratios that rewards must meet (`honest_prices.least_ratios`); None if not required
    """

    panel: AskedPanel
    people: Producers
    privacy: FloatArray
    budget: float | None = None
    error: float | None = None
    least_privacy: float | None = None
    ratios: FloatArray | None = None

    def loss(self, found: Point) -> float:
        """Return the number to minimise: the error if there is a budget, else the cost."""
        return found.error if self.budget is not None else found.cost

    def meets(self, found: Point) -> bool:
        """Return whether all requirements are met."""
        return (
            (self.budget is None or found.cost <= self.budget * (1 + 1e-9) + 1e-12)
            and (self.error is None or found.error <= self.error * (1 + 1e-9))
            and (
                self.least_privacy is None
                or found.shares @ self.privacy >= (self.least_privacy - 1e-12) * found.shares.sum()
            )
            and (self.ratios is None or meets_ratios(found.rewards, self.ratios))
        )

    @cached_property
    def honesty(self) -> FloatArray:
        """Rows q (Q, K): rewards r meet ``ratios`` exactly if q r >= 0 for all rows."""
        unit = np.eye(len(self.privacy))
        if self.ratios is None:
            return unit[:0]
        asked = np.argwhere((self.ratios > 0) & (unit == 0))
        return np.array([unit[j] - self.ratios[j, k] * unit[k] for j, k in asked]).reshape(-1, len(unit))


def best(problem: Problem, starts: Sequence[FloatArray] = ()) -> Point:
    """Return the best rewards found that meet all requirements. Raise an OptionError if there are none."""
    panel, people = problem.panel, problem.people
    if problem.error is not None:
        check_error_reach(panel, people, problem.error)
    if not starts:
        budget = problem.budget if problem.error is None else budget_for(panel, people, problem.error)
        starts = [scanned(panel, people, np.array([budget]))[0]]
    tried = list(starts)
    if problem.ratios is not None:
        tried += [share * repaired(each, problem.ratios) for each in starts for share in (1.0, 0.6)]
    if problem.least_privacy is not None:
        tried += [share * starts[0].max() * problem.privacy for share in (1.0, 0.3)]
    if len(people.weight) > 1:
        tried += [0.5 * starts[0], np.full(len(starts[0]), starts[0].mean())]
    found: Point | None = None
    for start in tried:
        for rewards in (start, _searched(problem, start)):
            at = _settled(problem, rewards)
            if at is not None and (found is None or problem.loss(at) < problem.loss(found)):
                found = at
    if found is None:
        raise OptionError(_nothing(problem), kind="reach")
    return found


def in_whole_units(problem: Problem, near: Point) -> Point | None:
    """Return the best integer rewards found that meet all requirements, or None.

    The search starts from the best lists of `_listed` and from roundings of ``near`` at several scales. Then it changes
    one or two rewards by one unit at a time. The result is at least as good as all lists of `_listed`.
    """
    known: dict[bytes, Point] = {}

    def at(rewards: FloatArray) -> Point:
        whole = np.maximum(rewards, 0.0)
        if problem.ratios is not None:
            whole = repaired_whole(whole, problem.ratios)
        if whole.tobytes() not in known:
            known[whole.tobytes()] = point(problem.panel, problem.people, whole)
        return known[whole.tobytes()]

    found, moves = None, _moves(len(near.rewards))
    for start in [*_listed(problem), *(np.floor(share * near.rewards) for share in SHARES)]:
        here, place = None, start
        while True:
            allowed = [each for each in (at(place + move) for move in moves) if problem.meets(each)]
            step = min(allowed, key=problem.loss, default=None)
            if step is None or (here is not None and problem.loss(step) >= problem.loss(here)):
                break
            here, place = step, step.rewards
        if here is not None and (found is None or problem.loss(here) < problem.loss(found)):
            found = here
    return found


def _listed(problem: Problem) -> list[FloatArray]:
    """Return the best list of small integer rewards, and the best list of coarse ones.

    In both, settings with less noise have at least the reward of noisier ones. Small lists contain all integers up to
    an amount for which there are about `LISTS` lists. Coarse lists have equally many steps, up to the amount beyond
    which money has no effect.
    """
    panel, settings = problem.panel, len(problem.privacy)
    most = next(m for m in count(1) if comb(m + 1 + settings, settings) > LISTS)
    lists = np.empty((comb(most + settings, settings), settings))
    rising = np.array(list(combinations_with_replacement(range(most + 1), settings)), float)
    lists[:, np.argsort(-panel.variance, kind="stable")] = rising
    coarse = np.ceil(costliest(panel, problem.people).rewards.max() / most)
    found = [_best_of(problem, unit * lists) for unit in {1.0, max(coarse, 1.0)}]
    return [each for each in found if each is not None]


def _best_of(problem: Problem, lists: FloatArray) -> FloatArray | None:
    """Return the best of lists (M, K) that meets all requirements, or None."""
    panel, people, best_yet, least = problem.panel, problem.people, None, np.inf
    if problem.ratios is not None:
        lists = lists[which_meet_ratios(lists, problem.ratios)]
    for some in np.array_split(lists, len(lists) // AT_ONCE + 1):
        shares = people.weight @ people.choices(some[:, None, :])
        cost, taking = (shares * some).sum(axis=1), shares.sum(axis=1)
        error = np.sqrt(panel.noise(shares) / (panel.producers * panel.reports)) / (panel.size * taking)
        loss = error if problem.budget is not None else cost
        for at in np.argsort(loss, kind="stable"):
            if not loss[at] < least:
                break
            if problem.meets(Point(some[at], shares[at], float(cost[at]), float(error[at]))):
                best_yet, least = some[at], float(loss[at])
                break
    return best_yet


def _moves(settings: int) -> list[FloatArray]:
    """Return the changes that are tried: none, and one unit up or down of one or two settings."""
    unit = np.eye(settings)
    steps = [sign * unit[k] for k in range(settings) for sign in (1.0, -1.0)]
    return [np.zeros(settings), *steps, *(one + other for one, other in combinations(steps, 2))]


def _searched(problem: Problem, start: FloatArray) -> FloatArray:
    """Run sequential quadratic programming from one start, with rewards in units of 1 / money."""
    people, variance, unit = problem.people, problem.panel.variance, 1 / float(problem.people.average.money[0])
    scale = problem.panel.size * np.sqrt(problem.panel.producers * problem.panel.reports)

    def cost(x: FloatArray) -> tuple[float, FloatArray]:
        shares, slope = people.slopes(unit * x)
        return float(shares @ x), np.asarray(shares + unit * (x @ slope))

    def log_error(x: FloatArray) -> tuple[float, FloatArray]:
        shares, slope = people.slopes(unit * x)
        noise, taking = max(float(problem.panel.noise(shares)), 1e-300), float(shares.sum())
        value = 0.5 * np.log(noise) - np.log(taking) - np.log(scale)
        return float(value), np.asarray(unit * ((variance / (2 * noise) - 1 / taking) @ slope))

    demands: list[tuple[Any, Any]] = []
    goal = log_error
    if problem.budget is not None:
        most = problem.budget / unit
        demands.append((lambda x: most - cost(x)[0], lambda x: -cost(x)[1]))
    if problem.error is not None:
        goal, least = cost, float(np.log(problem.error)) - TIGHT
        demands.append((lambda x: least - log_error(x)[0], lambda x: -log_error(x)[1]))
    if problem.least_privacy is not None:
        above = problem.privacy - problem.least_privacy - TIGHT
        demands.append(
            (lambda x: people.shares(unit * x) @ above, lambda x: unit * (above @ people.slopes(unit * x)[1]))
        )
    if len(problem.honesty):
        demands.append((lambda x: problem.honesty @ x, lambda _: problem.honesty))
    found = minimize(
        goal, start / unit, jac=True, method="SLSQP", bounds=[(0, None)] * len(start),
        constraints=[{"type": "ineq", "fun": value, "jac": slope} for value, slope in demands],
        options={"ftol": 1e-10, "maxiter": 200},
    )  # fmt: skip
    return np.asarray(unit * np.maximum(found.x, 0.0))


def _settled(problem: Problem, rewards: FloatArray) -> Point | None:
    """Make rewards honest, scale them down to the budget, and return the outcome; None if a requirement is not met."""
    if not np.isfinite(rewards).all():
        return None
    rewards = np.where(rewards > NOTHING * rewards.max(), rewards, 0.0)  # remove rounding errors of a reward of 0
    if problem.ratios is not None:
        rewards = repaired(rewards, problem.ratios)
    at = point(problem.panel, problem.people, rewards)
    if problem.budget is not None and at.cost > problem.budget:
        low, high = 0.0, 1.0
        for _ in range(50):  # the cost grows along the ray, and honest rewards stay honest
            middle = (low + high) / 2
            over = point(problem.panel, problem.people, middle * rewards).cost > problem.budget
            low, high = (low, middle) if over else (middle, high)
        at = point(problem.panel, problem.people, low * rewards)
    return at if problem.meets(at) else None


def _nothing(problem: Problem) -> str:
    reward = "reward" if problem.ratios is None else "honest reward"
    if problem.least_privacy is not None:
        return (
            f"no {reward} keeps the average privacy of those who take part at {problem.least_privacy:g} and meets the "
            "rest of what is asked: ask for less privacy, or give more room"
        )
    return f"no {reward} meets all that is asked: give more room"
