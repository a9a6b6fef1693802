"""Theorem 1 as a test: what is known of sums, means, extremes and products is found, and counter-examples are true."""

from pathlib import Path

import numpy as np
import pytest

from halfmask.evaluation.cancellation import NAMES, Cancellation, cancellation, plain_function, setting_of
from tests.refusals import refused


def found(name: str, *settings: str, accuracy: float = 0.01, repeats: int = 40) -> Cancellation:
    rng = np.random.default_rng(7)
    return cancellation(name, [setting_of(each) for each in settings], accuracy=accuracy, repeats=repeats, rng=rng)


@pytest.mark.parametrize("name", ["sum", "mean", "variance"])
@pytest.mark.parametrize(
    "settings", [("laplace",), ("sine:0.9,0.3",), ("laplace:1", "gaussian:0.2"), ("relative-laplace",)]
)
def test_noise_cancels_where_the_theorem_says_so(name: str, settings: tuple[str, ...]) -> None:
    made = found(name, *settings)
    assert made.cancels
    assert made.low <= -0.5 <= made.high


@pytest.mark.parametrize("name", ["variance-uncorrected", "max", "min", "median", "quantile:0.9", "geometric-mean"])
def test_noise_does_not_cancel_elsewhere(name: str) -> None:
    made = found(name, "laplace:0.6")
    assert not made.cancels
    assert made.users is None


def test_products_of_many_users_are_thrown_off_altogether() -> None:
    made = found("product", "relative-gaussian:0.1")
    assert not made.cancels
    assert made.error > 0.9


@pytest.mark.parametrize("seed", range(6))
def test_a_few_huge_errors_that_become_rare_are_no_noise_that_cancels(seed: int) -> None:
    """Of a product under additive noise the mean error falls from huge to 100 %, steeper than any noise cancels."""
    rng = np.random.default_rng(seed)
    made = cancellation("product", [setting_of("laplace:0.3")], rng=rng)
    assert not made.cancels
    assert made.users is None
    assert "does not cancel" in made.verdict()


def test_rounding_is_no_noise_that_cancels() -> None:
    assert not found("sum", "round:0.5").cancels


def test_a_sum_of_additive_noise_meets_every_condition() -> None:
    made = found("sum", "laplace")
    assert made.recursive.holds
    assert made.neutral.holds
    assert made.commutes.holds


def test_conditions_that_fail_come_with_a_case() -> None:
    made = found("mean", "laplace")
    assert not made.recursive.holds
    assert "together it is" in made.recursive.case
    assert not found("max", "laplace").commutes.holds
    assert not found("median", "sine:0.9,0.3").commutes.holds


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("setting", ["laplace", "gaussian", "sine:0.9,0.3", "relative-laplace", "laplace:50"])
def test_noise_never_comes_to_the_neutral_element_of_an_extreme(name: str, setting: str) -> None:
    """Which is not 0 because all drawn values are above it: of negative values 0 is the maximum."""
    made = found(name, setting, repeats=2)
    assert not made.neutral.holds
    assert f"far {'below' if name == 'max' else 'above'} the others" in made.neutral.case


@pytest.mark.parametrize("setting", ["laplace:0.01", "laplace:100", "gaussian"])
def test_noise_comes_to_the_neutral_element_of_a_sum_however_large_it_is(setting: str) -> None:
    assert found("sum", setting, repeats=2).neutral.holds


OWN = """
import numpy as np
def mean_of_squares(v): return float(np.mean(np.square(v)))
def std(v): return float(np.std(v))
def logsumexp(v): return float(np.log(np.sum(np.exp(v))))
def norm(v): return float(np.sqrt(np.sum(np.square(v))))
"""


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("mean_of_squares", "no value can join"),
        ("std", "no value can join"),
        ("logsumexp", "far below the others"),
        ("norm", "its neutral element is 0, but noise alone"),
    ],
)
def test_ordinary_functions_of_ones_own_are_checked(tmp_path: Path, name: str, case: str) -> None:
    """None has a number for what is beyond all measure; a norm has a neutral element, to which no noise comes."""
    (tmp_path / "own.py").write_text(OWN)
    made = found(f"{tmp_path / 'own.py'}:{name}", "laplace", repeats=2)
    assert not made.neutral.holds
    assert case in made.neutral.case


def test_counting_is_not_reached_by_noise() -> None:
    made = found("count", "laplace:100")
    assert made.error == 0
    assert made.cancels


@pytest.mark.parametrize("accuracy", [0.02, 0.005])
def test_so_many_users_give_that_accuracy_and_half_as_many_do_not(accuracy: float) -> None:
    made = found("sum", "laplace:0.5", accuracy=accuracy, repeats=100)
    assert made.users is not None
    rng = np.random.default_rng(1)
    errors = []
    for users in (made.users, made.users / 2):
        noise = rng.laplace(0, 0.5, (600, int(users))).sum(axis=1)
        errors.append(float(np.abs(noise).mean() / (0.6 * int(users))))
    assert errors[0] == pytest.approx(accuracy, rel=0.15)
    assert errors[1] > 1.25 * accuracy


def test_a_function_of_ones_own_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("def total(values):\n    return values.sum()\n\ndef top(values):\n    return values[-1]\n")
    assert found(f"{file}:total", "laplace").cancels
    assert not found(f"{file}:top", "laplace").cancels


def test_what_is_not_known_is_refused() -> None:
    with refused("option.aggregate", "aggregate"):
        plain_function("mode")
    with refused("option.share", "accuracy"):
        found("sum", "laplace", accuracy=0.0)


def test_every_aggregate_of_the_table_is_known() -> None:
    values = np.array([0.2, 0.4, 0.9])
    assert all(np.isfinite(plain_function(name)(values)) for name in NAMES)
