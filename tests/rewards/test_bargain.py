"""Bargaining ends in a deal that both sides accept, or says what stood between them."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from halfmask.rewards.bargain import Bargain, BargainRound, _reason, bargain
from halfmask.rewards.choice_model import ChoiceModel
from tests.choice.cases import menu
from tests.refusals import refused

MODEL = ChoiceModel(0.0, 5.0, 1.0, spread=1.0)


def settled(**asked: Any) -> Bargain:
    wish: dict[str, Any] = {"delta": 0.1, "c": 0.0, "reward": 0.0} | asked
    return bargain(menu(), "C", MODEL, rng=np.random.default_rng(1), **wish)


def test_a_deal_meets_the_demands_of_its_round() -> None:
    found = settled(delta=0.3, c=0.1, least_delta=-0.3, least_c=-0.3)
    assert found.deal is not None
    last, now = found.rounds[-1], menu()["C"]
    assert found.deal.setting.utility.median > now.utility.median + last.c
    assert all(one.delta >= later.delta for one, later in pairwise(found.rounds))


def test_money_buys_a_deal_that_there_was_none_for() -> None:
    without = settled(delta=0.0, c=0.1, least_c=0.1)
    assert without.deal is None
    paid = settled(delta=0.0, c=0.1, least_c=0.1, reward=5.0)
    assert paid.deal is not None
    assert paid.deal.accepted_by == "producers"
    assert 0 < paid.deal.reward <= 5.0


def test_no_deal_says_why() -> None:
    assert "useful enough" in settled(delta=0.0, c=0.9, least_c=0.9).reason
    assert "private enough" in settled(delta=0.9, least_delta=0.9, c=0.1, least_c=0.1).reason


def test_a_share_just_below_half_is_not_printed_as_half() -> None:
    last = BargainRound(2, 0.0, 0.0, 1.0, "A", 500 / 1001, "E")
    assert "49.95% of producers accept A" in _reason(last, menu()["C"])


def test_demands_can_only_fall() -> None:
    with refused("option.rising", "least_delta", "delta"):
        settled(delta=0.0, least_delta=0.5)
    with refused("option.rising", "least_c", "c"):
        settled(c=-0.2)


@pytest.mark.parametrize("name", ["delta", "c", "reward", "least_delta", "least_c"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_demands_are_finite(name: str, value: float) -> None:
    with refused("option.finite", name):
        settled(**{name: value})


def test_rounds_are_as_many_as_can_be_told() -> None:
    assert len(settled(delta=0.0, c=0.9, least_c=0.9, rounds=200).rounds) == 200
    with refused("option.rounds", "rounds"):
        settled(rounds=100_000_000)
