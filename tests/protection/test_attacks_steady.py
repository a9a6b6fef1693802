"""Attacks on a steady value: averaging and support intersection, against closed forms."""

import numpy as np
import pytest

from halfmask.protection.attacks.averaging import REPORTS, averaging, reports_needed, simulated_errors
from halfmask.protection.attacks.intersection import exponent, feasible_widths, intersection
from tests.protection.attack_cases import evidence_of, homes, household_population, setting
from tests.statistics import share

EVIDENCE = evidence_of(homes(users=6, days=2), household_population())
SIZE = EVIDENCE.population.typical
TESTS = 20


def within_chi_square(rms: float, sigma: float, draws: int) -> bool:
    """Whether a root mean square of so many normal numbers can come from that sigma (Laurent and Massart's bounds)."""
    x = np.log(2 / share(TESTS))
    ratio = rms**2 / sigma**2
    return 1 - 2 * np.sqrt(x / draws) <= ratio <= 1 + 2 * np.sqrt(x / draws) + 2 * x / draws


@pytest.mark.parametrize("text", ["laplace:0.4", "gaussian:0.7", "uniform:1", "sine:0.9,0.3", "relative-laplace:0.3"])
def test_the_mean_of_n_reports_is_off_by_sigma_over_root_n(text: str) -> None:
    found = averaging(setting(text), EVIDENCE, np.random.default_rng(1)).details
    for n, simulated, law in zip(REPORTS, found["mean_simulated"], found["mean_law"], strict=True):
        if n >= 48:  # where the mean is normal, as the bound wants it
            assert within_chi_square(simulated, law, 128)
            assert not within_chi_square(simulated, law * 3, 128)
            assert not within_chi_square(simulated, law / 2, 128)
    assert found["mean_law"][0] / found["mean_law"][3] == pytest.approx(np.sqrt(336))


def test_gaussian_needs_as_many_reports_as_the_formula_says() -> None:
    found = averaging(setting("gaussian:0.4"), EVIDENCE, np.random.default_rng(1))
    assert found.details["reports_until_10_percent"] == np.ceil(0.4**2 / (0.1 * SIZE) ** 2)
    assert "the average" in found.words


def test_laplace_needs_little_more_than_half_the_reports_by_the_median() -> None:
    """b/sqrt(n) of the median against sqrt(2) b/sqrt(n) of the mean: half of them, in the limit of many."""
    found = averaging(setting("laplace:0.4"), EVIDENCE, np.random.default_rng(1))
    by_mean = 2 * 0.4**2 / (0.1 * SIZE) ** 2
    assert 0.45 * by_mean < found.details["reports_until_10_percent"] < 0.7 * by_mean
    assert "the median" in found.words
    assert found.details["median_simulated"][-1] == pytest.approx(0.4 / SIZE / np.sqrt(REPORTS[-1]), rel=0.25)
    assert found.value == pytest.approx(0.4 / SIZE / np.sqrt(336), rel=0.25)
    assert found.baseline == pytest.approx(np.sqrt(2) * 0.4 / SIZE)
    assert found.details["reports_until_10_percent"] is not None
    assert reports_needed(np.array([2.0, 1.0, 0.9, 0.8, 0.5])) is None
    assert reports_needed(np.full(5, 0.01)) == 1


@pytest.mark.parametrize("text", ["uniform:1", "sine:1.2"])
def test_the_midrange_beats_the_mean_where_noise_is_bounded(text: str) -> None:
    found = averaging(setting(text), EVIDENCE, np.random.default_rng(2))
    assert found.details["midrange_simulated"][3] < 0.2 * found.details["mean_law"][3]
    assert found.value == found.details["midrange_simulated"][3]
    assert averaging(setting("laplace:1"), EVIDENCE, np.random.default_rng(2)).details["midrange_simulated"] is None


def test_the_midrange_of_uniform_noise_has_its_known_error() -> None:
    errors = np.random.default_rng(3).uniform(-1, 1, (2000, REPORTS[-1] // 10))
    midrange = simulated_errors(errors)[2]
    for place, n in enumerate(REPORTS[:4]):
        assert midrange[place] == pytest.approx(np.sqrt(2 / ((n + 1) * (n + 2))), rel=0.15)


def test_a_rule_repeats_its_error() -> None:
    found = averaging(setting("round:0.5"), EVIDENCE, np.random.default_rng(1))
    assert found.value == found.baseline > 0
    assert "does not help" in found.words
    exact = averaging(setting("none"), EVIDENCE, np.random.default_rng(1))
    assert exact.value == 0
    assert "exactly" in exact.words


def test_uniform_noise_leaves_its_known_width() -> None:
    widths = feasible_widths(setting("uniform:1.5"))
    assert widths == pytest.approx([4 * 1.5 / (n + 1) for n in REPORTS], rel=1e-3)
    assert widths != pytest.approx([4 * 1.6 / (n + 1) for n in REPORTS], rel=1e-3)


@pytest.mark.parametrize(
    ("text", "power"),
    [("sine:1.2,0.3,1.2,1.5,1.5", -2), ("sine:0.5", -2), ("uniform:2", -1), ("tabulated:0.9,0.05,1,1", -1)],
)
def test_the_width_shrinks_like_the_density_at_the_edge_says(text: str, power: int) -> None:
    found = intersection(setting(text), EVIDENCE, np.random.default_rng(4))
    assert found.details["exponent_law"] == pytest.approx(power, abs=0.02)
    assert found.details["exponent_simulated"] == pytest.approx(power, abs=0.2)
    assert found.value is not None
    assert found.baseline == pytest.approx(
        2 * setting(text).law.support(np.array([setting(text).parameters]))[0], rel=1e-3
    )
    ratio = np.array(found.details["width_simulated"]) / np.array(found.details["width_law"])
    assert (np.abs(np.log(ratio)) < 0.5).all()


@pytest.mark.parametrize("text", ["laplace:1", "gaussian:1", "relative-laplace:0.3", "round:0.5", "none"])
def test_the_intersection_does_not_apply_to_what_has_no_bound(text: str) -> None:
    found = intersection(setting(text), EVIDENCE, np.random.default_rng(4))
    assert found.value is None
    assert found.words.startswith("Does not apply")


def test_a_clip_is_attacked_through_its_inner_noise() -> None:
    found = intersection(setting("clip:0,5/uniform:1"), EVIDENCE, np.random.default_rng(4))
    assert found.value == pytest.approx(4 / 337, rel=1e-3)
    assert exponent(np.array([1.0, 1, 1, 336.0, 17520.0])) == pytest.approx(1)
