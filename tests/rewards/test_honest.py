"""Arbitrage is found exactly, repaired upwards, and no estimate from several reports beats an honest list."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.rewards.honest_prices import (
    arbitrage,
    dominated,
    least_ratios,
    meets_ratios,
    repaired,
    repaired_whole,
    splits,
)
from tests.generated import cases
from tests.statistics import share

SIGMA = np.array([0.2, 0.5, 1.0, 2.0, 4.0])
INFORMATION = 1 / SIGMA**2
RATIOS = least_ratios(INFORMATION, INFORMATION)
LAPLACE = 2 * INFORMATION
"""What reports add to others at the most, were they of Laplace noise."""


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
    found = {each.instead_of: each for each in arbitrage(rewards, information, information)}
    for k in range(3):
        least = by_hand(rewards, information, k)
        assert (k in found) == (least < rewards[k] * (1 - 1e-9))
        if k in found:
            assert found[k].cost == pytest.approx(least)
            bought = sum(information[j] * count for j, count in found[k].counts.items())
            assert bought >= information[k] * (1 - 1e-9)


@cases(200)
@given(st.lists(st.floats(0, 100).map(lambda paid: round(paid, 6)), min_size=5, max_size=5))
def test_a_repaired_schedule_is_above_and_free_of_arbitrage(paid: list[float]) -> None:
    rewards = np.array(paid)
    for most in (INFORMATION, LAPLACE):
        ratios = least_ratios(INFORMATION, most)
        mended = repaired(rewards, ratios)
        assert (mended >= rewards).all()
        assert meets_ratios(mended, ratios)
        assert arbitrage(mended, INFORMATION, most) == []
        assert np.allclose(repaired(mended, ratios), mended)


def test_a_price_of_one_over_sigma_to_the_fourth_fails() -> None:
    assert arbitrage(INFORMATION**2, INFORMATION, INFORMATION) != []
    assert not meets_ratios(INFORMATION**2, RATIOS)
    assert arbitrage(INFORMATION, INFORMATION, INFORMATION) == []
    assert meets_ratios(np.sqrt(INFORMATION), RATIOS)


def test_sharing_unmasked_cannot_be_replaced() -> None:
    held = np.append(INFORMATION, np.inf)
    assert arbitrage(np.append(INFORMATION, 1e9), held, held) == []
    cheap = arbitrage(np.append(INFORMATION, 1.0), held, held)
    assert {each.instead_of for each in cheap} == {0, 1}
    assert all(each.counts == {5: 1} for each in cheap)


def test_what_is_free_replaces_everything_however_much_of_it_is_needed() -> None:
    """Two free settings and one with a billion times their information: no search by counting ends."""
    held = np.array([1e9, 1.0, 2.0])
    found = arbitrage(np.array([2.0, 0.0, 0.0]), held, held)
    assert [(each.instead_of, each.cost) for each in found] == [(0, 0.0)]
    assert sum(count * (1.0, 2.0)[j - 1] for j, count in found[0].counts.items()) >= 1e9
    held = np.array([1e9, 1.0, 1e-3])
    assert arbitrage(np.array([0.0, 0.0, 1.0]), held, held)[0].instead_of == 2


@cases(200)
@given(st.lists(st.floats(0, 100).map(lambda paid: round(paid, 6)), min_size=5, max_size=5))
def test_whole_rewards_are_repaired_to_whole_rewards(paid: list[float]) -> None:
    for held in (INFORMATION, np.append(INFORMATION[:-1], np.inf)):
        ratios = least_ratios(held, held)
        mended = repaired_whole(np.array(paid), ratios)
        assert (mended == np.rint(mended)).all()
        assert (mended >= np.array(paid) * (1 - 1e-6)).all()
        assert meets_ratios(mended, ratios)
        assert arbitrage(mended, held, held) == []


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
        found = arbitrage(paid, held, held)
        assert [each.instead_of for each in found] == ([0] if beaten else [])
        assert all(each.cost == 1_000_002 for each in found)


@cases(60)
@given(st.lists(st.floats(0.05, 20), min_size=3, max_size=3), st.lists(st.floats(0.3, 3), min_size=3, max_size=3))
def test_arbitrage_is_exact_for_numbers_that_are_not_whole(paid: list[float], held: list[float]) -> None:
    rewards, information = np.array(paid), np.array(held)
    found = {each.instead_of: each for each in arbitrage(rewards, information, information)}
    for k in range(3):
        least = by_hand(rewards, information, k)
        if abs(least / rewards[k] - 1) > 1e-6:
            assert (k in found) == (least < rewards[k])
        if k in found:
            assert found[k].cost == pytest.approx(least)


def test_two_settings_without_noise_are_paid_alike() -> None:
    held, paid = np.array([1.0, np.inf, np.inf]), np.array([1.0, 2.0, 3.0])
    ratios = least_ratios(held, held)
    assert not meets_ratios(paid, ratios)
    assert [each.instead_of for each in arbitrage(paid, held, held)] == [2]
    for mended in (repaired(paid, ratios), repaired_whole(paid, ratios)):
        assert mended.tolist() == [1, 3, 3]
        assert meets_ratios(mended, ratios)


@cases(100)
@given(st.lists(st.floats(0, 100), min_size=4, max_size=4), st.lists(st.floats(0.1, 10), min_size=4, max_size=4))
def test_no_lesser_schedule_would_do_for_the_repair(paid: list[float], held: list[float]) -> None:
    """Lowering any one reward of the repair, towards what was asked, breaks the condition or goes below it."""
    rewards, ratios = np.array(paid), least_ratios(np.array(held), np.array(held))
    mended = repaired(rewards, ratios)
    for k in np.flatnonzero(mended > rewards + 1e-6):
        lower = mended.copy()
        lower[k] -= 0.5 * min(mended[k] - rewards[k], 1e-3 * mended[k])
        assert not meets_ratios(lower, ratios)


def pitman(text: str, reports: int, runs: int = 1500) -> FloatArray:
    """Squared errors of the best estimate of a reading that nothing else is known of, from so many reports of it."""
    setting = PrivacySetting.parse(text)
    drawn = setting.law.sample(np.array(setting.parameters), runs * reports, np.random.default_rng(reports))
    reach = 5 * math.sqrt(setting.variance)
    width = reach / 200
    at = np.arange(-reach, reach, width)
    cells = np.arange(-12 * 200, 12 * 200 + 1) * width * 5 / 12  # the density, on a fine grid
    share = np.sign(cells) * setting.law.cdf(np.array([setting.parameters]), np.abs(cells))[0]
    logs = np.log(np.maximum(np.diff(share), 1e-300))
    place = np.searchsorted(cells, drawn.reshape(runs, reports, 1) - at).clip(1, len(logs)) - 1
    chance = logs[place].sum(axis=1)
    chance = np.exp(chance - chance.max(axis=1, keepdims=True))
    return np.asarray(((chance @ at) / chance.sum(axis=1)) ** 2)


SETTINGS = ("laplace:1", "laplace:5", "gaussian:4", "logistic:3")


def beaten(rewards: FloatArray) -> list[tuple[int, int]]:
    """Settings (k, j) of `SETTINGS` where reports of j for less than one of k estimate a reading as closely, surely."""
    made = [PrivacySetting.parse(text) for text in SETTINGS]
    found = []
    for k, j in product(range(len(made)), repeat=2):
        affordable = math.ceil(rewards[k] / rewards[j]) - 1
        if k != j and 1 <= affordable <= 30:
            errors = pitman(SETTINGS[j], affordable)
            reach = math.sqrt(2 * math.log(1 / share(len(made) ** 2)) / len(errors)) * float(errors.std())
            found += [(k, j)] if errors.mean() + reach < made[k].variance else []
    return found


def test_the_best_estimate_from_several_reports_beats_prices_by_variance_and_not_honest_ones() -> None:
    """Laplace noise: 24 reports of 25 times the variance, for 24 of 25 parts of the price, come closer than one."""
    laws = [PrivacySetting.parse(text) for text in SETTINGS]
    worth = np.array([1 / each.variance for each in laws])
    most = worth * [each.law.fisher for each in laws]
    assert (0, 1) in beaten(25 * worth / worth[0])
    honest = repaired(25 * worth / worth[0], least_ratios(worth, most))
    assert beaten(honest) == []
    assert arbitrage(honest, worth, most) == []
    assert honest[1] == pytest.approx(2), "which is less than for a clear report: it is not only flat prices that hold"


def test_eight_reports_of_sine_noise_tell_much_more_than_their_average() -> None:
    errors = pitman("sine:1.8,0,0,1.2,0", 8)
    reach = math.sqrt(2 * math.log(2 / share(1)) / len(errors)) * float(errors.std())
    assert abs(errors.mean() - 0.55) < reach
    assert errors.mean() + reach < PrivacySetting.parse("sine:1.8,0,0,1.2,0").variance / 8
