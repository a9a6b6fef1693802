"""Relations 3 and 4: by hand, by search, and where nothing does."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.choice.mix import mix
from halfmask.choice.requirements import assign, choose, read_deltas
from halfmask.commands.choose import assignment_rows, choice_rows
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.scores import Weights
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, MenuSetting, Score, none_setting
from tests.choice.cases import homes, menu
from tests.refusals import refused


def by_hand() -> Menu:
    """A: (.1, .95), B: (.3, .9), C: (.5, .8), D: (.7, .6), and none."""
    scores = {"A": (0.1, 0.95), "B": (0.3, 0.9), "C": (0.5, 0.8), "D": (0.7, 0.6)}
    settings = [
        MenuSetting(id, PrivacySetting("laplace", (k + 1.0,)), (0, 1), Score(q, q), Score(u, u), 2 * u, 1.0)
        for k, (id, (q, u)) in enumerate(scores.items())
    ]
    return Menu((*settings, none_setting()), dict.fromkeys(METRICS, 1.0), Weights(), {})


def test_relation_3_by_hand() -> None:
    found = choose(by_hand(), "B", delta=0.1, c=-0.15)
    assert found.chosen is not None
    assert found.chosen.id == "C"
    assert choose(by_hand(), "laplace:2", delta=-0.25, c=0).chosen == by_hand()["A"]
    assert choice_rows(found)[2][1] == "C"


def test_an_infeasible_wish_says_what_comes_closest_on_each_side() -> None:
    found = choose(by_hand(), "B", delta=0.1, c=-0.05)
    assert found.chosen is None
    assert found.most_useful == by_hand()["C"]
    assert found.most_private == by_hand()["B"]
    nothing = choose(by_hand(), "D", delta=0.5, c=0.5)
    assert (nothing.chosen, nothing.most_useful, nothing.most_private) == (None, None, None)
    told = choice_rows(nothing)[2:]
    assert [row[1:3] for row in told] == [["", "no setting fits"]] * 3, "and not none, which is the unmasked setting"


@given(st.sampled_from("ABCDN"), st.floats(-1, 1), st.floats(-1, 1))
def test_the_choice_is_the_best_that_meets_both(current: str, delta: float, c: float) -> None:
    menu_, found = by_hand(), choose(by_hand(), current, delta=delta, c=c)
    q, u = menu_[current].privacy.median + delta, menu_[current].utility.median + c
    meeting = [each for each in menu_.settings if each.privacy.median > q and each.utility.median > u]
    if not meeting:
        assert found.chosen is None
    else:
        assert found.chosen in meeting
        assert all(found.chosen.objective >= each.objective for each in meeting)


def test_unknown_and_infinite_wishes_are_refused() -> None:
    with refused("option.setting"):
        choose(by_hand(), "Z", delta=0, c=0)
    with refused("option.delta"):
        choose(by_hand(), "A", delta=float("nan"), c=0)


def test_relation_4_gives_each_producer_the_cheapest_that_meets_its_delta() -> None:
    labels = [str(label) for label in homes().profile.labels]
    rng = np.random.default_rng(2)
    deltas = {label: float(d) for label, d in zip(labels, rng.uniform(-0.5, 0.3, len(labels)), strict=True)}
    now = menu().ids[1]
    found = assign(homes().profile, menu(), now, deltas, c=-1)
    for label, id in found.settings.items():
        q = menu()[now].privacy.median + deltas[label]
        meeting = [each for each in menu().settings if each.privacy.median > q]
        assert menu()[id].utility.median == max(each.utility.median for each in meeting)
    assert found.feasible
    assert not found.unmet


def test_the_assignments_utility_is_that_of_the_same_mix() -> None:
    """Everybody asks for the same: the corner of the mixes. And half of them: less utility than none masking."""
    profile, top = homes().profile, menu().settings[-2]
    everybody = dict.fromkeys(map(str, profile.labels), top.privacy.median - 1e-9)
    found = assign(profile, menu(), "N", everybody, c=-1, repeats=40)
    corner = mix(profile, menu(), shares={top.id: 1.0}, repeats=40).table.column("utility").to_numpy()
    assert set(found.settings.values()) == {top.id}
    assert found.utility == pytest.approx(np.median(corner), abs=4 * corner.std() / 40**0.5)
    half = dict(list(everybody.items())[:15])
    part = assign(profile, menu(), "N", half, c=-1, repeats=40)
    assert part.kept == 15
    assert found.utility < part.utility < 1


def test_what_cannot_be_met_is_said_with_the_way_out() -> None:
    profile = homes().profile
    greedy = dict.fromkeys(map(str, profile.labels), 5.0)
    found = assign(profile, menu(), "N", greedy, c=-1)
    assert not found.feasible
    assert len(found.unmet) == 30
    useful = assign(profile, menu(), "N", dict.fromkeys(map(str, profile.labels), 0.5), c=-1e-9)
    assert not useful.feasible
    assert useful.eased is not None
    eased = dict.fromkeys(map(str, profile.labels), 0.5 - useful.eased)
    assert assign(profile, menu(), "N", eased, c=-1e-9).utility > useful.utility_above
    assert "every delta lower" in assignment_rows(useful)[-1][1]
    never = assign(profile, menu(), "N", greedy, c=1.0)
    assert never.eased is None


def test_unknown_producers_and_buckets_are_refused() -> None:
    with refused("option.producer"):
        assign(homes().profile, menu(), "N", {"nobody": 0.1}, c=0)
    with refused("option", "buckets"):
        assign(homes().profile.bucketed(4), menu(), "N", {}, c=0, other_data=True)
    with refused("option.delta"):
        assign(homes().profile, menu(), "N", {"c": float("inf")}, c=0)


@pytest.mark.parametrize(
    ("text", "code", "row"),
    [
        ("user,delta\na,0.1\nb,x\n", "source.delta", "row 3"),
        ("a,0.1\na,0.2\n", "source.delta", "row 2"),
        ("a,nan\n", "source.delta", "row 1"),
        ("a\n", "source.row", "row 1"),
        ("", "source.empty", ""),
        ("user,delta\n", "source.empty", ""),
    ],
)
def test_bad_deltas_name_file_and_row(tmp_path: Path, text: str, code: str, row: str) -> None:
    path = tmp_path / "deltas.csv"
    path.write_text(text)
    with refused(code, place=row) as caught:
        read_deltas(path)
    assert "deltas.csv" in str(caught.value)


def test_deltas_are_read_with_and_without_a_heading(tmp_path: Path) -> None:
    path = tmp_path / "deltas.csv"
    path.write_text("user,delta\n a , 0.1\n\nb,-2e-1\n")
    assert read_deltas(path) == {"a": 0.1, "b": -0.2}
    with refused("source.unreadable"):
        read_deltas(tmp_path / "none.csv")
