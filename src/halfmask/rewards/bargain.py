"""Bargaining over privacy and utility: alternating offers between the consumer and the producers.

This turns the paper's relations 3 and 4 into a protocol. Both sides start from the current setting, with privacy q and
utility u. Producers ask for privacy above q + delta, the consumer for utility above u + c. In round t of T both lower
their demands in equal steps, and the consumer raises the reward up to its maximum r:

    delta_t = delta + (t/T) (least_delta - delta),  c_t = c + (t/T) (least_c - c),  r_t = (t/T) r

Each round has two parts:

1. Of the settings with utility above u + c_t, the consumer offers the one that most producers would accept at r_t.
   Producer n accepts if worth_n (privacy - q - delta_t) + money r_t >= 0. If at least half accept, there is a deal.
2. Otherwise producers elect one of the settings with privacy above q + delta_t. The consumer accepts it if its utility
   is above u + c_t.

There is a deal whenever some setting is acceptable to both after their last concession. Otherwise the result states the
reason.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.choice.vote import Rule, vote
from halfmask.errors import OptionError
from halfmask.menus.menu import Menu, MenuSetting
from halfmask.rewards.choice_model import ChoiceModel

MAJORITY = 0.5
MOST_ROUNDS = 200


@dataclass(frozen=True)
class BargainRound:
    """One round: the demands, the consumer's offer, the share of producers that accept it, and their counter-offer."""

    number: int
    delta: float
    c: float
    reward: float
    offered: str | None
    accepted_by: float
    answered: str | None


@dataclass(frozen=True)
class Deal:
    """The setting and the reward per report that both sides accept, and the side that accepted the other's offer."""

    setting: MenuSetting
    reward: float
    accepted_by: str


@dataclass(frozen=True)
class Bargain:
    """All rounds, and the deal. Without a deal, ``reason`` explains why."""

    rounds: tuple[BargainRound, ...]
    deal: Deal | None
    reason: str = ""


def bargain(
    menu: Menu,
    current: str,
    model: ChoiceModel,
    *,
    delta: float,
    c: float,
    reward: float,
    least_delta: float = 0.0,
    least_c: float = 0.0,
    rounds: int = 10,
    producers: int = 1001,
    rule: Rule = "median",
    rng: np.random.Generator,
) -> Bargain:
    """Let both sides make offers until one accepts, or until the last round.

    ``current``                 id of the setting from which both start
    ``delta``, ``least_delta``  first and last demand of producers for more privacy
    ``c``, ``least_c``          first and last demand of the consumer for more utility
    ``reward``                  largest reward per report
    ``producers``               number of producers drawn from the model
    ``rule``                    voting rule by which producers elect their counter-offer
    """
    _check(delta, c, reward, least_delta, least_c, rounds)
    now = menu[current]
    if producers < 1:
        raise OptionError(f"{producers} producers cannot bargain: take 1 or more", kind="producers")
    worth = model.worth + model.spread * rng.standard_normal(producers)
    told: list[BargainRound] = []
    for number in range(rounds):
        part = number / (rounds - 1)
        ask, want = delta + part * (least_delta - delta), c + part * (least_c - c)
        pay = part * reward
        private, useful = now.privacy.median + ask, now.utility.median + want
        offered, share = _best_liked(menu.settings, worth, model.money * pay, private, useful)
        if offered is not None and share >= MAJORITY:
            told.append(BargainRound(number + 1, ask, want, pay, offered.id, share, None))
            return Bargain(tuple(told), Deal(offered, pay, "producers"))
        answer = _elected(menu, worth, private, rule)
        told.append(BargainRound(number + 1, ask, want, pay, _id(offered), share, _id(answer)))
        if answer is not None and answer.utility.median > useful:
            return Bargain(tuple(told), Deal(answer, pay, "consumer"))
    return Bargain(tuple(told), None, _reason(told[-1], now))


def _check(delta: float, c: float, reward: float, least_delta: float, least_c: float, rounds: int) -> None:
    """Raise an OptionError if demands are not finite or rise, or if the number of rounds is not 2 to `MOST_ROUNDS`."""
    named = {"delta": delta, "c": c, "reward": reward, "least_delta": least_delta, "least_c": least_c}
    for name, value in named.items():
        if not math.isfinite(value):
            raise OptionError(f"`{name}` {value} is not a finite number", kind="finite")
    for name in ("delta", "c"):
        first, last = named[name], named[f"least_{name}"]
        if last > first:
            raise OptionError(
                f"`least_{name}` {last:g}, the last demand, is above `{name}` {first:g}, the first, and both sides "
                f"can only concede: name a `least_{name}` of {first:g} or less",
                kind="rising",
            )
    if reward < 0:
        raise OptionError(
            f"`reward` {reward:g} is below 0: name what the consumer pays per report at the most", kind="below"
        )
    if not 2 <= rounds <= MOST_ROUNDS:
        raise OptionError(f"`rounds` {rounds:,} is not from 2 to {MOST_ROUNDS}", kind="rounds")


def _best_liked(
    settings: Sequence[MenuSetting], worth: FloatArray, money: float, private: float, useful: float
) -> tuple[MenuSetting | None, float]:
    """Return the setting that most producers accept, of those useful enough, and the share that accepts it.

    Ties go to the more useful setting. If no setting is useful enough, return (None, 0).
    """
    liked = [
        (float(np.mean(worth * (each.privacy.median - private) + money >= 0)), each.utility.median, each)
        for each in settings
        if each.utility.median > useful
    ]
    if not liked:
        return None, 0.0
    share, _, best = max(liked, key=lambda each: each[:2])
    return best, share


def _elected(menu: Menu, worth: FloatArray, private: float, rule: Rule) -> MenuSetting | None:
    """Return the setting that producers elect, of those private enough; None if there is none.

    Producers who value privacy more than the median producer rank the most private setting first. The others rank the
    least private first: it meets their demand, and the consumer is most likely to accept it.
    """
    enough = sorted((each for each in menu.settings if each.privacy.median > private), key=lambda e: e.privacy.median)
    if not enough:
        return None
    up, down = [each.id for each in reversed(enough)], [each.id for each in enough]
    middle = float(np.median(worth))
    ballots = [down if value <= middle else up for value in worth]
    return vote(menu, ballots, rule).winner


def _id(setting: MenuSetting | None) -> str | None:
    return None if setting is None else setting.id


def _reason(last: BargainRound, now: MenuSetting) -> str:
    asked = f"privacy above {now.privacy.median + last.delta:.3f}, utility above {now.utility.median + last.c:.3f}"
    if last.offered is None and last.answered is None:
        return f"no setting is private enough and none is useful enough ({asked})"
    if last.offered is None:
        return f"no setting is useful enough ({asked}); producers would take {last.answered}"
    if last.answered is None:
        return f"no setting is private enough ({asked}); {last.accepted_by:.2%} of producers accept {last.offered}"
    return (
        f"{last.accepted_by:.2%} of producers accept {last.offered} for {last.reward:.3g} a report, half are needed, "
        f"and {last.answered}, which they ask for, is not useful enough ({asked})"
    )
