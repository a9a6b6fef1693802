"""Closed forms and facts of single mechanisms, each by a route of its own."""

import math

import numpy as np
import pytest

from halfmask.mechanisms.mechanism_registry import mechanism
from halfmask.mechanisms.setting import PrivacySetting
from tests.refusals import refused

RNG = np.random.default_rng(0)


def test_sine_cdf_inverts_the_polynomial_everywhere() -> None:
    theta = np.random.default_rng(1).choice(np.arange(0, 1.9, 0.3), (300, 5))
    theta[:, 2] += 0.03
    x = np.linspace(1e-6, 1, 400)
    y = sum((theta[:, [k]] * x) ** (2 * k + 1) for k in range(5))
    found = mechanism("sine").cdf(theta, np.asarray(y))
    expected = 2 / np.pi * np.arcsin(x)
    np.testing.assert_allclose(found[:, :-1], np.tile(expected[:-1], (300, 1)), rtol=1e-9)


@pytest.mark.parametrize("order", ["rising", "falling", "shuffled", "repeated", "far apart"])
def test_sine_cdf_does_not_depend_on_the_order_of_y(order: str) -> None:
    theta = np.array([[0.3, 0, 0, 0.9, 1.2], [0, 0, 0, 0, 1.5], [1, 0, 0, 0, 0]])
    y = np.logspace(-8, 0.3, 700)
    sine = mechanism("sine")
    expected = dict(zip(y.tolist(), sine.cdf(theta, y).T.tolist(), strict=True))
    asked = {
        "rising": y,
        "falling": y[::-1],
        "shuffled": np.random.default_rng(2).permutation(y),
        "repeated": np.repeat(y, 3),
        "far apart": y[::90],
    }[order]
    np.testing.assert_allclose(sine.cdf(theta, asked).T, [expected[v] for v in asked.tolist()], rtol=1e-12)


def test_sine_of_one_coefficient_is_the_arcsine_law() -> None:
    y = np.linspace(0, 2, 101)
    np.testing.assert_allclose(
        mechanism("sine").cdf(np.array([[1.0]]), y)[0], 2 / np.pi * np.arcsin(np.minimum(y, 1)), rtol=1e-13
    )


def test_sine_of_very_many_coefficients_converges() -> None:
    theta = np.full((1, 300), 0.99)
    y = np.logspace(-3, 1.2, 50)
    x = np.sin(np.pi / 2 * mechanism("sine").cdf(theta, y)[0])
    inside = x < 1
    found = sum((0.99 * x) ** (2 * k + 1) for k in range(300))
    np.testing.assert_allclose(np.asarray(found)[inside], y[inside], rtol=1e-9)


def test_sine_variance_is_the_double_sum() -> None:
    theta = np.array([0.9, 0.3, 0.6, 0.6, 0.3])
    terms = theta ** (2 * np.arange(5) + 1)
    second = sum(
        terms[i] * terms[j] * math.comb(2 * (i + j + 1), i + j + 1) / 4 ** (i + j + 1)
        for i in range(5)
        for j in range(5)
    )
    assert mechanism("sine").moments(theta[None])[0, 1] == pytest.approx(second, rel=1e-13)


def test_geometric_tends_to_laplace_as_the_step_shrinks() -> None:
    y = np.array([0.1, 1.0, 3.0])
    fine = mechanism("geometric").cdf(np.array([[1.0, 1e-7]]), y)
    np.testing.assert_allclose(fine, mechanism("laplace").cdf(np.array([[1.0]]), y), rtol=1e-6)


def test_geometric_counts_a_lattice_point_as_reached() -> None:
    """0.3 is below 3 * 0.1 in floats; the law must not lose that atom."""
    cdf = mechanism("geometric").cdf(np.array([[1.0, 0.1]]), np.array([0.3, 0.2999, 0.1 * 3]))[0]
    a = math.exp(-0.1)
    assert cdf[0] == cdf[2] == pytest.approx(1 - 2 * a**4 / (1 + a))
    assert cdf[1] == pytest.approx(1 - 2 * a**3 / (1 + a))


def test_staircase_density_falls_by_exp_epsilon_at_distance_delta() -> None:
    """The property that makes it epsilon-private: densities delta apart differ by exactly exp(epsilon)."""
    of, parameters = mechanism("staircase"), np.array([[0.7, 2.0, 0.3]])
    y = np.array([0.1, 0.5, 0.7, 1.9])
    density = (of.cdf(parameters, y + 1e-3) - of.cdf(parameters, y)) / 1e-3
    further = (of.cdf(parameters, y + 2 + 1e-3) - of.cdf(parameters, y + 2)) / 1e-3
    np.testing.assert_allclose(density / further, math.exp(0.7), rtol=1e-9)


