"""Votes: textbook elections, laws that every rule keeps, and bad ballots."""

from itertools import permutations
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.choice.vote import Rule, read_preferences, vote
from halfmask.commands.vote import election_rows
from tests.choice.test_requirements import by_hand
from tests.refusals import refused

RULES = get_args(Rule)
ballots = st.lists(st.permutations(list("ABCDN")).map(tuple), min_size=1, max_size=12)

# The textbooks' capital of Tennessee: A is Memphis, B Nashville, C Knoxville, D Chattanooga.
CAPITAL = [
    *[["A", "B", "D", "C"]] * 42,
    *[["B", "D", "C", "A"]] * 26,
    *[["D", "C", "B", "A"]] * 15,
    *[["C", "D", "B", "A"]] * 17,
]


def test_a_textbook_election() -> None:
    """First places elect A; pairs and points elect B."""
    assert vote(by_hand(), CAPITAL, "plurality").winner.id == "A"
    assert vote(by_hand(), CAPITAL, "condorcet").winner.id == "B"
    borda = vote(by_hand(), CAPITAL, "borda")
    assert borda.winner.id == "B"
    assert borda.tally == {"A": 42 * 4 + 58, "B": 42 * 3 + 26 * 4 + 32 * 2, "C": 42 + 26 * 2 + 15 * 3 + 17 * 4,
                           "D": 42 * 2 + 26 * 3 + 15 * 4 + 17 * 3, "N": 0.0}  # fmt: skip


def test_approval_and_the_median_voter() -> None:
    approving = [["A", "B"], ["B"], ["C", "B"], ["D"]]
    assert vote(by_hand(), approving, "approval").tally == {"A": 1, "B": 3, "C": 1, "D": 1, "N": 0}
    assert vote(by_hand(), [["N"], ["A"], ["C"], ["D"], ["D"]], "median").winner.id == "C"
    even = vote(by_hand(), [["N"], ["A"], ["C"], ["D"]], "median")
    assert (even.winner.id, even.tied) == ("C", ("A", "C"))


def test_ties_go_to_the_more_private() -> None:
    tie = vote(by_hand(), [["A"], ["D"], ["A"], ["D"], ["B"]], "plurality")
    assert (tie.winner.id, tie.tied) == ("D", ("A", "D"))
    assert ["A", "2", "tied"] in election_rows(tie)
    assert ["D", "2", "wins"] in election_rows(tie)


def test_a_circle_has_no_condorcet_winner_and_says_how_it_is_broken() -> None:
    circle = vote(by_hand(), [["A", "B", "C"], ["B", "C", "A"], ["C", "A", "B"]], "condorcet")
    assert "no setting beats every other" in circle.note
    assert circle.winner.id == "C"
    assert circle.tied == ("A", "B", "C")
    # a circle again, with wins equal but not points: points decide before privacy, which would elect C
    uneven = [["A", "B", "C"], ["A", "B", "C"], ["B", "C", "A"], ["B", "C", "A"], ["C", "A", "B"]]
    assert vote(by_hand(), uneven, "condorcet").winner.id == "B"


@pytest.mark.parametrize("rule", RULES)
@given(ballots)
def test_every_rule_elects_the_unanimous_and_is_blind_to_the_voters_order(rule: Rule, cast: list) -> None:
    assert vote(by_hand(), [cast[0][:1]] * 3, rule).winner.id == cast[0][0]
    first = vote(by_hand(), cast, rule)
    assert vote(by_hand(), cast[::-1], rule) == first
    assert first.winner.id in by_hand().ids
    assert first.voters == len(cast)


@given(ballots)
def test_the_condorcet_winner_beats_every_other(cast: list) -> None:
    beaten = {
        (a, b)
        for a, b in permutations("ABCDN", 2)
        if sum(ballot.index(a) < ballot.index(b) for ballot in cast) * 2 > len(cast)
    }
    winners = [a for a in "ABCDN" if all((a, b) in beaten for b in "ABCDN" if b != a)]
    found = vote(by_hand(), cast, "condorcet")
    assert bool(found.note) == (not winners)
    assert not winners or found.winner.id == winners[0]


def test_preferences_are_read_with_and_without_voters_names(tmp_path: Path) -> None:
    path = tmp_path / "prefs.csv"
    path.write_text("voter,first,second\nann,C,B\n\nbob,A,\n")
    assert read_preferences(path, by_hand()) == [["C", "B"], ["A"]]
    path.write_text("C, B ,A\nN\n")
    assert read_preferences(path, by_hand()) == [["C", "B", "A"], ["N"]]


@pytest.mark.parametrize(
    ("text", "code", "row"),
    [
        ("A,B\nC,Z\n", "source.setting", "row 2"),
        ("voter,1\nann,Z\n", "source.setting", "row 2"),
        ("A,A\n", "source.ballot", "row 1"),
        ("voter,1\nann,\n", "source.ballot", "row 2"),
        ("", "source.empty", ""),
        ("voter,1\n", "source.empty", ""),
    ],
)
def test_bad_preferences_name_file_and_row(tmp_path: Path, text: str, code: str, row: str) -> None:
    path = tmp_path / "prefs.csv"
    path.write_text(text)
    with refused(code) as caught:
        read_preferences(path, by_hand())
    assert caught.value.place.endswith(row)
    assert "prefs.csv" in str(caught.value)


def test_bad_votes_are_refused() -> None:
    with refused("option.empty"):
        vote(by_hand(), [])
    with refused("option.rule"):
        vote(by_hand(), [["A"]], "dictator")  # type: ignore[arg-type]
    with refused("source.setting", place="ballot 2"):
        vote(by_hand(), [["A"], ["Q"]])
