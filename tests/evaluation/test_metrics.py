"""Metrics against numbers worked by hand, and inputs that break careless code."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.evaluation import metrics
from halfmask.evaluation.error_decay import decay_exponent, verdict
from tests.refusals import refused


def test_local_error_by_hand() -> None:
    errors = metrics.local_error([3.0, 1.0, 5.0, -3.0], [2.0, 0.0, np.nan, -4.0])
    np.testing.assert_array_equal(errors, [0.5, 0.25])


def test_local_error_scaled_keeps_zeros_and_leaves_out_all_zero_users() -> None:
    readings = np.array([2.0, 0.0, -4.0])
    scale = np.abs(readings).mean()
    np.testing.assert_array_equal(metrics.local_error([3.0, 1.0, -4.0], readings, scale), [0.5, 0.5, 0.0])
    assert metrics.local_error([1.0, 2.0], [0.0, 0.0], 0.0).size == 0


def test_global_error_leaves_out_zero_totals_and_empty_periods() -> None:
    true = np.array([10.0, 0.0, np.nan, -4.0])
    masked = np.array([9.0, 3.0, np.nan, -3.0])
    np.testing.assert_allclose(metrics.global_error(masked, true), [0.1, 0.25])
    scale = metrics.global_scale(true)
    assert scale == pytest.approx(14 / 3)
    np.testing.assert_allclose(metrics.global_error(masked, true, scale), np.array([1, 3, 1]) / scale)


def test_summary_by_hand() -> None:
    mean, std, entropy = metrics.summary([0.0002, 0.0004, 0.0012, 0.0031])
    assert mean == pytest.approx(0.001225)
    assert std == pytest.approx(np.sqrt(np.mean((np.array([0.0002, 0.0004, 0.0012, 0.0031]) - 0.001225) ** 2)))
    assert entropy == pytest.approx(0.5 * 1 + 2 * 0.25 * 2)


@pytest.mark.parametrize(
    ("errors", "bits"),
    [([0.0] * 7, 0.0), ([0.0, 0.001], 1.0), ([1e12, 1e12 + 1, 5.0, 5.0], 1.5), ([np.inf, np.inf, 1e300, 0.0], 1.5)],
)
def test_entropy_of_awkward_errors(errors: list[float], bits: float) -> None:
    assert metrics.entropy(errors) == pytest.approx(bits)


def test_a_multiple_of_the_width_is_in_the_bin_it_opens() -> None:
    k = np.arange(5000)
    np.testing.assert_array_equal(metrics.bins_of(k * 0.001), k)
    np.testing.assert_array_equal(metrics.bins_of(k / 1000), k)
    np.testing.assert_array_equal(metrics.bins_of((k + 0.999999) / 1000), k)
    assert (np.floor(k * 0.001 / 0.001) != k).any() or (np.floor(k / 1000 / 0.001) != k).any()


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30))
def test_entropy_of_counts_is_the_definition_and_bounded(counts: list[int]) -> None:
    share = np.array(counts) / sum(counts)
    found = metrics.entropy_of_counts(counts)
    assert found == pytest.approx(float(-(share * np.log2(share)).sum()), abs=1e-9)
    assert 0 <= found <= np.log2(len(counts)) + 1e-9
    assert found == metrics.entropy_of_counts(counts[::-1])


@pytest.mark.parametrize("what", [metrics.summary, metrics.entropy])
def test_no_errors_is_an_error_with_a_way_out(what: object) -> None:
    with refused("option.empty"):
        what([])  # type: ignore[operator]


def test_unknown_error_function() -> None:
    with refused("option.error-function"):
        metrics.check_error_function("absolute")


def test_masked_values_beyond_the_largest_number_are_infinite_errors() -> None:
    assert metrics.global_error([np.nan, np.inf], [1.0, 2.0]).tolist() == [np.inf, np.inf]
    assert metrics.summary([np.inf, 1.0]).std == np.inf


def test_decay_exponent_of_a_power_law() -> None:
    sizes = np.repeat([50, 100, 200, 400], 3)
    exact = decay_exponent(sizes, 2 * sizes**-0.5)
    assert exact.exponent == pytest.approx(-0.5)
    assert exact.error == pytest.approx(0, abs=1e-9)
    rng = np.random.default_rng(3)
    noisy = decay_exponent(np.tile(sizes, 100), np.exp(-0.5 * np.log(np.tile(sizes, 100)) + rng.normal(0, 0.3, 1200)))
    spread = np.std(np.log(sizes)) * np.sqrt(1200)
    assert noisy.error == pytest.approx(0.3 / spread, rel=0.1)
    assert abs(noisy.exponent + 0.5) < 4 * noisy.error
    assert abs(noisy.exponent + 0.4) > 4 * noisy.error


def test_decay_needs_two_sizes() -> None:
    with refused("option.too-few-sizes"):
        decay_exponent([50, 50], [0.1, 0.2])
    with refused("option.too-few-sizes"):
        decay_exponent([50, 100], [0.0, 0.2])
    with refused("option.lengths"):
        decay_exponent([50, 100], [0.1])


def test_verdicts_differ() -> None:
    assert "noise cancels" in verdict("sum", -0.49)
    assert "in part" in verdict("mean", -0.25)
    assert "does not cancel" in verdict("max", -0.43)
    assert "does not cancel" in verdict("max", 0.02)
