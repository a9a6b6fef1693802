"""Tests of whiteness keep their level and catch a faint colour; the score sees rules that repeat themselves."""

import numpy as np
import pytest

from halfmask.arrays import FloatArray
from halfmask.mechanisms.mechanism_registry import register
from halfmask.protection.attacks.colour import bartlett, colour, discount, whiteness
from halfmask.protection.evidence import evidence_from_profile
from tests.evaluation.direct_cases import household
from tests.protection.attack_cases import autoregression, evidence_of, homes, setting
from tests.refusals import refused
from tests.statistics import ks_one_sample, share

TESTS = 6
RNG = np.random.default_rng(1)


class Remembering:
    """Additive noise that breaks its promise of independence."""

    name = "remembering"
    parameter_names = ("scale",)

    def sample(self, parameters: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        noise = rng.standard_normal(size)
        for t in range(1, size):
            noise[t] = 0.5 * noise[t - 1] + np.sqrt(0.75) * noise[t]
        return np.asarray(parameters[0] * noise)


@pytest.mark.parametrize("text", ["gaussian:1", "laplace:1", "sine:1"])
def test_independent_noise_passes_at_the_level(text: str) -> None:
    """p-values of white noise are uniform; those of noise with a little memory are not."""
    rng = np.random.default_rng(2)
    draws = setting(text).mask(np.zeros((600, 2000)), rng)
    found = [whiteness(series) for series in draws]
    for name in ("ljung_box", "cumulated_periodogram"):
        p = np.array([getattr(each, name) for each in found])
        assert ks_one_sample(p, lambda y: np.minimum(y, 1.0), TESTS)
    bound = np.sqrt(np.log(1 / share(TESTS)) / (2 * 600))
    assert np.mean([each.p_value < 0.05 for each in found]) < 0.05 + bound
    coloured = np.array([whiteness(each).ljung_box for each in autoregression(200, 2000, 0.1, 3)])
    assert not ks_one_sample(coloured, lambda y: np.minimum(y, 1.0), TESTS)


def test_a_memory_of_a_tenth_is_caught() -> None:
    for series in autoregression(20, 10_000, 0.1, 4):
        found = whiteness(series)
        assert found.p_value < 1e-6
        assert found.autocorrelation[0] == pytest.approx(0.1, abs=0.05)
        assert found.flatness == pytest.approx(0.99, abs=0.01)


def test_both_tests_see_colour_and_flatness_measures_it() -> None:
    found = whiteness(autoregression(1, 20_000, 0.7, 5)[0])
    assert found.ljung_box < 1e-9
    assert found.cumulated_periodogram < 1e-9
    assert found.flatness == pytest.approx(1 - 0.49, abs=0.03)
    assert found.autocorrelation[:3] == pytest.approx((0.7, 0.49, 0.343), abs=0.06)


def test_an_error_that_never_changes_is_wholly_predictable() -> None:
    found = whiteness(np.full(1000, 0.3))
    assert found.flatness < 0.01
    assert found.p_value == 0
    assert bartlett(np.tile([1.0, -1.0], 500)) < 1e-9


def score(text: str, values: FloatArray) -> float:
    found = colour(setting(text), evidence_of(np.atleast_2d(values)), np.random.default_rng(3)).value
    return 1.0 if found is None else found


def test_noise_drawn_independently_scores_one_and_rules_do_not() -> None:
    steady = np.repeat(RNG.lognormal(size=(8, 100)), 6, axis=1)
    for text in ("laplace:0.5", "sine:0.9,0.3", "geometric:0.5,0.01", "relative-gaussian:0.3", "none"):
        assert score(text, steady) == 1.0
    scores = [score(text, steady) for text in ("round:0.5", "microaggregate:3", "clip:0,1")]
    assert all(0 <= each < 0.5 for each in scores)


def test_a_plugin_is_measured_and_not_trusted() -> None:
    register(Remembering)
    assert score("remembering:1", RNG.random((4, 3000))) == pytest.approx(0.75, abs=0.03)


def test_the_score_is_repeatable_takes_one_series_and_skips_gaps() -> None:
    series = np.repeat(RNG.lognormal(size=200), 5)
    gaps = np.where(RNG.random(1000) < 0.1, np.nan, series)
    assert score("round:1", series) == score("round:1", series)
    assert score("round:1", gaps) < 0.7
    assert score("laplace:1", gaps) == 1.0


def test_findings_from_readings_and_from_a_profile() -> None:
    white = colour(setting("laplace:0.5"), evidence_of(homes()), np.random.default_rng(1))
    assert white.value == 1
    assert white.value == 1
    for evidence in (evidence_of(np.round(homes() / 3)), evidence_from_profile(household().profile)):
        found = colour(setting("round:1"), evidence, np.random.default_rng(1))
        assert found.value is None or found.value < 1
    assert colour(setting("none"), evidence_of(homes()), np.random.default_rng(1)).value is None


@pytest.mark.parametrize(
    ("series", "kind"),
    [(np.zeros(100), "zeros"), *((each, "series") for each in (np.ones(10), np.full(100, np.nan), np.ones((10, 100))))],
)
def test_what_cannot_be_tested_is_refused(series: FloatArray, kind: str) -> None:
    with refused(f"option.{kind}"):
        whiteness(series)


def test_predictable_errors_are_discounted_and_independent_noise_is_not() -> None:
    steady = np.repeat(np.random.default_rng(3).random((6, 40)), 20, axis=1)
    factor = discount(0.5, evidence_of(steady), seed=1)
    assert factor(setting("laplace:0.5")) == factor(setting("relative-gaussian:0.1")) == 1
    assert 0.5 <= factor(setting("round:0.25")) < 0.6
    assert discount(0, evidence_of(steady), seed=1)(setting("round:0.25")) == 1
    with refused("option.range", "colour"):
        discount(2, evidence_of(steady), seed=1)
