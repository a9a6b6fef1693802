"""The statistical helpers accept the truth and reject what is near it."""

import numpy as np

from tests.statistics import fair_coin, ks_distance, ks_one_sample, ks_two_sample, mean_within

TESTS = 10


def test_ks_distance_is_the_largest_gap_on_both_sides() -> None:
    assert ks_distance(np.array([0.25, 0.75]), lambda y: np.clip(y, 0, 1)) == 0.25
    assert abs(ks_distance(np.array([0.9, 1.0]), lambda y: np.clip(y, 0, 1)) - 0.9) < 1e-8


def test_ks_distance_knows_atoms() -> None:
    sample = np.repeat([0.0, 1.0], 50)
    assert ks_distance(sample, lambda y: np.where(y < 0, 0, np.where(y < 1, 0.5, 1))) < 1e-12


def test_one_sample_accepts_the_law_and_rejects_ten_percent_off() -> None:
    sample = np.random.default_rng(1).exponential(size=2**15)
    assert ks_one_sample(sample, lambda y: -np.expm1(-np.maximum(y, 0)), TESTS)
    assert not ks_one_sample(sample, lambda y: -np.expm1(-np.maximum(y, 0) / 1.1), TESTS)


def test_two_sample_accepts_equal_laws_and_rejects_ten_percent_off() -> None:
    one, other = np.random.default_rng(2).exponential(size=(2, 2**16))
    assert ks_two_sample(one, other, TESTS)
    assert not ks_two_sample(one, 1.15 * other, TESTS)


def test_coin_and_mean() -> None:
    rng = np.random.default_rng(3)
    assert fair_coin(int(rng.binomial(10**5, 0.5)), 10**5, TESTS)
    assert not fair_coin(int(rng.binomial(10**5, 0.52)), 10**5, TESTS)
    sample = rng.normal(3, 1, 10**4)
    assert mean_within(sample, 3.0, TESTS)
    assert not mean_within(sample, 3.1, TESTS)
