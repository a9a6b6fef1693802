"""Elections of one setting for all: plurality, Borda, approval, Condorcet, or the median voter.

A file of preferences has one row per voter: ids of the menu, best first (`C,B,A`). For approval the order does not
matter. Rows may have different lengths: settings that a voter leaves out rank below all others. If the first cell is
``voter``, the first row holds headings, and the first column names the voters.

A tie is won by the setting with the highest median privacy. Under Condorcet's rule, ties are first decided by Borda
points.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal, get_args

from halfmask.choice.requirements import read_rows
from halfmask.errors import OptionError, SourceError
from halfmask.menus.menu import Menu, MenuSetting

Rule = Literal["plurality", "borda", "approval", "condorcet", "median"]
Ballot = Sequence[str]


@dataclass(frozen=True)
class Election:
    """The winner and the tally.

    ``tally``  first choices (plurality and median), points (Borda), approvals, or pairwise wins minus losses
               (Condorcet)
    ``tied``   settings with the same tally, of which one was chosen as the module describes; empty without a tie
    ``note``   explains the result if necessary
    """

    rule: Rule
    winner: MenuSetting
    tally: dict[str, float]
    voters: int
    tied: tuple[str, ...]
    note: str = ""


def vote(menu: Menu, ballots: Sequence[Ballot], rule: Rule = "plurality") -> Election:
    """Return the result of an election."""
    if rule not in get_args(Rule):
        raise OptionError(f"rule '{rule}' is none of {', '.join(get_args(Rule))}", kind="rule")
    if not ballots:
        raise OptionError("there are no voters: a vote needs at least one ballot", kind="empty")
    for number, ballot in enumerate(ballots, 1):
        _check(menu, ballot, f"ballot {number}")
    return _RULES[rule](menu, ballots)


def read_preferences(path: str | Path, menu: Menu) -> list[list[str]]:
    """Read ballots from a CSV file. Raise a SourceError with the row if a setting is unknown."""
    rows = read_rows(path)
    named = bool(rows) and rows[0][1][0].lower() == "voter"
    ballots = []
    for number, row in rows[1:] if named else rows:
        ballot = [cell for cell in row[1 if named else 0 :] if cell]
        _check(menu, ballot, f"{path}, row {number}")
        ballots.append(ballot)
    if not ballots:
        raise SourceError(f"{path}: there are no voters in it: write a row each, ids best first: C,B,A", kind="empty")
    return ballots


def _check(menu: Menu, ballot: Ballot, place: str) -> None:
    for id in ballot:
        if id not in menu.ids:
            raise SourceError(
                f"{place}: '{id}' is not on the menu, which has {', '.join(menu.ids)}", kind="setting", place=place
            )
    if not ballot or len(set(ballot)) != len(ballot):
        raise SourceError(
            f"{place}: a ballot names at least one setting, and each once, not '{','.join(ballot)}'",
            kind="ballot",
            place=place,
        )


def _elected(menu: Menu, rule: Rule, tally: dict[str, float], voters: int) -> Election:
    """Return the election with the largest tally as the winner. Ties go to higher privacy."""
    top = max(tally.values())
    first = [id for id in menu.ids if tally[id] == top]
    winner = max((menu[id] for id in first), key=lambda each: each.privacy.median)
    return Election(rule, winner, tally, voters, tuple(first) if len(first) > 1 else ())


def _plurality(menu: Menu, ballots: Sequence[Ballot]) -> Election:
    tally = {id: float(sum(ballot[0] == id for ballot in ballots)) for id in menu.ids}
    return _elected(menu, "plurality", tally, len(ballots))


def _approval(menu: Menu, ballots: Sequence[Ballot]) -> Election:
    tally = {id: float(sum(id in ballot for ballot in ballots)) for id in menu.ids}
    return _elected(menu, "approval", tally, len(ballots))


def _borda_points(menu: Menu, ballots: Sequence[Ballot]) -> dict[str, float]:
    """Return Borda points: of m settings, the first gets m - 1 points, and each further one a point less.

    Settings that a voter leaves out share the remaining points evenly.
    """
    last = len(menu.ids) - 1
    tally = dict.fromkeys(menu.ids, 0.0)
    for ballot in ballots:
        for place, id in enumerate(ballot):
            tally[id] += last - place
        for id in set(menu.ids) - set(ballot):
            tally[id] += (last - len(ballot)) / 2
    return tally


def _borda(menu: Menu, ballots: Sequence[Ballot]) -> Election:
    return _elected(menu, "borda", _borda_points(menu, ballots), len(ballots))


def _condorcet(menu: Menu, ballots: Sequence[Ballot]) -> Election:
    """Elect the setting that beats every other one in pairs.

    Without one, the setting with the most wins minus losses is elected (Copeland). Ties are decided by Borda points.
    """
    ranks = [{id: place for place, id in enumerate(ballot)} for ballot in ballots]
    last = len(menu.ids)
    tally = dict.fromkeys(menu.ids, 0.0)
    for one, other in combinations(menu.ids, 2):
        lead = sum(
            (rank.get(one, last) < rank.get(other, last)) - (rank.get(other, last) < rank.get(one, last))
            for rank in ranks
        )
        tally[one] += (lead > 0) - (lead < 0)
        tally[other] += (lead < 0) - (lead > 0)
    top = max(tally.values())
    if top == last - 1:
        return _elected(menu, "condorcet", tally, len(ballots))
    first = [id for id in menu.ids if tally[id] == top]
    points = _borda_points(menu, ballots)
    among = _elected(menu, "condorcet", {id: points[id] if id in first else -1.0 for id in menu.ids}, len(ballots))
    note = "no setting beats every other: the most pairwise wins less losses decide, then Borda points"
    return Election("condorcet", among.winner, tally, len(ballots), tuple(first) if len(first) > 1 else (), note)


def _median(menu: Menu, ballots: Sequence[Ballot]) -> Election:
    """Elect the first choice of the middle voter, in order of privacy. Of two middle voters, the one for more privacy
    counts.

    No other setting would beat it in pairs if every voter prefers settings closer to its first choice.
    """
    order = sorted(menu.settings, key=lambda each: each.privacy.median)
    tally = {each.id: float(sum(ballot[0] == each.id for ballot in ballots)) for each in order}
    voters = [each for each in order for _ in range(int(tally[each.id]))]
    low, high = voters[(len(voters) - 1) // 2], voters[len(voters) // 2]
    tied = (low.id, high.id) if low.id != high.id else ()
    return Election("median", high, tally, len(ballots), tied)


_RULES: dict[Rule, Callable[[Menu, Sequence[Ballot]], Election]] = {
    "plurality": _plurality,
    "borda": _borda,
    "approval": _approval,
    "condorcet": _condorcet,
    "median": _median,
}
