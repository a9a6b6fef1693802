"""``halfmask vote``: one setting for all, by vote."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from cyclopts import Parameter

from halfmask.commands._options import AnyBallots, AnyMenu, Options, command, held
from halfmask.commands._output import note, print_rows

if TYPE_CHECKING:
    from halfmask.choice.vote import Election

GROUP = "Choose"


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


def main(options: Vote) -> None:
    """Choose one setting for all by vote."""
    found = vote(options)
    title = f"{found.voters} voters, by {found.rule}: {found.winner.id} ({found.winner.setting})"
    print_rows(election_rows(found), title)
    if found.note:
        note(found.note)


def election_rows(found: "Election") -> list[list[str]]:
    """The tally, with the winner and those it was tied with."""
    marks = {found.winner.id: "wins"} | {id: "tied" for id in found.tied if id != found.winner.id}
    return [["id", "tally", ""]] + [[id, f"{count:g}", marks.get(id, "")] for id, count in found.tally.items()]
