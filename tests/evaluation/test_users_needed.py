"""How many users are needed: the formula against masking by hand, and intervals that hold as often as they say."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, foldnorm

from halfmask.arrays import FloatArray
from halfmask.commands.check import check
from halfmask.evaluation.cancellation import SIZES, Cancellation, cancellation, setting_of
from halfmask.evaluation.users_needed import MOST, estimated
from tests.statistics import mean_within, share

Draw = Callable[[np.random.Generator, tuple[int, int]], FloatArray]


def found(name: str, *settings: str, accuracy: float = 0.01, seed: int = 7, repeats: int = 60) -> Cancellation:
    rng = np.random.default_rng(seed)
    return cancellation(name, [setting_of(each) for each in settings], accuracy=accuracy, repeats=repeats, rng=rng)


def laplace(b: float) -> Draw:
    return lambda rng, shape: rng.laplace(0, b, shape)


def gaussian(sigma: float) -> Draw:
    return lambda rng, shape: rng.normal(0, sigma, shape)


def cubed_sine(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    wave = np.sin(2 * np.pi * rng.random(shape))
    return np.asarray(0.9 * wave + (0.3 * wave) ** 3)


SINE_SECOND = 0.9**2 / 2 + 2 * 0.9 * 0.3**3 * 3 / 8 + 0.3**6 * 5 / 16  # E sin^2 = 1/2, sin^4 = 3/8, sin^6 = 5/16
CASES: dict[str, list[tuple[str, Draw, float, bool]]] = {
    "laplace": [("laplace:0.3", laplace(0.3), 0.18, False)],
    "gaussian": [("gaussian:0.4", gaussian(0.4), 0.16, False)],
    "sine": [("sine:0.9,0.3", cubed_sine, SINE_SECOND, False)],
    "relative": [("relative-laplace:0.4", laplace(0.4), 0.32, True)],
    "two kinds of noise": [("laplace:0.5", laplace(0.5), 0.5, False), ("gaussian:0.2", gaussian(0.2), 0.04, False)],
    "added and relative": [
        ("laplace:0.2", laplace(0.2), 0.08, False),
        ("relative-gaussian:0.5", gaussian(0.5), 0.25, True),
    ],
}
"""By name: the shares of users, each with its setting, its noise, the noise's variance, and whether it is relative."""


def errors_by_hand(name: str, case: str, users: int, rng: np.random.Generator, repeats: int = 4_000) -> FloatArray:
    """Relative errors from the definition: mask every value, aggregate both, compare."""
    shares = CASES[case]
    values = 0.1 + 2 * rng.beta(1, 3, (repeats, users))
    parts = np.array_split(values, len(shares), axis=1)
    masked = np.concatenate(
        [
            part * (1 + draw(rng, part.shape)) if relative else part + draw(rng, part.shape)
            for part, (_, draw, _, relative) in zip(parts, shares, strict=True)
        ],
        axis=1,
    )
    if name != "variance":
        return np.asarray(np.abs(masked.sum(axis=1) - values.sum(axis=1)) / values.sum(axis=1))
    added, scaled = (sum(v for *_, v, r in shares if r == kind) / len(shares) for kind in (False, True))
    seen = (masked.var(axis=1) - added - scaled * masked.mean(axis=1) ** 2) / (1 + scaled)
    return np.asarray(np.abs(seen - values.var(axis=1)) / values.var(axis=1))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("name", "accuracy"), [("sum", 0.06), ("mean", 0.06), ("variance", 0.2)])
def test_the_formula_gives_the_accuracy_when_values_are_masked(name: str, accuracy: float, case: str) -> None:
    made = found(name, *(setting for setting, *_ in CASES[case]), accuracy=accuracy, repeats=2)
    assert made.users is not None
    assert made.users_low == made.users == made.users_high
    rng = np.random.default_rng(1)
    tests = 2 * 3 * len(CASES)
    assert mean_within(errors_by_hand(name, case, int(made.users), rng), accuracy, tests)
    assert not mean_within(errors_by_hand(name, case, int(0.7 * made.users), rng), accuracy, tests)
    assert not mean_within(errors_by_hand(name, case, int(1.4 * made.users), rng), accuracy, tests)


@pytest.mark.parametrize("accuracy", [0.2, 0.4])
def test_the_formula_is_short_by_few_users_where_few_are_needed(accuracy: float) -> None:
    made = found("variance", "laplace:0.3", accuracy=accuracy, repeats=2)
    assert made.users is not None
    rng = np.random.default_rng(2)
    assert errors_by_hand("variance", "laplace", int(made.users) + 6, rng, 20_000).mean() < accuracy
    assert errors_by_hand("variance", "laplace", int(made.users) - 6, rng, 20_000).mean() > accuracy


def test_no_seed_changes_what_a_formula_gives() -> None:
    """(2/pi) v / (accuracy g)^2: v = 4 Var(s) sigma^2 + mu4 - sigma^4, g = Var(s) = 0.15, or v = sigma^2, g = 0.6."""
    variance = 2 / math.pi * (4 * 0.15 * 0.18 + 24 * 0.3**4 - 0.18**2) / (0.01 * 0.15) ** 2
    total = 2 / math.pi * 0.18 / (0.01 * 0.6) ** 2
    for name, users in (("variance", variance), ("sum", total), ("mean", total)):
        seen = [check(aggregate=name, mechanism=("laplace:0.3",), repeats=2, seed=seed)[0].users for seed in (7, 8, 9)]
        assert seen == [math.ceil(users)] * 3


