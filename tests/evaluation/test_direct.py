"""The direct method against plain numpy: same distributions, every aggregate, both error functions."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from halfmask.arrays import FloatArray
from halfmask.evaluation.aggregates import ANALYTIC
from halfmask.evaluation.direct.run import evaluate_direct
from halfmask.evaluation.metrics import METRICS, ErrorFunction
from tests.evaluation.direct_cases import Case, household, naive, settings
from tests.statistics import share

REPEATS = 160
TESTS = 2 * 9 * 6
B = 2.0  # large against the readings, so that extremes feel it too


def ninetieth(values: FloatArray) -> float:
    return float(np.quantile(values, 0.9))


def same_mean(one: FloatArray, other: FloatArray) -> bool:
    """Whether two samples can have one mean, by their own standard errors; normal for a few hundred repeats."""
    bound = np.sqrt(2 * np.log(2 / share(TESTS)))
    error = np.sqrt(one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other))
    return bool(abs(one.mean() - other.mean()) <= bound * error + 1e-12)


AGGREGATES: dict[str, Callable[[FloatArray], float]] = {
    "sum": np.sum,
    "mean": np.mean,
    "variance": np.var,
    "max": np.max,
    "min": np.min,
    "median": np.median,
    "quantile:0.9": ninetieth,
    "trimmed:0.1": lambda values: float(stats.trim_mean(values, 0.1)),
}


@pytest.fixture(scope="module")
def homes() -> Case:
    return household(zeros=0.005)


def laplace(b: float) -> Callable[[FloatArray, np.random.Generator], FloatArray]:
    return lambda values, rng: values + rng.laplace(0, b, len(values))


@pytest.mark.parametrize("error", ["relative", "scaled"])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_every_aggregate_is_what_plain_numpy_says(homes: Case, aggregate: str, error: ErrorFunction) -> None:
    of_true = AGGREGATES[aggregate]

    def of_masked(b: float) -> Callable[[FloatArray], float]:
        return (lambda values: np.var(values) - 2 * b**2) if aggregate == "variance" else of_true

    found = evaluate_direct(
        homes.panel, homes.profile, settings(f"laplace:{B}"), homes.everybody(REPEATS), aggregate=aggregate, error=error
    )[0]
    right = naive(homes, laplace(B), of_masked(B), of_true, error, REPEATS)
    off = B * (1.1 if aggregate in ANALYTIC else 1.3)  # order statistics feel the scale of the noise less
    wrong = naive(homes, laplace(off), of_masked(off), of_true, error, REPEATS)
    agree = {name: same_mean(found[:, k], right[:, k]) for k, name in enumerate(METRICS)}
    assert all(agree.values()), agree
    assert not same_mean(found[:, 0], wrong[:, 0])
    assert not same_mean(found[:, 3], wrong[:, 3])
    for k in (0, 2, 3):  # the spread over repeats is right too: 0.4 is 5 standard errors of a ratio of two
        assert found[:, k].std() == pytest.approx(right[:, k].std(), rel=0.4)


MASKS: dict[str, Callable[[FloatArray, np.random.Generator], FloatArray]] = {
    "gaussian:0.4": lambda s, rng: s + rng.normal(0, 0.4, len(s)),
    "sine:0.5,0.8,0.3": lambda s, rng: s + _sine(rng.random(len(s))),
    "uniform:0.7": lambda s, rng: s + rng.uniform(-0.7, 0.7, len(s)),
    "relative-laplace:0.3": lambda s, rng: s * (1 + rng.laplace(0, 0.3, len(s))),
    "relative-gaussian:0.3": lambda s, rng: s * (1 + rng.normal(0, 0.3, len(s))),
    "clip:0,2/laplace:0.3": lambda s, rng: np.clip(s, 0, 2) + rng.laplace(0, 0.3, len(s)),
    "geometric:0.5,0.25": lambda s, rng: s + 0.25 * _discrete(0.5, rng, len(s)),
}


def _discrete(rate: float, rng: np.random.Generator, size: int) -> FloatArray:
    stop = 1 - np.exp(-rate)
    return (rng.geometric(stop, size) - rng.geometric(stop, size)).astype(float)


def _sine(u: FloatArray) -> FloatArray:
    x = np.sin(2 * np.pi * u)
    return 0.5 * x + (0.8 * x) ** 3 + (0.3 * x) ** 5


@pytest.mark.parametrize("text", MASKS)
def test_every_way_of_masking_is_what_plain_numpy_says(homes: Case, text: str) -> None:
    mask = MASKS[text]
    found = evaluate_direct(homes.panel, homes.profile, settings(text), homes.everybody(2 * REPEATS))[0]
    right = naive(homes, mask, np.sum, np.sum, "relative", 2 * REPEATS)
    wrong = naive(homes, lambda s, rng: s + 1.1 * (mask(s, rng) - s), np.sum, np.sum, "relative", 2 * REPEATS)
    agree = {name: same_mean(found[:, k], right[:, k]) for k, name in enumerate(METRICS)}
    assert all(agree.values()), agree
    assert not same_mean(found[:, 0], wrong[:, 0])
    assert not same_mean(found[:, 3], wrong[:, 3])


def test_variance_under_relative_noise_is_corrected() -> None:
    case = household(users=40, days=20, zeros=0.0)
    found = evaluate_direct(
        case.panel, case.profile, settings("relative-gaussian:0.3"), case.everybody(100), aggregate="variance"
    )[0, :, 3]

    def corrected(values: FloatArray) -> float:
        return float(np.mean(values**2) / 1.09 - np.mean(values) ** 2)

    mask = MASKS["relative-gaussian:0.3"]
    right = naive(case, mask, corrected, np.var, "relative", 100)[:, 3]
    uncorrected = naive(case, mask, np.var, np.var, "relative", 100)[:, 3]
    assert same_mean(found, right)
    assert not same_mean(found, uncorrected)


def test_mechanisms_without_chance_are_exact(homes: Case) -> None:
    found = evaluate_direct(
        homes.panel, homes.profile, settings("round:0.5", "microaggregate:2", "none"), homes.everybody(2)
    )
    rounded = naive(homes, lambda s, _: 0.5 * np.rint(s / 0.5), np.sum, np.sum, "relative", 1)[0]
    np.testing.assert_allclose(found[0], [rounded, rounded], rtol=1e-9, atol=1e-12)
    clustered = naive(homes, lambda s, _: _two_means(homes, s), np.sum, np.sum, "relative", 1)[0]
    np.testing.assert_allclose(found[1], [clustered, clustered], rtol=1e-9, atol=1e-12)
    assert (found[2] == 0).all()


def _two_means(case: Case, values: FloatArray) -> FloatArray:
    """Each user's own values by the best of all cuts in two."""
    masked = np.empty(len(values))
    for user in np.unique(case.users):
        mine = np.flatnonzero(case.users == user)
        own = np.sort(values[mine])
        cuts = range(1, len(own))
        cost = [own[:c].var() * c + own[c:].var() * (len(own) - c) for c in cuts]
        cut = cuts[int(np.argmin(cost))]
        masked[mine] = np.where(values[mine] <= own[cut - 1], own[:cut].mean(), own[cut:].mean())
    return masked


@pytest.mark.parametrize("error", ["relative", "scaled"])
def test_negative_values(error: ErrorFunction) -> None:
    case = household(signed=True)
    found = evaluate_direct(case.panel, case.profile, settings(f"laplace:{B}"), case.everybody(REPEATS), error=error)[0]
    right = naive(case, laplace(B), np.sum, np.sum, error, REPEATS)
    agree = {name: same_mean(found[:, k], right[:, k]) for k, name in enumerate(METRICS)}
    assert all(agree.values()), agree


def test_noise_of_samples_is_independent(homes: Case) -> None:
    found = evaluate_direct(homes.panel, homes.profile, settings("laplace:1", "laplace:2"), homes.everybody(REPEATS))
    between = np.corrcoef(found[0, :, 0], found[1, :, 0])[0, 1]
    along = np.corrcoef(found[0, :-1, 0], found[0, 1:, 0])[0, 1]
    bound = np.sqrt(2 * np.log(2 / share(TESTS)) / REPEATS)
    assert abs(between) < bound
    assert abs(along) < bound
    assert abs(np.corrcoef(found[0, :, 0], 2 * found[0, :, 0])[0, 1]) > bound
