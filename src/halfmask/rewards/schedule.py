"""A reward for every setting of a menu: worked out for a panel, a model of producers and an end, and made honest.

Rewards are per report, in the campaign's smallest unit of money. The end is a budget, an error of the total, or a
utility of the paper's. Utility follows from the error alone: the global error of a period is that of a normal variable
whose deviation is the error of that period's total, so its mean, deviation and expected entropy are known.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import erf

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.evaluation.analytic.expected_entropy import expected_entropy
from halfmask.evaluation.sampling import eligible
from halfmask.evaluation.scores import utility
from halfmask.menus.menu import Menu
from halfmask.profiles.profile import Profile
from halfmask.rewards.honest import arbitrage, dominated, honest_within, splits
from halfmask.rewards.model import ChoiceModel, Population
from halfmask.rewards.optimum import measured
from halfmask.rewards.totals import WITHIN, Panel, Point, best_error, cheapest, curve, keeping_privacy

BIN = 0.001
DRAWS = 40
"""Draws of an uncertain model over which rewards are optimised."""

End = Literal["budget", "within", "utility"]


@dataclass(frozen=True)
class Offer:
    """Rewards by id, who is expected to take what, and what that costs and gives.

    ``rewards`` are per report; ``cost`` is all that is expected to be paid in a period; ``within`` is the share of the
    truth that the total keeps within in 95 of 100 periods; ``utility`` is the paper's.
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
    """What a period's budget buys: the price is the money that one unit of paper utility more would cost there."""

    budget: float
    within: float
    utility: float
    taking_part: float
    price: float | None


FORMAT, VERSION = "halfmask schedule", 1


@dataclass(frozen=True)
class Schedule:
    """The honest offer, the best one without that demand, and what was found on the way.

    ``arbitrage``, ``splitting`` and ``dominated`` say in words where the free offer could be beaten. ``gap`` is how
    much more the free offer could be worth at most where producers differ, in money per period.
    """

    honest: Offer
    free: Offer
    whole: Offer
    curve: tuple[CurvePoint, ...]
    arbitrage: tuple[str, ...]
    splitting: tuple[str, ...]
    dominated: tuple[str, ...]
    gap: float
    producers: int
    reports: float
    end: tuple[str, float]
    about: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The schedule as plain data, as its file holds it."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "Schedule":
        """The schedule that `to_json` wrote; a KeyError, TypeError or ValueError where it is damaged."""
        honest, free, whole = (Offer(**plain[name]) for name in ("honest", "free", "whole"))
        if len({tuple(of) for each in (honest, free, whole) for of in (each.rewards, each.shares)}) > 1:
            raise ValueError("its offers are of different settings")
        arbitrage, splitting, dominated = (tuple(plain[name]) for name in ("arbitrage", "splitting", "dominated"))
        end, target = plain["end"]
        return cls(
            honest, free, whole, tuple(CurvePoint(**each) for each in plain["curve"]), arbitrage, splitting, dominated,
            float(plain["gap"]), int(plain["producers"]), float(plain["reports"]), (str(end), float(target)),
            dict(plain["about"]),
        )  # fmt: skip

    @property
    def honesty_costs(self) -> float:
        """How much wider the total's error is under honest rewards, as a share of the free one's."""
        return self.honest.within / self.free.within - 1 if self.free.within else 0.0


def schedule(
    menu: Menu,
    profile: Profile,
    model: ChoiceModel,
    end: End,
    target: float,
    *,
    producers: int | None = None,
    least_privacy: float | None = None,
    uncertain: bool = False,
    seed: int = 7,
    other_data: bool = False,
) -> Schedule:
    """Work out rewards that spend at most ``target`` a period, keep the total within it, or reach that utility."""
    menu.check_data(profile, other_data=other_data)
    market = _Market(menu, profile, producers)
    people = market.population(model, uncertain, seed)
    point = _solve(market, people, end, target, least_privacy)
    budget = target / market.scale if end == "budget" else max(point.optimum.cost, 1e-12)
    honest = honest_within(people, point.benefit, market.information, point.optimum, budget)
    whole = np.floor(honest.rewards + 1e-9)
    ids = menu.ids
    found = arbitrage(point.optimum.rewards, market.information)
    return Schedule(
        honest=market.offer(people, honest.rewards),
        free=market.offer(people, point.optimum.rewards),
        whole=market.offer(people, whole),
        curve=market.curve(people),
        arbitrage=tuple(
            f"{ids[each.instead_of]} for {each.price:.3g} is beaten by "
            + " + ".join(f"{count:,} x {ids[k]}" for k, count in each.counts.items())
            + f" for {each.cost:.3g}"
            for each in found
        ),
        splitting=tuple(
            f"one who shows {ids[each.one]} earns {each.together:.3g} instead of {each.reward:.3g} as {each.copies:,} "
            f"who show {ids[each.into]}"
            for each in splits(honest.rewards, market.information)
        ),
        dominated=tuple(
            f"{ids[worse]}: {ids[better]} is as private and pays as much"
            for worse, better in dominated(honest.rewards, market.privacy)
        ),
        gap=point.optimum.gap * market.scale,
        producers=market.panel.producers,
        reports=market.panel.reports,
        end=(end, target),
        about={
            "fingerprint": profile.fingerprint(),
            "seed": seed,
            "uncertain": uncertain,
            "least_privacy": least_privacy,
            "menu": list(ids),
        },
    )


