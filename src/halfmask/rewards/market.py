"""A menu and a panel of producers: the cost of shares of settings, and their utility as defined in the paper.

Utility follows from the error of a total: the global error of a period is |x|, where x is normal with the total's error
as its standard deviation. So its mean, deviation and expected entropy are known.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import erf

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.evaluation.analytic.expected_entropy import expected_entropy
from halfmask.evaluation.sampling import eligible
from halfmask.evaluation.scores import utility
from halfmask.evaluation.split_totals import SERVICES
from halfmask.menus.menu import Menu
from halfmask.profiles.profile import Profile
from halfmask.rewards.asked_panel import WITHIN, AskedPanel, Point, budgets_of_curve, scanned
from halfmask.rewards.choice_model import ChoiceModel, Producers
from halfmask.rewards.honest_prices import least_ratios
from halfmask.rewards.reward_search import Problem, best
from halfmask.streams import stream
from halfmask_device.setting import SPLIT

BIN = 0.001
CURVE = 16
DRAWS = 40
"""Number of draws of the model's uncertain parameters."""
CLOSE = 1e-9
UTILITIES = (0.5, 0.6, 0.7, 0.8, 0.9)

End = Literal["budget", "within", "utility"]


@dataclass(frozen=True)
class RewardOffer:
    """Rewards, and the expected outcome.

    ``rewards``  per report, by id
    ``shares``   share of producers that takes each setting, by id
    ``cost``     expected payments in a period
    ``within``   relative error of the total that is not exceeded in 95 of 100 periods
    ``utility``  the paper's utility
    ``privacy``  mean privacy of those who take part
    """

    rewards: Mapping[str, float]
    shares: Mapping[str, float]
    cost: float
    within: float
    utility: float
    privacy: float

    @property
    def taking_part(self) -> float:
        """The share of all producers who take part."""
        return sum(self.shares.values())


@dataclass(frozen=True)
class CurvePoint:
    """The outcome of a budget.

    ``price``  cost of one more unit of the paper's utility at this point; None if money does not increase it
    """

    budget: float
    within: float
    utility: float
    taking_part: float
    price: float | None


@dataclass(frozen=True)
class Isoline:
    """A utility, and the number of producers that reach it if all use one setting, by id; below 1 if one is enough."""

    utility: float
    within: float
    producers: Mapping[str, float]

    @property
    def whole(self) -> dict[str, int]:
        """The number of producers rounded up, by id."""
        return {id: max(math.ceil(each * (1 - CLOSE)), 1) for id, each in self.producers.items()}


