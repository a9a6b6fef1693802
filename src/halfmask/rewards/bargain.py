"""Bargaining over privacy and utility: alternating offers between the consumer and the producers' vote.

The paper's relations 3 and 4 as a protocol. Both sides start from the current setting, with privacy q and utility u.
Producers ask for privacy above q + delta, the consumer for utility above u + c. In round t of T both concede in equal
steps, and the consumer lets the reward grow up to what it can pay:

    delta_t = delta + (t/T) (least_delta - delta),     c_t = c + (t/T) (least_c - c),     r_t = (t/T) r

1. The consumer offers, of the settings with utility above u + c_t, the one that most producers would accept at r_t.
   Producer n accepts if worth_n (privacy - q - delta_t) + money r_t >= 0; half of them make a deal.
2. Else the producers answer with the setting that their vote elects among those with privacy above q + delta_t. The
   consumer accepts if its utility is above u + c_t.

So a deal is found if there is one that both accept after their last concession; otherwise the answer says what is
missing.
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
    """One round: what was offered, how many producers would have it, and what they answered."""

    number: int
    delta: float
    c: float
    reward: float
    offered: str | None
    accepted_by: float
    answered: str | None


@dataclass(frozen=True)
class Deal:
    """The setting and the reward per report that both sides accept, and who accepted whose offer."""

    setting: MenuSetting
    reward: float
    accepted_by: str


@dataclass(frozen=True)
class Bargain:
    """How it went; without a ``deal``, ``reason`` says what stood between the two."""

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
    """Let both sides make offers until one accepts, or until both have conceded all they will."""
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
    """Demands that are finite and can only fall, and as many rounds as are worth telling one by one."""
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
    """Of the settings that are useful enough, the one that most producers accept; the more useful one of equals."""
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
    """The setting that producers elect among those private enough.

    Those to whom privacy is worth more than to the median producer rank the most private first. The others rank the
    least private first: it meets their demand, and the consumer is likeliest to accept it.
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
