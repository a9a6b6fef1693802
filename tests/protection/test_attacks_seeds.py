"""Seeds that can be guessed or are shared undo the noise; entropy does not."""

import numpy as np
import pytest

from halfmask.protection.attacks.seeds import decimals_of, draw, draws, guessable_seed, implausibility, search, uniforms
from halfmask.protection.evidence import evidence_from_profile
from tests.evaluation.direct_cases import household
from tests.protection.attack_cases import evidence_of, homes, setting

HOMES = homes(users=12, days=3)
SEEDS = 1500


@pytest.mark.parametrize(
    "text", ["laplace:0.5", "sine:0.9,0.3", "gaussian:0.02", "relative-laplace:0.3", "clip:0,9/uniform:1"]
)
def test_a_guessable_seed_is_found_and_entropy_is_not(text: str) -> None:
    found = guessable_seed(setting(text), evidence_of(HOMES), np.random.default_rng(1), SEEDS)
    assert found.value == 1.0
    assert found.baseline == 0.0
    assert found.details["shared_seed_rmse"] < 1e-12 * max(found.details["noise_std"], 1)
    assert found.details["seeds"] == SEEDS


def test_a_profile_alone_shows_it_on_drawn_readings() -> None:
    found = guessable_seed(
        setting("laplace:0.5"), evidence_from_profile(household().profile), np.random.default_rng(1), SEEDS
    )
    assert found.value == 1.0
    assert found.details["readings_from"] == "the histogram"


def test_smoothness_does_where_decimals_do_not_tell() -> None:
    rough = evidence_of(HOMES * np.pi / 3)
    assert decimals_of(rough.series) is None
    found = guessable_seed(setting("laplace:1"), rough, np.random.default_rng(1), SEEDS)
    assert found.value == 1.0
    assert found.details["decimals_known"] is False


def test_the_seed_must_be_among_those_tried() -> None:
    noise, usual = setting("laplace:0.5"), np.array([0.0, 10.0])
    report = HOMES[:1, :48] + draw(noise, 77, 48)
    assert search(noise, report, 0.001, usual, 100).tolist() == [77]
    assert search(noise, report, 0.001, usual, 70).tolist() != [77]


def test_implausible_is_unusual_or_rough() -> None:
    usual = np.array([0.0, 5.0])
    smooth, rough = np.full((1, 8), 1.0), np.tile([1.0, 4.0], 4)[None]
    unusual = smooth.copy()
    unusual[0, 3] = -1
    cost = implausibility(np.concatenate([unusual, rough, smooth]), usual)
    assert np.argsort(cost).tolist() == [2, 1, 0]


def test_the_generator_is_splitmix() -> None:
    """Its published first output for the seed 0, 0xE220A8397B1DCDAF, as a number of 53 bits."""
    assert uniforms(np.array([0]), 1)[0, 0] == pytest.approx((0xE220A8397B1DCDAF >> 11) / 2**53, abs=2.0**-53)


@pytest.mark.parametrize("text", ["staircase:1,0.5,0.3", "tabulated:0.1,0.5,1,1"])
def test_noise_without_a_written_quantile_is_drawn_through_a_table_of_its_law(text: str) -> None:
    noise = setting(text)
    psi = np.abs(draws(noise, np.arange(400), 48)).ravel()
    at = np.quantile(psi, [0.2, 0.5, 0.9])
    share = noise.law.cdf(np.array(noise.parameters)[None], at)[0]
    assert share == pytest.approx([0.2, 0.5, 0.9], abs=0.01)


def test_decimals() -> None:
    assert decimals_of(np.array([1.0, 2.5])) == pytest.approx(0.1)
    assert decimals_of(np.array([3.0, 200.0])) == 1
    assert decimals_of(np.array([np.pi])) is None


@pytest.mark.parametrize("text", ["none", "round:1"])
def test_without_noise_there_is_no_seed(text: str) -> None:
    found = guessable_seed(setting(text), evidence_of(HOMES), np.random.default_rng(1), SEEDS)
    assert found.value is None
