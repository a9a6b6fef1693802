"""Arbitrage is found exactly, repaired upwards, and what honesty costs is never negative."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.rewards.honest import arbitrage, dominated, enough, repaired, repaired_whole, splits
from tests.generated import cases

SIGMA = np.array([0.2, 0.5, 1.0, 2.0, 4.0])
INFORMATION = 1 / SIGMA**2


def by_hand(rewards: np.ndarray, information: np.ndarray, k: int) -> float:
    """The least cost of a multiset of the others with the information of k, by trying all."""
    others = [j for j in range(len(rewards)) if j != k]
    most = [int(np.ceil(information[k] / information[j])) for j in others]
    best = np.inf
    for counts in product(*(range(m + 1) for m in most)):
        if sum(c * information[j] for c, j in zip(counts, others, strict=True)) >= information[k] * (1 - 1e-9):
            best = min(best, sum(c * rewards[j] for c, j in zip(counts, others, strict=True)))
    return best


numbers = st.lists(st.integers(1, 12), min_size=3, max_size=3)


@cases(200)
@given(numbers, numbers)
def test_arbitrage_is_what_trying_all_multisets_finds(paid: list[int], held: list[int]) -> None:
    rewards, information = np.array(paid, float), np.array(held, float)
    found = {each.instead_of: each for each in arbitrage(rewards, information)}
    for k in range(3):
        least = by_hand(rewards, information, k)
        assert (k in found) == (least < rewards[k] * (1 - 1e-9))
        if k in found:
            assert found[k].cost == pytest.approx(least)
            bought = sum(information[j] * count for j, count in found[k].counts.items())
            assert bought >= information[k] * (1 - 1e-9)


@cases(200)
@given(st.lists(st.floats(0, 100), min_size=5, max_size=5))
def test_a_repaired_schedule_is_above_and_free_of_arbitrage(paid: list[float]) -> None:
    rewards = np.array(paid)
    mended = repaired(rewards, INFORMATION)
    assert (mended >= rewards).all()
    assert enough(mended, INFORMATION)
    assert arbitrage(mended, INFORMATION) == []
    assert np.allclose(repaired(mended, INFORMATION), mended)


def test_a_price_of_one_over_sigma_to_the_fourth_fails() -> None:
    assert arbitrage(INFORMATION**2, INFORMATION) != []
    assert not enough(INFORMATION**2, INFORMATION)
    assert arbitrage(INFORMATION, INFORMATION) == []
    assert enough(np.sqrt(INFORMATION), INFORMATION)


def test_sharing_unmasked_cannot_be_replaced() -> None:
    held = np.append(INFORMATION, np.inf)
    assert arbitrage(np.append(INFORMATION, 1e9), held) == []
    cheap = arbitrage(np.append(INFORMATION, 1.0), held)
    assert {each.instead_of for each in cheap} == {0, 1}
    assert all(each.counts == {5: 1} for each in cheap)


def test_what_is_free_replaces_everything_however_much_of_it_is_needed() -> None:
    """Two free settings and one with a billion times their information: no search by counting ends."""
    found = arbitrage(np.array([2.0, 0.0, 0.0]), np.array([1e9, 1.0, 2.0]))
    assert [(each.instead_of, each.cost) for each in found] == [(0, 0.0)]
    assert sum(count * (1.0, 2.0)[j - 1] for j, count in found[0].counts.items()) >= 1e9
    assert arbitrage(np.array([0.0, 0.0, 1.0]), np.array([1e9, 1.0, 1e-3]))[0].instead_of == 2


@cases(200)
@given(st.lists(st.floats(0, 100), min_size=5, max_size=5))
def test_whole_rewards_are_repaired_to_whole_rewards(paid: list[float]) -> None:
    for held in (INFORMATION, np.append(INFORMATION[:-1], np.inf)):
        mended = repaired_whole(np.array(paid), held)
        assert (mended == np.rint(mended)).all()
        assert (mended >= np.array(paid) * (1 - 1e-6)).all()
        assert enough(mended, held)
        assert arbitrage(mended, held) == []


def test_pay_that_grows_slower_than_information_invites_splitting_and_proportional_pay_does_not() -> None:
    assert splits(np.sqrt(INFORMATION), INFORMATION) != []
    assert splits(INFORMATION, INFORMATION) == []


def test_offers_that_nobody_would_choose_are_named() -> None:
    assert dominated(np.array([1.0, 2.0, 0.5]), np.array([0.2, 0.4, 0.9])) == [(0, 1)]
    assert dominated(np.array([3.0, 2.0, 0.5]), np.array([0.2, 0.4, 0.9])) == []


def test_prices_almost_in_proportion_to_information_end_in_an_exact_answer() -> None:
    """Every even sum comes near the odd one that is asked for: no counting of multisets ends in any time."""
    held = np.array([1_000_001.0, 1002, 1006, 1018, 1042, 1066])
    for above, beaten in ((0.5, False), (1.5, True)):
        paid = held.copy()
        paid[0] += above
        found = arbitrage(paid, held)
        assert [each.instead_of for each in found] == ([0] if beaten else [])
        assert all(each.cost == 1_000_002 for each in found)


@cases(60)
@given(st.lists(st.floats(0.05, 20), min_size=3, max_size=3), st.lists(st.floats(0.3, 3), min_size=3, max_size=3))
def test_arbitrage_is_exact_for_numbers_that_are_not_whole(paid: list[float], held: list[float]) -> None:
    rewards, information = np.array(paid), np.array(held)
    found = {each.instead_of: each for each in arbitrage(rewards, information)}
    for k in range(3):
        least = by_hand(rewards, information, k)
        if abs(least / rewards[k] - 1) > 1e-6:
            assert (k in found) == (least < rewards[k])
        if k in found:
            assert found[k].cost == pytest.approx(least)


def test_two_settings_without_noise_are_paid_alike() -> None:
    held, paid = np.array([1.0, np.inf, np.inf]), np.array([1.0, 2.0, 3.0])
    assert not enough(paid, held)
    assert [each.instead_of for each in arbitrage(paid, held)] == [2]
    for mended in (repaired(paid, held), repaired_whole(paid, held)):
        assert mended.tolist() == [1, 3, 3]
        assert enough(mended, held)


@cases(100)
@given(st.lists(st.floats(0, 100), min_size=4, max_size=4), st.lists(st.floats(0.1, 10), min_size=4, max_size=4))
def test_no_lesser_schedule_would_do_for_the_repair(paid: list[float], held: list[float]) -> None:
    """Lowering any one reward of the repair, towards what was asked, breaks the condition or goes below it."""
    rewards, information = np.array(paid), np.array(held)
    mended = repaired(rewards, information)
    for k in np.flatnonzero(mended > rewards + 1e-6):
        lower = mended.copy()
        lower[k] -= 0.5 * min(mended[k] - rewards[k], 1e-3 * mended[k])
        assert not enough(lower, information)