def _solve(market: "_Market", people: Population, end: End, target: float, least_privacy: float | None) -> Point:
    panel = market.panel
    if not target > 0:
        raise OptionError(f"{end} {target:g} is not above 0")
    if end == "budget":
        if least_privacy is None:
            return best_error(panel, people, target / market.scale)
        return keeping_privacy(panel, people, target / market.scale, market.privacy, least_privacy)
    if least_privacy is not None:
        raise OptionError("a least average privacy goes with a budget")
    return cheapest(panel, people, target / WITHIN if end == "within" else market.error_for(target))


class _Market:
    """A menu on a panel: everything that rewards are worked out from, as arrays in the menu's order."""

    def __init__(self, menu: Menu, profile: Profile, producers: int | None) -> None:
        unknown = [each.id for each in menu.settings if each.noise_std is None]
        if unknown:
            raise OptionError(
                f"setting {unknown[0]} has no known noise, so what it is worth cannot be told: leave it out"
            )
        self.menu = menu
        rows = eligible(profile)
        readings, periods = float(profile.rows["readings"][rows].sum()), len(profile.periods)
        sums = profile.cells[rows].sum(axis=0)
        n, s1 = sums[:, 0], np.abs(sums[:, 1])
        held = (n > 0) & (s1 > 0)
        if not held.any():
            raise OptionError("every period's total is zero: no relative error can be bought")
        people = int(profile.rows["members"][rows].sum())
        self.panel = Panel(
            producers=producers or people,
            reports=readings / (people * periods),
            size=float(s1[held].sum() / n[held].sum()),
            variance=np.array([each.noise_std or 0.0 for each in menu.settings]) ** 2,
        )
        # a period's error beside that of the average period
        self.beside = (np.sqrt(n[held]) / s1[held]) * math.sqrt(float(n[held].mean())) * self.panel.size
        self.periods = int(held.sum())
        self.privacy = np.array([each.privacy.median for each in menu.settings])
        with np.errstate(divide="ignore"):
            self.information = 1 / self.panel.variance

    @property
    def scale(self) -> float:
        """Reports of all producers in a period."""
        return self.panel.producers * self.panel.reports

    def population(self, model: ChoiceModel, uncertain: bool, seed: int) -> Population:
        if not uncertain:
            return model.population(self.privacy)
        return model.draws(self.privacy, DRAWS, np.random.default_rng(seed))

    def utility(self, error: float) -> float:
        """The paper's utility where the average period's total has that relative standard error."""
        sigma = error * self.beside
        mean = math.sqrt(2 / math.pi) * float(sigma.mean())
        deviation = math.sqrt(max(float((sigma**2).mean()) - mean**2, 0.0))
        edges = np.arange(0.0, 8 * float(sigma.max()) + 2 * BIN, BIN)[:20_000]
        held = erf(edges[None] / (math.sqrt(2) * np.maximum(sigma[:, None], 1e-300))).mean(axis=0)
        entropy = expected_entropy(np.append(np.diff(held), 1 - held[-1]), self.periods)
        metrics = np.array([0.0, 0.0, 0.0, mean, deviation, entropy])
        return float(utility(metrics[None], self.menu.largest, self.menu.weights)[0])

    def error_for(self, wanted: float) -> float:
        """The error at which the utility is ``wanted``."""
        low, high = 1e-9, 1e3
        if not self.utility(high) < wanted < self.utility(low):
            raise OptionError(f"a utility of {wanted:g} is out of reach: it lies below {self.utility(low):.3f}")
        return math.exp(brentq(lambda x: self.utility(math.exp(x)) - wanted, math.log(low), math.log(high), xtol=1e-6))

    def offer(self, people: Population, rewards: FloatArray) -> Offer:
        found = measured(people, np.zeros(len(rewards)), rewards, 1.0)
        error = self.panel.error(found.shares)
        return Offer(
            self._named(rewards),
            self._named(found.shares),
            found.cost * self.scale,
            WITHIN * error,
            self.utility(error),
            float(found.shares @ self.privacy / found.shares.sum()),
        )

    def _named(self, values: FloatArray) -> dict[str, float]:
        return dict(zip(self.menu.ids, map(float, values), strict=True))

    def curve(self, people: Population) -> tuple[CurvePoint, ...]:
        points = curve(self.panel, people, points=16)
        made = [(each.optimum.cost * self.scale, each, self.utility(each.error)) for each in points]
        prices: list[float | None] = [None]
        for (cost, _, gained), (before, _, had) in zip(made[1:], made[:-1], strict=True):
            prices.append((cost - before) / (gained - had) if gained > had else None)
        return tuple(
            CurvePoint(cost, each.within, gained, float(each.optimum.shares.sum()), price)
            for (cost, each, gained), price in zip(made, prices, strict=True)
        )
