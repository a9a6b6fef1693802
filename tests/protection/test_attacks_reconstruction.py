"""The best guess of a reading, against closed forms and against brute force."""

import numpy as np
import pytest

from halfmask.protection.attacks.reconstruction import lattice_errors, posterior_mean, reconstruction, simulated_errors
from halfmask.protection.evidence import Population, evidence_from_profile
from tests.evaluation.direct_cases import household
from tests.protection.attack_cases import evidence_of, homes, household_population, population_from, setting


def normal_population(deviation: float) -> Population:
    from scipy.stats import norm

    edges = np.linspace(-6, 6, 1201) * deviation
    return Population(edges[:-1], edges[1:], np.diff(norm.cdf(edges / deviation)), 0.0)


@pytest.mark.parametrize(("tau", "sigma"), [(1.0, 1.0), (1.0, 0.2), (0.5, 3.0)])
def test_normal_readings_and_noise_give_the_textbook_error(tau: float, sigma: float) -> None:
    found = lattice_errors(setting(f"gaussian:{sigma}"), normal_population(tau))
    best = tau * sigma / np.hypot(tau, sigma)
    assert found.best == pytest.approx(best, rel=0.005)
    assert found.best_absolute == pytest.approx(best * np.sqrt(2 / np.pi), rel=0.01)
    assert found.naive == pytest.approx(sigma)
    assert found.prior == pytest.approx(tau, rel=0.005)
    assert found.prior_absolute == pytest.approx(tau * np.sqrt(2 / np.pi), rel=0.005)


@pytest.mark.parametrize("text", ["laplace:0.3", "sine:0.6,0.6", "uniform:0.8", "tabulated:0.9,0.05,1,1"])
def test_quadrature_agrees_with_monte_carlo(text: str) -> None:
    population, rng = household_population(), np.random.default_rng(2)
    truth = population.quantiles(rng.random(400_000))
    brute = simulated_errors(truth, setting(text).mask(truth, rng), rng)
    exact = lattice_errors(setting(text), population)
    for name in ("best", "best_absolute", "naive", "naive_absolute", "prior", "prior_absolute"):
        assert getattr(exact, name) == pytest.approx(getattr(brute, name), rel=0.04), name
    name, *numbers = setting(text).parameters and text.replace(":", ",").split(",")
    louder = setting(
        f"{name}:" + ",".join([str(1.3 * float(numbers[0])), *numbers[1:]]) if name != "tabulated" else "uniform:1"
    )
    assert lattice_errors(louder, population).best_absolute != pytest.approx(brute.best_absolute, rel=0.04)


def test_the_posterior_mean_is_that_of_two_points() -> None:
    s, p, f = np.array([0.0, 1.0]), np.array([0.75, 0.25]), np.array([0.25, 0.5, 0.25])
    chance, guess = posterior_mean(s, p, f)
    assert chance == pytest.approx([0.1875, 0.4375, 0.3125, 0.0625])
    assert guess == pytest.approx([0, 1 / 7, 0.4, 1])


def test_noise_of_constant_size_is_easily_undone() -> None:
    population = household_population()
    steady = lattice_errors(setting("tabulated:0.99,0.01,1,1"), population)
    spread = lattice_errors(setting("laplace:0.7"), population)
    assert steady.naive_absolute > 1.3 * spread.naive_absolute
    assert steady.best_absolute < 0.7 * spread.best_absolute


def test_both_ends() -> None:
    population = household_population()
    quiet, loud = (
        lattice_errors(setting("laplace:1e-9"), population),
        lattice_errors(setting("laplace:1e9"), population),
    )
    assert quiet.best == quiet.naive == pytest.approx(np.sqrt(2) * 1e-9)
    assert loud.best == loud.prior == pytest.approx(np.sqrt(population.variance))
    assert lattice_errors(setting("none"), population).best_absolute == 0


def test_a_finding_holds_the_guess_against_report_and_prior() -> None:
    found = reconstruction(
        setting("laplace:0.5"), evidence_of(homes(6, 2), household_population()), np.random.default_rng(1)
    )
    assert found.value is not None
    assert found.baseline is not None
    assert found.value < min(found.baseline, found.details["report"])
    assert found.details["report"] == pytest.approx(0.5)
    assert f"{found.value:.3g} off" in found.words


def test_rounding_leaves_a_quarter_step() -> None:
    flat = population_from(np.random.default_rng(1).uniform(0.5, 9.5, 100_000), pieces=450)
    found = reconstruction(setting("round:1"), evidence_of(homes(6, 2), flat), np.random.default_rng(1))
    assert found.value == pytest.approx(0.25, rel=0.02)
    assert found.details["method"] == "simulation"


@pytest.mark.parametrize("text", ["relative-laplace:0.3", "clip:0,1/laplace:0.2", "microaggregate:3"])
def test_what_has_no_law_of_its_own_is_simulated(text: str) -> None:
    found = reconstruction(setting(text), evidence_of(homes()), np.random.default_rng(1))
    assert found.value is not None
    assert found.baseline is not None
    assert 0 < found.value < found.baseline
    assert found.value <= 1.02 * found.details["report"]


def test_a_rule_for_whole_users_needs_them() -> None:
    found = reconstruction(
        setting("microaggregate:3"), evidence_from_profile(household().profile), np.random.default_rng(1)
    )
    assert found.value is None
    assert "needs users' readings" in found.words


def test_readings_that_do_not_vary_are_not_guessed() -> None:
    """They are known without a report: a ratio of two errors of 0 is not a number."""
    same = Population(np.array([1.98]), np.array([2.02]), np.ones(1), 0.0)
    found = reconstruction(setting("laplace:0.8"), evidence_of(np.full((3, 48), 2.0), same), np.random.default_rng(1))
    assert (found.value, found.baseline) == (None, None)
