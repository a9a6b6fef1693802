"""``halfmask vote``: choose one setting for all by vote."""

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from halfmask.commands._options import AnyBallots, AnyMenu, Options, command
from halfmask.commands._printing import CommandAnswer
from halfmask.commands._shared_options import IN_SHORT, Display, menu_of, profile_beside

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


RULES = (
    "plurality: most first choices; borda: most points by place; approval: on most ballots; condorcet: most pairwise "
    "wins minus losses; median: the middle first choice, in order of privacy"
)


@command(Vote, group="Choose")
def vote(options: Vote) -> "Election":
    """Choose one setting for all by vote; Python also takes the ballots themselves, as lists of ids."""
    from halfmask.choice.vote import read_preferences
    from halfmask.choice.vote import vote as count_votes

    menu, given = menu_of(options.menu), options.preferences
    ballots = read_preferences(given, menu) if isinstance(given, str | Path) else given
    return count_votes(menu, ballots, options.rule)


def main(options: Vote, *, shown: Display = IN_SHORT) -> None:
    """Choose one setting for all by vote."""
    from halfmask.plain import to_plain

    found = vote(options)
    title = f"{found.voters} voters, by {found.rule}: {found.winner.id} ({found.winner.setting})"
    then = f"halfmask audit {options.menu} --profile {profile_beside(options.menu)}"
    shown.show(
        CommandAnswer(
            to_plain(found),
            [(title, election_rows(found))],
            f"{found.winner.id} wins by {found.rule}. {_tie(found)} {found.note}".strip(),
            then,
            words=[RULES],
        )
    )


def _tie(found: "Election") -> str:
    """Return the rule that decided a tie; empty without one."""
    if not found.tied:
        return ""
    tied = f"{', '.join(found.tied[:-1])} and {found.tied[-1]}"
    return f"A tie of {tied}: the one with the highest median privacy wins, so that nobody loses privacy by it."


def election_rows(found: "Election") -> list[list[str]]:
    """Return the tally as a table, headings first, with the winner and the settings that tied with it."""
    marks = {found.winner.id: "wins"} | {id: "tied" for id in found.tied if id != found.winner.id}
    return [["id", "tally", ""]] + [[id, f"{count:g}", marks.get(id, "")] for id, count in found.tally.items()]
