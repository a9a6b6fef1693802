"""``halfmask reward design``: draw rewards at random, so that their effect can be learned."""

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask.commands._files import write_csv
from halfmask.commands._options import AnyMenu, command
from halfmask.commands._printing import print_rows
from halfmask.commands._shared_options import MayWrite, Seeded, menu_of

if TYPE_CHECKING:
    from halfmask.arrays import FloatArray


class RewardDesign(Seeded, MayWrite):
    """Options of `reward_design`.

    Parameters
    ----------
    menu
        A menu or offer.
    low
        The least reward per report.
    high
        The largest reward per report.
    groups
        How many different schedules: one for each group of producers, or for each period.
    output
        The schedules to write (CSV: group and one column per setting).
    seed
        The same seed gives the same schedules.
    """

    menu: AnyMenu = field(kw_only=False)
    low: int = 0
    high: int = 10
    groups: int = 12

    def save(self, made: "tuple[tuple[str, ...], FloatArray]", path: Path) -> None:
        write_csv(path, schedule_rows(*made))


@command(RewardDesign, group="Share: service")
def reward_design(options: RewardDesign) -> "tuple[tuple[str, ...], FloatArray]":
    """Draw schedules of whole rewards, from which the worth of privacy and the worth of money can both be learned."""
    from halfmask.rewards.reward_design import designed
    from halfmask.streams import stream

    menu = menu_of(options.menu)
    rng = stream(options.seed, "rewards.design")
    return menu.ids, designed(len(menu.ids), options.groups, options.low, options.high, rng)


def main(options: RewardDesign) -> None:
    """Draw rewards at random, so that their effect can be learned from what producers choose."""
    ids, drawn = reward_design(options)
    print_rows(schedule_rows(ids, drawn), "Rewards per report")


def schedule_rows(ids: "tuple[str, ...]", drawn: "FloatArray") -> list[list[str]]:
    """Return a table, headings first: for each group its number, and the reward of each setting."""
    return [["group", *ids], *([f"{group}", *(f"{each:.0f}" for each in row)] for group, row in enumerate(drawn, 1))]
