"""``halfmask vote``: choose one setting for all by vote."""

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from halfmask.commands._options import AnyBallots, AnyMenu, Options, command
from halfmask.commands._printing import note, print_rows
from halfmask.commands._shared_options import menu_of

if TYPE_CHECKING:
    from halfmask.choice.vote import Election


class Vote(Options):
    """Options of `vote`.

    Parameters
    ----------
    menu
        A file that 'halfmask offer' or 'halfmask optimize' wrote.
    preferences
        CSV, one row per voter: ids of the menu, best first (approval: the approved ones).
    rule
        The voting rule.
    """

    positional: ClassVar[tuple[str, ...]] = ("menu", "preferences", "rule")

    menu: AnyMenu = field(default=Path("offer.json"), kw_only=False)
    preferences: AnyBallots
    rule: Literal["plurality", "borda", "approval", "condorcet", "median"] = "plurality"


@command(Vote, group="Choose")
def vote(options: Vote) -> "Election":
    """Choose one setting for all by vote; Python also takes the ballots themselves, as lists of ids."""
    from halfmask.choice.vote import read_preferences
    from halfmask.choice.vote import vote as count_votes

    menu, given = menu_of(options.menu), options.preferences
    ballots = read_preferences(given, menu) if isinstance(given, str | Path) else given
    return count_votes(menu, ballots, options.rule)


def main(options: Vote) -> None:
    """Choose one setting for all by vote."""
    found = vote(options)
    title = f"{found.voters} voters, by {found.rule}: {found.winner.id} ({found.winner.setting})"
    print_rows(election_rows(found), title)
    if found.tied:
        tied = f"{', '.join(found.tied[:-1])} and {found.tied[-1]}"
        print(f"A tie of {tied}: the one with the highest median privacy wins, so that nobody loses privacy by it.")
    if found.note:
        note(found.note)


def election_rows(found: "Election") -> list[list[str]]:
    """Return the tally as a table, headings first, with the winner and the settings that tied with it."""
    marks = {found.winner.id: "wins"} | {id: "tied" for id in found.tied if id != found.winner.id}
    return [["id", "tally", ""]] + [[id, f"{count:g}", marks.get(id, "")] for id, count in found.tally.items()]
