"""``halfmask reward design``: rewards drawn at random, so that what they do can be learned."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from cyclopts import Parameter

from halfmask.commands._options import AnyMenu, Options, OutputIfAny, command, held
from halfmask.commands._output import note, print_rows

if TYPE_CHECKING:
    from halfmask.arrays import FloatArray

GROUP = "Share: service"


@Parameter(name="*")
@dataclass(frozen=True)
class RewardDesign(Options):
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
        How many different schedules: one for each group of producers, or for each period in turn.
    output
        The schedules to write (CSV: group and one column per setting).
    seed
        The same seed gives the same schedules.
    """

    menu: AnyMenu
    _: KW_ONLY
    low: int = 0
    high: int = 10
    groups: int = 12
    output: OutputIfAny = None
    seed: int = 7


@command(RewardDesign)
def reward_design(options: RewardDesign) -> "tuple[tuple[str, ...], FloatArray]":
    """Schedules of whole rewards from which the worth of privacy and of money can be told apart."""
    import csv

    from halfmask.files import whole_file
    from halfmask.menus.menu import Menu
    from halfmask.rewards.reward_design import designed
    from halfmask.streams import stream

    menu = held(Menu, options.menu)
    drawn = designed(len(menu.ids), options.groups, options.low, options.high, stream(options.seed, "rewards.design"))
    if options.output is not None:
        with whole_file(options.output) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["group", *menu.ids])
            writer.writerows([number + 1, *map(int, row)] for number, row in enumerate(drawn))
    return menu.ids, drawn


def main(options: RewardDesign) -> None:
    """Rewards drawn at random, so that what they do can be learned from who chooses what."""
    ids, drawn = reward_design(options)
    rows = [["group", *ids], *([str(number + 1), *(f"{each:.0f}" for each in row)] for number, row in enumerate(drawn))]
    print_rows(rows, "Rewards per report")
    if options.output is not None:
        note(f"wrote {options.output}")
