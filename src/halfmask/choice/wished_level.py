"""Advice from wishes for epsilon and reward: which level of an offer meets them.

It uses no reading of the producer, so the choice reveals only the wish.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from halfmask.errors import OptionError
from halfmask.menus.menu import Menu, MenuSetting
from halfmask.menus.question import MONTH, UNITS, WHOLE, KeptPromise, Question, question_of
from halfmask.results import Shown

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class WishedLevel:
    """One level: its guarantee for the question asked, its reward, and whether it meets the wish."""

    entry: MenuSetting
    promise: KeptPromise
    reward: float | None
    meets: bool


@dataclass(frozen=True)
class WishedLevels(Shown):
    """The advice: of the levels that meet the wish, the best paid one; of equally paid ones, the one with the least
    noise.

    If no level meets it, ``chosen`` has the strongest guarantee.

    ``question``  what the guarantees cover
    """

    chosen: WishedLevel
    levels: tuple[WishedLevel, ...]
    question: Question

    def __repr__(self) -> str:
        level = self.chosen
        return f"<WishedLevels: {level.entry.id} {level.entry.setting}{'' if level.meets else ', closest'}>"

    def to_arrow(self) -> "pa.Table":
        """Return a table with one row per level: its guarantee and its reward."""
        import pyarrow as pa

        rows = [
            {
                "chosen": each is self.chosen,
                "meets": each.meets,
                "id": each.entry.id,
                "level": each.entry.name,
                "setting": str(each.entry.setting),
                "epsilon": each.promise.epsilon,
                "against": each.entry.against,
                "reward": each.reward,
            }
            for each in self.levels
        ]
        return pa.Table.from_pylist(rows)


def wished_level(
    menu: Menu,
    epsilon: float,
    *,
    protect: str | None = None,
    change: float | None = None,
    rewards: Mapping[str, float] | None = None,
    least_reward: float | None = None,
) -> WishedLevels:
    """Return the level of an offer that guarantees ``epsilon``.

    ``protect``       what may change (see `question`); by default what the offer covers
    ``change``        largest change of a reading, if ``protect`` is reading or day
    ``rewards``       reward of each level, by id
    ``least_reward``  least reward that is wished
    """
    if not 0 < epsilon < math.inf:
        raise OptionError(f"epsilon {epsilon:g}: wish for a number above 0, as in 2", kind="range", field="epsilon")
    if least_reward is not None and not rewards:
        raise OptionError("a least reward needs the reward of each setting", kind="rewards", field="reward")
    asked = _question(menu, protect, change)
    levels = []
    for each in menu.settings:
        promise, reward = asked.promise(each.setting), (rewards or {}).get(each.id)
        kept = promise.epsilon is not None and promise.epsilon <= epsilon
        paid = least_reward is None or (reward is not None and reward >= least_reward)
        levels.append(WishedLevel(each, promise, reward, kept and paid))

    def worth(level: WishedLevel) -> tuple[bool, float, float]:
        held = math.inf if level.promise.epsilon is None else level.promise.epsilon
        return level.meets, (level.reward or 0.0) if level.meets else 0.0, held if level.meets else -held

    return WishedLevels(max(levels, key=worth), tuple(levels), asked)


def _question(menu: Menu, protect: str | None, change: float | None) -> Question:
    asked = menu.question
    if asked is None:
        raise OptionError("this menu promises nothing: take an offer, or name `readings`", kind="offer", field="menu")
    protect = protect or asked.protect
    if protect == asked.protect and change is None:
        return asked
    if protect not in (*UNITS[:3], MONTH):
        raise OptionError(f"an offer does not say how long everything of a home is: take {MONTH}", field="protect")
    if protect in WHOLE and not asked.low < asked.high:
        raise OptionError("this offer has no bounds of totals: wish for a reading or a day", field="protect")
    if protect not in WHOLE and change is None and asked.protect in WHOLE:
        raise OptionError("say how far a reading may change: `change`", kind="missing", field="change")
    bounds = {"low": asked.low, "high": asked.high} if asked.low < asked.high else {}
    found = question_of(
        protect, asked.release, None, change=change or asked.change, window=asked.readings, delta=asked.delta,
        step=asked.step, unit=asked.unit, **bounds,
    )  # fmt: skip
    return replace(found, period=asked.period)