def test_staircase_of_gamma_0_or_1_has_flat_steps() -> None:
    """gamma 1: the first step spans delta; gamma 0: so does the second, shifted by none."""
    y = np.array([0.5, 1.0, 1.5])
    for gamma in (0.0, 1.0):
        found = mechanism("staircase").cdf(np.array([[1.0, 1.0, gamma]]), y)[0]
        first = 1 - math.exp(-1)
        np.testing.assert_allclose(found, [first / 2, first, first + math.exp(-1) * first / 2], rtol=1e-13)


def test_round_to_the_nearest_multiple() -> None:
    values = np.array([0.12, -0.26, 0.0, np.nan, 1e300])
    masked = PrivacySetting.parse("round:0.1").mask(values, RNG)
    np.testing.assert_allclose(masked, [0.1, -0.3, 0, np.nan, 1e300])
    for step in ("0", "1e-300"):
        np.testing.assert_array_equal(PrivacySetting.parse(f"round:{step}").mask(values, RNG), values)
    assert PrivacySetting.parse("round:1e300").mask(np.array([5.0, -5.0]), RNG).tolist() == [0, 0]


def best_clusters(values: list[float], k: int) -> float:
    """The least sum of squares over all ways to cut sorted values in k runs, by trying them all."""
    if k == 1:
        return sum((v - sum(values) / len(values)) ** 2 for v in values)
    return min(best_clusters(values[:i], 1) + best_clusters(values[i:], k - 1) for i in range(1, len(values) - k + 2))


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_microaggregate_finds_the_best_clusters(k: int, seed: int) -> None:
    values = np.round(np.random.default_rng(seed).lognormal(size=11), 1)
    masked = PrivacySetting.parse(f"microaggregate:{k}").mask(values, RNG)
    assert len(np.unique(masked)) <= k
    assert masked.sum() == pytest.approx(values.sum())
    assert np.sum((masked - values) ** 2) == pytest.approx(best_clusters(sorted(values.tolist()), k))


def test_microaggregate_leaves_few_values_and_missing_ones() -> None:
    few = np.array([1.0, np.nan, 2.0, 1.0])
    np.testing.assert_array_equal(PrivacySetting.parse("microaggregate:2").mask(few, RNG), few)
    np.testing.assert_allclose(PrivacySetting.parse("microaggregate:1").mask(few, RNG), [4 / 3, np.nan, 4 / 3, 4 / 3])
    assert PrivacySetting.parse("microaggregate:3").mask(np.array([]), RNG).size == 0
    huge = PrivacySetting.parse("microaggregate:2").mask(np.array([1e300, 1.1e300, -1e300, -1.1e300]), RNG)
    np.testing.assert_allclose(huge, [1.05e300, 1.05e300, -1.05e300, -1.05e300])


def test_microaggregate_sees_a_user_at_a_time() -> None:
    assert PrivacySetting.parse("microaggregate:2").per_user
    assert PrivacySetting.parse("clip:0,1/microaggregate:2").per_user
    assert not PrivacySetting.parse("clip:0,1/round:2").per_user


def test_clip_bounds_before_the_inner_setting_masks() -> None:
    values = np.array([-5.0, 0.3, 99.0])
    assert PrivacySetting.parse("clip:0,10").mask(values, RNG).tolist() == [0, 0.3, 10]
    assert PrivacySetting.parse("clip:0,10/round:4").mask(values, RNG).tolist() == [0, 0, 8]
    noisy = PrivacySetting.parse("clip:-1,1/uniform:0.5").mask(np.full(1000, 50.0), np.random.default_rng(1))
    assert 0.5 <= noisy.min() < noisy.max() <= 1.5


@pytest.mark.parametrize("name", ["round", "microaggregate", "clip"])
def test_direct_mechanisms_say_that_they_have_no_law(name: str) -> None:
    of = mechanism(name)
    assert of.kind == "direct"
    for call in (
        lambda: of.cdf(np.ones((1, 1)), np.ones(1)),
        lambda: of.moments(np.ones((1, 1))),
        lambda: of.support(np.ones((1, 1))),
        lambda: of.sample(np.ones(1), 1, RNG),
    ):
        with refused("setting.law"):
            call()
