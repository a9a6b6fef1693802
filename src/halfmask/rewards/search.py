"""The best rewards under demands: a budget or an error, an average privacy, honest prices; producers who may differ.

Rewards r >= 0 are searched by sequential quadratic programming with exact slopes, from many starts. For producers who
are all alike and without further demands the closed form of `halfmask.rewards.optimum` is one of the starts, and the
best. Otherwise the problem is not concave; `halfmask.rewards.totals.least_error` bounds how far off the result can be.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.rewards.honest import enough, repaired, repaired_whole
from halfmask.rewards.model import Producers
from halfmask.rewards.totals import AskedPanel, Point, budget_for, check_reach, point, scanned

SHARES = (3.0, 2.0, 1.5, 1.2, 1.0, 0.7, 0.4, 0.0)
TIGHT = 1e-7
"""Demands are met by this much more than asked, so that rounding breaks none."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Whom to pay and what for: a ``budget`` per producer and report, or else an ``error`` of the total.

    ``least_privacy`` is the average privacy of those who take part; ``information`` is given where rewards must be
    honest.
    """

    panel: AskedPanel
    people: Producers
    privacy: FloatArray
    budget: float | None = None
    error: float | None = None
    least_privacy: float | None = None
    information: FloatArray | None = None

    def loss(self, found: Point) -> float:
        """What is to be small: the error within a budget, the cost for an error."""
        return found.error if self.budget is not None else found.cost

    def better(self, one: Point, other: Point) -> bool:
        """Whether ``one`` is the better of two that meet all demands."""
        return self.loss(one) < self.loss(other)

    def meets(self, found: Point) -> bool:
        """Whether all demands are met."""
        return (
            (self.budget is None or found.cost <= self.budget * (1 + 1e-9) + 1e-12)
            and (self.error is None or found.error <= self.error * (1 + 1e-9))
            and (self.least_privacy is None or self._average(found.shares) >= self.least_privacy - 1e-12)
            and (self.information is None or enough(found.rewards, self.information))
        )

    def _average(self, shares: FloatArray) -> float:
        return float(shares @ self.privacy / shares.sum())

    @cached_property
    def honesty(self) -> FloatArray:
        """(Q, K): rows q with q r >= 0 where r does not fall and r / i does not rise with information."""
        if self.information is None:
            return np.zeros((0, len(self.privacy)))
        rows = []
        for low, high in pairwise(np.argsort(self.information, kind="stable")):
            step = np.zeros(len(self.privacy))
            step[[low, high]] = -1.0, 1.0
            rows.append(step)
            if np.isfinite(self.information[high]):
                fall = np.zeros(len(self.privacy))
                fall[low], fall[high] = 1.0, -self.information[low] / self.information[high]
                rows.append(fall)
        return np.array(rows).reshape(-1, len(self.privacy))


def best(problem: Problem, starts: Sequence[FloatArray] = ()) -> Point:
    """The best rewards that meet all demands of the problem; an OptionError where none do."""
    panel, people = problem.panel, problem.people
    if problem.error is not None:
        check_reach(panel, people, problem.error)
    if not starts:
        budget = problem.budget if problem.error is None else budget_for(panel, people, problem.error)
        starts = [scanned(panel, people, np.array([budget]))[0]]
    tried = list(starts)
    if problem.information is not None:
        tried += [share * repaired(each, problem.information) for each in starts for share in (1.0, 0.6)]
    if problem.least_privacy is not None:
        tried += [share * starts[0].max() * problem.privacy for share in (1.0, 0.3)]
    if len(people.weight) > 1:
        tried += [0.5 * starts[0], np.full(len(starts[0]), starts[0].mean())]
    found: Point | None = None
    for start in tried:
        for rewards in (start, _searched(problem, start)):
            at = _settled(problem, rewards)
            if at is not None and (found is None or problem.better(at, found)):
                found = at
    if found is None:
        raise OptionError(_nothing(problem))
    return found


def in_whole_units(problem: Problem, near: Point) -> Point | None:
    """Whole rewards near the best ones that meet all demands; None where none were found.

    Roundings of ``near`` at several scales, each improved by one unit of one or two settings at a time.
    """
    known: dict[bytes, Point] = {}

    def at(rewards: FloatArray) -> Point:
        whole = np.maximum(rewards, 0.0)
        if problem.information is not None:
            whole = repaired_whole(whole, problem.information)
        if whole.tobytes() not in known:
            known[whole.tobytes()] = point(problem.panel, problem.people, whole)
        return known[whole.tobytes()]

    found, moves = None, _moves(len(near.rewards))
    for share in SHARES:
        here, place = None, np.floor(share * near.rewards)
        while True:
            allowed = [each for each in (at(place + move) for move in moves) if problem.meets(each)]
            step = min(allowed, key=problem.loss, default=None)
            if step is None or (here is not None and not problem.better(step, here)):
                break
            here, place = step, step.rewards
        if here is not None and (found is None or problem.better(here, found)):
            found = here
    return found


def _moves(settings: int) -> list[FloatArray]:
    """Nothing, and one unit up or down of each setting and of each two."""
    unit = np.eye(settings)
    steps = [sign * unit[k] for k in range(settings) for sign in (1.0, -1.0)]
    return [np.zeros(settings), *steps, *(one + other for one, other in combinations(steps, 2))]


def _searched(problem: Problem, start: FloatArray) -> FloatArray:
    """Sequential quadratic programming from one start, with rewards in units of 1 / money."""
    people, variance, unit = problem.people, problem.panel.variance, 1 / float(problem.people.average.money[0])
    scale = problem.panel.size * np.sqrt(problem.panel.producers * problem.panel.reports)

    def cost(x: FloatArray) -> tuple[float, FloatArray]:
        shares, slope = people.slopes(unit * x)
        return float(shares @ x), np.asarray(shares + unit * (x @ slope))

    def log_error(x: FloatArray) -> tuple[float, FloatArray]:
        shares, slope = people.slopes(unit * x)
        noise, taking = max(float(shares @ variance), 1e-300), float(shares.sum())
        value = 0.5 * np.log(noise) - np.log(taking) - np.log(scale)
        return float(value), np.asarray(unit * ((variance / (2 * noise) - 1 / taking) @ slope))

    demands: list[dict[str, Any]] = []

    def demand(value: Any, slope: Any) -> None:
        demands.append({"type": "ineq", "fun": value, "jac": slope})

    goal = log_error
    if problem.budget is not None:
        most = problem.budget / unit
        demand(lambda x: most - cost(x)[0], lambda x: -cost(x)[1])
    if problem.error is not None:
        goal, least = cost, float(np.log(problem.error)) - TIGHT
        demand(lambda x: least - log_error(x)[0], lambda x: -log_error(x)[1])
    if problem.least_privacy is not None:
        above = problem.privacy - problem.least_privacy - TIGHT
        demand(lambda x: people.shares(unit * x) @ above, lambda x: unit * (above @ people.slopes(unit * x)[1]))
    if len(problem.honesty):
        demand(lambda x: problem.honesty @ x, lambda _: problem.honesty)
    found = minimize(
        goal, start / unit, jac=True, method="SLSQP", bounds=[(0, None)] * len(start), constraints=demands,
        options={"ftol": 1e-10, "maxiter": 200},
    )  # fmt: skip
    return np.asarray(unit * np.maximum(found.x, 0.0))


def _settled(problem: Problem, rewards: FloatArray) -> Point | None:
    """Rewards made honest, then scaled a little until the budget or the error is kept; None where that fails."""
    if not np.isfinite(rewards).all():
        return None
    if problem.information is not None:
        rewards = repaired(rewards, problem.information)
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
    if problem.least_privacy is not None:
        return (
            f"no reward keeps the average privacy of those who take part at {problem.least_privacy:g} and meets the "
            "rest of what is asked: ask for less privacy, or give more room"
        )
    return "no reward meets all that is asked: give more room"
