"""The best guess of many settings at once, beside that of each alone."""

import numpy as np
import pytest

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.reconstruction import lattice_errors, share_left, simulated_errors
from halfmask.protection.best_guess import guess_error, guess_errors
from halfmask.protection.evidence import population_of
from halfmask_device import law_of
from tests.choice.cases import homes
from tests.protection.attack_cases import household_population

SIZES = np.geomspace(1e-4, 30, 12)


@pytest.mark.parametrize("name", ["laplace", "gaussian", "uniform", "sine"])
def test_many_at_once_agree_with_one_by_one(name: str) -> None:
    people = population_of(homes().profile)
    together = guess_errors(name, SIZES[:, None], people)
    alone = np.array([guess_error(PrivacySetting(name, (size,)), people) for size in SIZES.tolist()])
    assert together == pytest.approx(alone, abs=0.04)
    assert np.corrcoef(together, alone)[0, 1] > 0.998
    assert together != pytest.approx(np.minimum(1.2 * alone, 1), abs=0.04), "a fifth more would be seen"


def test_from_nothing_to_all() -> None:
    people = population_of(homes().profile)
    found = guess_errors("laplace", np.array([[0.0], [1e-9], [1e9]]), people)
    assert found[0] == 0
    assert 0 < found[1] < 1e-6
    assert found[2] == pytest.approx(1, abs=0.01)
    assert np.isnan(guess_errors("round", np.array([[1.0]]), people)).all()
    assert np.isnan(guess_error(PrivacySetting.parse("clip:0,1/laplace:1"), people))
    assert guess_error(PrivacySetting("laplace", (1e200,)), people) == 1


def by_bayes(truth: FloatArray, setting: str, step: str) -> float:
    """E|s - median of s given the report| over that without one: every report of the device's own law in its turn."""
    law, width = law_of(setting, step), float(step)
    most = law.furthest(1e-12)
    mass = np.array([law.mass(k) for k in range(-most, most + 1)])
    place, truth = np.floor(np.sort(truth) / width + 0.5).astype(int), np.sort(truth)
    error = 0.0
    for report in range(place[0] - most, place[-1] + most + 1):
        off = report - place
        weight = np.where(np.abs(off) <= most, mass[np.clip(off + most, 0, 2 * most)], 0.0)
        below = np.cumsum(weight)
        if below[-1] > 0:
            error += float(weight @ np.abs(truth - truth[np.searchsorted(below, below[-1] / 2)]))
    return error / float(np.abs(truth - np.median(truth)).sum())


@pytest.mark.parametrize(
    ("text", "step"),
    [("laplace:0.36", "0.5"), ("laplace:0.2", "0.5"), ("gaussian:0.4", "0.8"), ("uniform:0.6", "0.3"),
     ("laplace:0.02", "0.02")],
)  # fmt: skip
def test_on_a_lattice_the_guess_is_from_what_a_device_draws(text: str, step: str) -> None:
    """By enumeration of all reports, with the device's probabilities; the continuous law's guess is another."""
    people = household_population()
    truth = people.quantiles((np.arange(4000) + 0.5) / 4000)
    exact, setting = by_bayes(truth, text, step), PrivacySetting.parse(text)
    assert guess_error(setting, people, float(step)) == pytest.approx(exact, rel=0.01)
    assert guess_error(setting, people) != pytest.approx(exact, rel=0.012)
    assert guess_error(setting, people, 1e-6) == guess_error(setting, people)


def test_on_a_lattice_all_errors_are_those_of_masked_readings() -> None:
    people, rng = household_population(), np.random.default_rng(4)
    truth = people.quantiles(rng.random(200_000))
    k = np.arange(-60, 61)
    mass = np.array([law_of("laplace:0.36", "0.5").mass(each) for each in k.tolist()])
    reports = 0.5 * (np.floor(truth / 0.5 + 0.5) + rng.choice(k, len(truth), p=mass / mass.sum()))
    setting, brute = PrivacySetting.parse("laplace:0.36"), simulated_errors(truth, reports, rng)
    found = lattice_errors(setting, people, 0.5)
    for name in ("best", "best_absolute", "naive", "naive_absolute", "prior", "prior_absolute"):
        assert getattr(found, name) == pytest.approx(getattr(brute, name), rel=0.02), name
    left = share_left(setting, people, 0.5)
    assert left == pytest.approx(found.best / found.prior)
    assert left != pytest.approx(share_left(setting, people), rel=0.02)
