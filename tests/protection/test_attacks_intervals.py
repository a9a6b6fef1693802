"""Intervals over users: by hand, and often enough around the truth."""

import numpy as np
import pytest

from halfmask.protection.attacks.intervals import median, no_difference, share


def test_a_share_of_one_try_each_has_wilsons_interval() -> None:
    found = share(np.array([1.0] * 5 + [0.0] * 5))
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.2366, 0.7634), abs=1e-4)
    none, every = share(np.zeros(10)), share(np.ones(10))
    assert (none.low, none.high) == pytest.approx((0, 0.2775), abs=1e-4)
    assert (every.low, every.high) == pytest.approx((0.7225, 1), abs=1e-4)


def test_several_tries_of_a_user_narrow_the_interval_as_far_as_they_differ() -> None:
    rng = np.random.default_rng(1)
    alike = share(np.repeat(rng.random(200) < 0.3, 10).reshape(200, 10).mean(axis=1))
    apart = share((rng.random((200, 10)) < 0.3).mean(axis=1))
    assert alike.high - alike.low == pytest.approx(2 * 1.96 * np.sqrt(0.3 * 0.7 / 200), rel=0.1)
    assert apart.high - apart.low == pytest.approx(2 * 1.96 * np.sqrt(0.3 * 0.7 / 2000), rel=0.15)


@pytest.mark.parametrize("chance", [0.02, 0.3, 0.95])
def test_intervals_of_shares_hold_in_95_of_100_samples(chance: float) -> None:
    """A user's tries depend on each other: its chance is drawn from a beta law with mean ``chance``."""
    rng = np.random.default_rng(2)
    held = {"right": 0, "one try": 0}
    for _ in range(2000):
        own = rng.beta(8 * chance, 8 * (1 - chance), 120)
        found = share(rng.binomial(8, own) / 8)
        held["right"] += found.low <= chance <= found.high
        narrow = 1.96 * np.sqrt(max(found.value * (1 - found.value), 1e-9) / 960)  # as if all tries were independent
        held["one try"] += abs(found.value - chance) <= narrow
    assert 0.92 < held["right"] / 2000 < 0.985
    assert held["one try"] / 2000 < 0.9


def test_the_interval_of_a_median_is_between_order_statistics() -> None:
    found = median(np.arange(1.0, 26.0))
    assert (found.value, found.low, found.high) == (13, 8, 18)  # P(Bin(25, 1/2) <= 7) = 0.0216
    few = median(np.array([3.0, 1.0, 2.0]))
    assert (few.low, few.high) == (1, 3)


def test_intervals_of_medians_hold_for_skewed_values() -> None:
    rng = np.random.default_rng(3)
    found = [median(rng.lognormal(0, 2, 60)) for _ in range(2000)]
    assert 0.94 < np.mean([each.low <= 1 <= each.high for each in found]) < 0.985
    assert np.mean([each.low <= 1.6 <= each.high for each in found]) < 0.9


def test_a_difference_is_told_from_none_by_pairs() -> None:
    """Discordant pairs count, not shares: 30 of 200 lost is a difference, as many lost as won is none."""
    bare = np.array([1.0] * 100 + [0.0] * 100)
    lost, swapped = bare.copy(), bare.copy()
    lost[:30] = 0
    swapped[:30], swapped[100:130] = 0, 1
    assert no_difference(bare, bare)
    assert no_difference(swapped, bare)
    assert not no_difference(lost, bare)


def test_no_difference_is_said_wrongly_in_few_samples() -> None:
    rng = np.random.default_rng(4)
    same = [no_difference(*(rng.random((2, 150)) < 0.1).astype(float)) for _ in range(1000)]
    assert np.mean(same) > 0.935
    apart = [no_difference(*(rng.random((2, 150)) < np.array([[0.1], [0.3]])).astype(float)) for _ in range(1000)]
    assert np.mean(apart) < 0.05
