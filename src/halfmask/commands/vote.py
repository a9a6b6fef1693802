"""One setting for all, by vote."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from cyclopts import Parameter

from halfmask.commands._options import AnyBallots, AnyMenu, Options, command, held

if TYPE_CHECKING:
    from halfmask.choice.vote import Election


@Parameter(name="*")
@dataclass(frozen=True)
class Vote(Options):
    """Options of `vote`.

    Parameters
    ----------
    menu
        A file that 'halfmask optimize' wrote.
    preferences
        CSV, one row per voter: ids of the menu, best first (approval: the approved ones).
    rule
        How votes are counted.
    """

    positional: ClassVar[tuple[str, ...]] = ("menu", "preferences", "rule")

    menu: AnyMenu = Path("menu.json")
    _: KW_ONLY
    preferences: AnyBallots
    rule: Literal["plurality", "borda", "approval", "condorcet", "median"] = "plurality"


@command(Vote)
def vote(options: Vote) -> "Election":
    """Choose one setting for all by vote; Python also takes the ballots themselves, as lists of ids."""
    from halfmask.choice.vote import read_preferences
    from halfmask.choice.vote import vote as count_votes
    from halfmask.menus.menu import Menu

    menu, given = held(Menu, options.menu), options.preferences
    ballots = read_preferences(given, menu) if isinstance(given, str | Path) else given
    return count_votes(menu, ballots, options.rule)