class Market:
    """A menu and a panel: all inputs of the search for rewards, as arrays in the menu's order.

    ``split``        which settings are split
    ``information``  information 1/v of one report about its producer; 0 for a split setting
    ``most``         the most information that a report adds to others (see `honest_prices`)
    ``edges``        settings whose noise has edges; for these, ``most`` holds for averages only
    """

    def __init__(self, menu: Menu, profile: Profile, producers: int | None) -> None:
        unknown = [each.id for each in menu.settings if each.noise_std is None]
        if unknown:
            raise OptionError(
                f"setting {unknown[0]} has no known noise, so what it is worth cannot be told: leave it out", kind="law"
            )
        self.menu = menu
        self.split = np.array([each.setting.release == SPLIT for each in menu.settings])
        variance = np.array([each.noise_std or 0.0 for each in menu.settings]) ** 2
        rows = eligible(profile)
        readings, periods = float(profile.rows["readings"][rows].sum()), len(profile.periods)
        sums = profile.cells[rows].sum(axis=0)
        n, s1 = sums[:, 0], np.abs(sums[:, 1])
        held = (n > 0) & (s1 > 0)
        if not held.any():
            raise OptionError("every period's total is zero: no relative error can be bought", kind="zeros")
        people = int(profile.rows["members"][rows].sum())
        self.panel = AskedPanel(
            producers=producers or people,
            reports=readings / (people * periods),
            size=float(s1[held].sum() / n[held].sum()),
            variance=np.where(self.split, 0.0, variance),
            split=np.where(self.split, SERVICES * variance, 0.0),
        )
        # a period's error relative to that of the average period
        self.beside = (np.sqrt(n[held]) / s1[held]) * math.sqrt(float(n[held].mean())) * self.panel.size
        self.periods = int(held.sum())
        self.privacy = np.array([each.privacy.median for each in menu.settings])
        with np.errstate(divide="ignore"):
            self.information = np.where(self.split, 0.0, 1 / self.panel.variance)
        beyond = np.array([each.setting.law.fisher for each in menu.settings])  # averaging
        self.edges = np.isinf(beyond) & (self.panel.variance > 0)
        self.most = self.information * np.where(self.edges, 1.0, beyond)

    @property
    def scale(self) -> float:
        """The number of reports of all producers in a period."""
        return self.panel.producers * self.panel.reports

    def population(self, model: ChoiceModel, uncertain: bool, seed: int) -> Producers:
        """Return the classes of producers, under draws of the model's parameters if ``uncertain``."""
        if not uncertain:
            return model.population(self.privacy)
        return model.draws(self.privacy, DRAWS, stream(seed, "rewards.draws"))

    def problem(
        self, people: Producers, end: End, target: float, least_privacy: float | None, *, honest: bool
    ) -> Problem:
        """Return the search problem for a target of kind ``end``, in units per producer and report."""
        ratios = least_ratios(self.information, self.most) if honest else None
        if end == "budget":
            budget, error = target / self.scale, None
        else:
            budget, error = None, target / WITHIN if end == "within" else self.error_for(target)
        return Problem(self.panel, people, self.privacy, budget, error, least_privacy, ratios)

    def utility(self, error: float) -> float:
        """Return the paper's utility if the total of an average period has this relative standard error."""
        sigma = error * self.beside
        mean = math.sqrt(2 / math.pi) * float(sigma.mean())
        deviation = math.sqrt(max(float((sigma**2).mean()) - mean**2, 0.0))
        edges = np.arange(0.0, 8 * float(sigma.max()) + 2 * BIN, BIN)[:20_000]
        held = erf(edges[None] / (math.sqrt(2) * np.maximum(sigma[:, None], 1e-300))).mean(axis=0)
        entropy = expected_entropy(np.append(np.diff(held), 1 - held[-1]), self.periods)
        metrics = np.array([0.0, 0.0, 0.0, mean, deviation, entropy])
        return float(utility(metrics[None], self.menu.largest, self.menu.weights)[0])

    def error_for(self, wanted: float) -> float:
        """Return the error at which the utility is ``wanted``. Raise an OptionError if there is none."""
        low, high = 1e-9, 1e3
        if not self.utility(high) < wanted < self.utility(low):
            raise OptionError(
                f"a utility of {wanted:g} is out of reach: it lies below {self.utility(low):.3f}", kind="reach"
            )
        return math.exp(brentq(lambda x: self.utility(math.exp(x)) - wanted, math.log(low), math.log(high), xtol=1e-6))

    def offer(self, found: Point) -> RewardOffer:
        """Convert an outcome to an offer: by id, and for all producers in a period."""
        return RewardOffer(
            self._named(found.rewards),
            self._named(found.shares),
            found.cost * self.scale,
            found.within,
            self.utility(found.error),
            float(found.shares @ self.privacy / found.shares.sum()),
        )

    def _named(self, values: FloatArray) -> dict[str, float]:
        return dict(zip(self.menu.ids, map(float, values), strict=True))

    def curve(self, people: Producers) -> tuple[CurvePoint, ...]:
        """Return the outcomes of budgets, up to the budget beyond which more money hardly helps.

        Each search also starts from the result for the budget before.
        """
        points: list[Point] = []
        budgets = budgets_of_curve(self.panel, people, CURVE)
        for budget, start in zip(budgets, scanned(self.panel, people, budgets), strict=True):
            problem = Problem(self.panel, people, self.privacy, float(budget))
            points.append(best(problem, [start, *(each.rewards for each in points[-1:])]))
        made = [(each.cost * self.scale, each, self.utility(each.error)) for each in points]
        prices: list[float | None] = [None]
        for (cost, _, gained), (before, _, had) in pairwise(reversed(made)):
            prices.append((cost - before) / (gained - had) if gained > had else None)
        return tuple(
            CurvePoint(cost, each.within, gained, float(each.shares.sum()), price)
            for (cost, each, gained), price in zip(made, reversed(prices), strict=True)
        )

    def equal(self, own: float) -> tuple[Isoline, ...]:
        """Return lines of equal utility: at the utility ``own`` and at the values of `UTILITIES`."""
        lines = []
        for wanted in sorted({own, *UTILITIES}):
            if not self.utility(1e3) < wanted < self.utility(1e-9):
                continue
            error = self.error_for(wanted)
            alone = np.eye(len(self.privacy))
            needed = [self.panel.producers_for(error, shares) for shares in alone]
            lines.append(Isoline(wanted, WITHIN * error, self._named(np.array(needed))))
        return tuple(lines)
