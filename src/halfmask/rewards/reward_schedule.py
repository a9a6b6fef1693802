"""Rewards for the settings of a menu, for a panel, a model of producers and a target.

Rewards are per report, in the campaign's smallest unit of money. The target is a budget, an error of the total, or a
value of the paper's utility. Rewards are computed with and without honest prices. Honest prices make the total less
exact within a budget, or cost more for the same error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from halfmask.errors import OptionError
from halfmask.menus.menu import Menu
from halfmask.plain import from_plain, to_plain
from halfmask.profiles.profile import Profile
from halfmask.rewards.asked_panel import WITHIN, least_error
from halfmask.rewards.choice_model import ChoiceModel
from halfmask.rewards.honest_prices import arbitrage, dominated, splits
from halfmask.rewards.market import CurvePoint, End, Isoline, Market, RewardOffer
from halfmask.rewards.reward_search import best, in_whole_units

FORMAT, VERSION = "halfmask schedule", 4


@dataclass(frozen=True)
class Schedule:
    """The best offer with honest prices (``honest``), the best one without (``free``), and related results.

    ``whole``      the honest offer in integer units of money, which a campaign can publish; None if none meets the
                   target
    ``bound``      lower bound of ``within`` for all rewards at the cost of the free offer
    ``split``      settings whose totals are split between two services
    ``edges``      settings whose noise is not bounded by Fisher information; if there are any, ``honest`` only rules
                   out averaging
    ``arbitrage``  sentences on how the free offer can be exploited
    ``splitting``, ``dominated``  sentences on how the honest offer can be exploited
    ``end``        kind and value of the target
    """

    honest: RewardOffer
    free: RewardOffer
    whole: RewardOffer | None
    bound: float
    curve: tuple[CurvePoint, ...]
    equal: tuple[Isoline, ...]
    noise: Mapping[str, float]
    split: tuple[str, ...]
    edges: tuple[str, ...]
    arbitrage: tuple[str, ...]
    splitting: tuple[str, ...]
    dominated: tuple[str, ...]
    producers: int
    reports: float
    end: tuple[str, float]
    about: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the content of the schedule's file."""
        return {"format": FORMAT, "version": VERSION, **to_plain(self)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "Schedule":
        """Rebuild a schedule from the result of `to_json`. Raise a ValueError if it is damaged."""
        found = from_plain(plain, cls)
        offers = [each for each in (found.honest, found.free, found.whole) if each is not None]
        if len({tuple(of) for each in offers for of in (each.rewards, each.shares)}) > 1:
            raise ValueError("its offers are of different settings")
        return found

    @property
    def honesty_costs(self) -> float:
        """The relative increase due to honest prices: of the total's error if a budget is given, else of the cost."""
        if self.end[0] == "budget":
            return self.honest.within / self.free.within - 1 if self.free.within else 0.0
        return self.honest.cost / self.free.cost - 1 if self.free.cost else 0.0


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
    """Return the rewards that best meet the target, with and without honest prices.

    ``end``            kind of the target: "budget", "within" or "utility"
    ``target``         budget per period, largest relative error of the total, or the paper's utility
    ``producers``      number of producers asked; by default those of the profile
    ``least_privacy``  least average privacy of those who take part
    ``uncertain``      optimise over draws of the model's parameters
    """
    profile = menu.masked_profile(profile, other_data=other_data)
    if not target > 0:
        raise OptionError(f"{end} {target:g} is not above 0", kind="target")
    market = Market(menu, profile, producers)
    people = market.population(model, uncertain, seed)
    free = best(market.problem(people, end, target, least_privacy, honest=False))
    problem = market.problem(people, end, target, least_privacy, honest=True)
    honest = best(problem, [free.rewards])
    whole = in_whole_units(problem, honest)
    ids, offer = menu.ids, market.offer(honest)
    return Schedule(
        honest=offer,
        free=market.offer(free),
        whole=None if whole is None else market.offer(whole),
        bound=WITHIN * min(least_error(market.panel, people, free), free.error),
        curve=market.curve(people),
        equal=market.equal(offer.utility),
        noise={each.id: each.noise_std or 0.0 for each in menu.settings},
        split=tuple(id for id, is_split in zip(ids, market.split, strict=True) if is_split),
        edges=tuple(id for id, has in zip(ids, market.edges, strict=True) if has),
        arbitrage=tuple(
            f"{ids[each.instead_of]} for {each.price:.3g} is beaten by "
            + " + ".join(f"{count:,} x {ids[k]}" for k, count in each.counts.items())
            + f" for {each.cost:.3g}"
            for each in arbitrage(free.rewards, market.information, market.information)
        ),
        splitting=tuple(
            f"one who shows {ids[each.one]} earns {each.together:.3g} instead of {each.reward:.3g} as {each.copies:,} "
            f"who show {ids[each.into]}"
            for each in splits(honest.rewards, market.information)
        ),
        dominated=tuple(
            f"Privacy and pay alone are no reason to choose {ids[worse]}, since {ids[better]} is at least as private "
            f"and pays at least as much; by the model {honest.shares[worse]:.1%} of producers choose it all the same"
            for worse, better in dominated(honest.rewards, market.privacy)
        ),
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


def honesty_told(found: Schedule) -> str:
    """Return a sentence on what honest prices rule out and cost."""
    if found.edges:
        told = (
            f"The noise of {', '.join(found.edges)} has edges, or no law that is known: several reports of one reading "
            "tell more than their average, and no bound says how much. So these rewards are proof against averaging "
            "alone, and not honest; settings of Laplace, normal or logistic noise have honest ones. This"
        )
    else:
        told = "No unbiased estimate from several noisier reports of a reading replaces a clear one for less. This"
    if found.end[0] == "budget":
        return f"{told} makes the total's error {found.honesty_costs:.2%} wider within the same budget."
    return f"{told} costs {found.honesty_costs:.2%} more money for the same total."


def split_told(found: Schedule) -> str:
    """Return a sentence on the effect of split settings on rewards; empty without split settings."""
    if not found.split:
        return ""
    return (
        f"A report of {', '.join(found.split)} adds no noise of its own to the total, so it is worth as much to the "
        "consumer as an open one: a producer who changes from it to a lighter level hardly helps, and paying for that "
        "buys next to nothing."
    )


def bound_told(found: Schedule) -> str:
    """Return a sentence on how far the free rewards may be from the best possible ones."""
    told = f"At the cost of the rewards without that demand, no rewards bring the total closer than {found.bound:.2%}"
    gap = found.free.within / found.bound - 1 if found.bound else 0.0
    return f"{told}: they are the best." if gap < 1e-4 else f"{told}: theirs is at most {gap:.2%} wider."