def test_without_noise_one_user_is_enough() -> None:
    for name in ("sum", "variance", "median", "count"):
        made = found(name, "none", repeats=2)
        assert (made.users_low, made.users, made.users_high) == (1, 1, 1)


CURVES = {
    "cancels": (0.0, 1.0),
    "cancels beyond": (0.0, 15.0),
    "to a limit": (0.08, 1.2),
    "to a limit just below": (0.095, 1.0),
}
"""|bias + scale Z / sqrt(N)| with Z normal: the error of an estimate whose noise cancels but for a bias."""


def fails(curve: str, repeats: int, seeds: int, narrow: float) -> int:
    """In how many seeds an interval, made narrower by a factor in log users, misses the true number."""
    bias, scale = CURVES[curve]

    def mean_error(users: float) -> float:
        sigma = scale / math.sqrt(users)
        return float(foldnorm.mean(bias / sigma, scale=sigma))

    true = brentq(lambda users: mean_error(users) - 0.1, 10, 1e5)
    missed = 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)

        def draw(users: int, rng: np.random.Generator = rng) -> FloatArray:
            return np.asarray(np.abs(bias + scale / math.sqrt(users) * rng.standard_normal(repeats)))

        made = estimated(SIZES, np.array([draw(size) for size in SIZES]), 0.1, draw, falls=bias == 0)
        users = made.low if made.users is None else made.users
        assert made.low <= users <= made.high
        low, high = ((end / users) ** narrow * users for end in (made.low, made.high))
        missed += not low <= true <= high
    return missed


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("repeats", [10, 60, 400])
def test_intervals_hold_in_95_of_100_seeds(curve: str, repeats: int) -> None:
    seeds, tests = 300, 3 * len(CURVES)
    most = int(binom.isf(share(tests), seeds, 0.05))
    assert fails(curve, repeats, seeds, 1.0) <= most
    assert fails(curve, repeats, seeds, 0.4) > most


def test_a_median_that_stays_off_has_a_number_of_users_all_the_same() -> None:
    """Its error goes to 8 % and not to 0, and is 10 % somewhere before."""
    made = found("median", "laplace:0.3", accuracy=0.1)
    assert made.users is not None
    assert made.users_low < made.users < made.users_high < 2 * made.users
    rng = np.random.default_rng(3)
    means = []
    for users in (int(made.users_low), math.ceil(made.users_high)):
        values = 0.1 + 2 * rng.beta(1, 3, (20_000, users))
        masked = values + rng.laplace(0, 0.3, values.shape)
        own = np.median(values, axis=1)
        means.append(float(np.mean(np.abs(np.median(masked, axis=1) - own) / own)))
    assert means[0] > 0.1 > means[1]
    assert found("median", "laplace:0.3", accuracy=0.07).users is None


def test_an_error_that_is_within_the_accuracy_from_the_start_needs_no_more_than_the_least_that_is_drawn() -> None:
    made = found("max", "laplace:0.001", accuracy=0.5)
    assert (made.users_low, made.users, made.users_high) == (1, SIZES[0], SIZES[0])


def test_a_function_of_ones_own_gets_an_interval(tmp_path: Path) -> None:
    """The interval of a total contains what the formula gives for the sum."""
    (tmp_path / "own.py").write_text("def total(values):\n    return values.sum()\n")
    exact = found("sum", "laplace:0.3", repeats=2).users
    made = found(f"{tmp_path / 'own.py'}:total", "laplace:0.3")
    assert exact is not None
    assert made.users is not None
    assert made.users_low <= exact <= made.users_high < 2 * made.users_low


def test_what_is_beyond_the_most_that_is_drawn_is_not_guessed() -> None:
    rng = np.random.default_rng(4)

    def draw(users: int) -> FloatArray:
        return np.asarray(np.abs(rng.standard_normal(60)) / math.sqrt(users))

    made = estimated(SIZES, np.array([draw(size) for size in SIZES]), 1e-4, draw, falls=True)
    assert (made.users, made.low, made.high) == (None, MOST, math.inf)


def test_a_finding_as_json_has_the_interval() -> None:
    plain = found("median", "laplace:0.3", accuracy=0.1).to_json()
    assert plain["users_low"] < plain["users"] < plain["users_high"]
    assert plain["settings"] == ["laplace:0.3"]
    none = found("max", "laplace:0.3").to_json()
    assert (none["users"], none["users_high"], none["cancels"]) == (None, None, False)
    assert found("count", "laplace:0.3").to_json()["exponent"] is None


@pytest.mark.parametrize("seed", [3, 5, 11, 16])
def test_an_error_that_flattens_out_is_not_said_to_cancel(seed: int) -> None:
    """The median of s + Laplace noise stays off, by 0.6 % here; it falls before, as noise that cancels does."""
    assert not found("median", "laplace:0.05", accuracy=0.02, seed=seed).cancels


@pytest.mark.parametrize("setting", ["laplace:0.3", "laplace:1", "uniform:0.7"])
def test_few_draws_do_not_deny_what_a_formula_says(setting: str) -> None:
    for name in ("sum", "mean"):
        made = found(name, setting, repeats=8)
        assert made.cancels
        assert made.to_json()["cancels"] is True


def test_draws_that_leave_it_open_say_so() -> None:
    made = replace(found("median", "laplace:0.3"), exponent=-0.3, low=-0.6, high=0.05)
    assert made.undecided
    assert made.to_json()["cancels"] is None
    assert not replace(made, high=-0.2).undecided
