"""What attackers have to go by, against the readings it was made of."""

import numpy as np
import pytest

from halfmask.protection.evidence import evidence_from_panel, evidence_from_profile, population_of
from tests.evaluation.direct_cases import Case, household
from tests.refusals import refused


def test_the_population_is_that_of_the_readings() -> None:
    case = household(users=20, signed=True)
    population = population_of(case.profile)
    assert population.share.sum() + population.zero == pytest.approx(1)
    assert population.zero == np.mean(case.values == 0)
    assert population.mean == pytest.approx(case.values.mean(), abs=0.01)
    assert population.variance == pytest.approx(case.values.var(), rel=0.02)
    size = np.abs(case.values[case.values != 0])
    assert population.typical == pytest.approx(np.median(size), rel=0.012)
    for x in (-1.0, -0.01, 0.0, 0.7, 3.0):
        below = np.mean(case.values <= x)
        assert population.cdf(np.array([x]))[0] == pytest.approx(below, abs=0.01)


def test_quantiles_undo_the_distribution_function() -> None:
    population = population_of(household(signed=True).profile)
    p = np.linspace(0.001, 0.999, 500)
    values = population.quantiles(p)
    assert (np.diff(values) >= 0).all()
    assert np.mean(values == 0) == pytest.approx(population.zero, abs=0.005)
    moving = values != 0
    assert population.cdf(values[moving]) == pytest.approx(p[moving], abs=1e-9)
    assert not np.allclose(population.cdf(values[moving] * 1.1), p[moving], atol=0.01)


def test_a_panel_gives_its_readings_as_a_matrix() -> None:
    case = household(users=6, days=5, step=3)
    evidence = evidence_from_panel(case.panel, case.profile)
    assert np.array_equal(evidence.series, case.values.reshape(6, -1))
    assert evidence.step == 3 * 3_600_000_000
    assert (evidence.counts == 1).all()
    assert np.array_equal(evidence.squares, evidence.series**2)
    assert evidence.what == "readings every 3 hours"


def test_gaps_are_gaps() -> None:
    case = Case(["a", "a", "a", "b", "b", "b"], [0, 1, 2, 0, 1, 3], [1.0, 2, 3, 4, 5, 6])
    evidence = evidence_from_panel(case.panel, case.profile)
    nan = np.nan
    assert np.array_equal(evidence.series[:, :3], [[1, 2, 3], [4, 5, nan]], equal_nan=True)
    assert evidence.counts.sum() == np.isfinite(evidence.series).sum()
    assert evidence.complete(0.9).tolist() == [row for row in (0, 1) if np.isfinite(evidence.series[row]).all()]


def test_users_are_sampled_evenly_and_few() -> None:
    case = household(users=15, days=3)
    evidence = evidence_from_panel(case.panel, case.profile, users=5)
    every = case.values.reshape(15, -1)
    assert np.array_equal(evidence.series, every[np.linspace(0, 14, 5).round().astype(int)])
    assert len(evidence_from_profile(case.profile, users=4).series) == 4
    with refused("option.few", "users"):
        evidence_from_profile(case.profile, users=1)


def test_a_profile_gives_totals() -> None:
    case = household(users=5, days=4, step=3)
    evidence = evidence_from_profile(case.profile)
    assert evidence.series == pytest.approx(case.values.reshape(5, 4, 8).sum(axis=2))
    assert evidence.squares == pytest.approx((case.values**2).reshape(5, 4, 8).sum(axis=2))
    assert (evidence.counts == 8).all()
    assert evidence.what == "daily totals"


def test_buckets_are_no_households_but_a_panel_has_them() -> None:
    case = household(users=15, days=3)
    bucketed = case.profile.bucketed(4)
    assert not evidence_from_profile(bucketed).single
    evidence = evidence_from_panel(case.panel, bucketed, users=7)
    assert evidence.single
    assert np.array_equal(evidence.series, case.values.reshape(15, -1)[:7])


def test_what_cannot_be_attacked_says_so() -> None:
    zeros = Case(["a", "b"], [0, 0], [0.0, 0.0])
    with refused("option.zeros"):
        evidence_from_profile(zeros.profile)
    single = Case(["a", "b"], [0, 0], [1.0, 2.0])
    with refused("option.step", "panel"):
        evidence_from_panel(single.panel, single.profile)


def test_a_panel_of_other_readings_is_refused() -> None:
    """Other values of the same users and times, and the same values of other users."""
    users, times, values = ["a", "a", "b", "b"], [0, 1, 0, 1], [1.0, 2, 3, 4]
    profile = Case(users, times, values).profile
    for other in (Case(users, times, [1.0, 2, 3, 4.1]), Case(users[:3], times[:3], values[:3])):
        with refused("source.other"):
            evidence_from_panel(other.panel, profile)
    with refused("source.users"):
        evidence_from_panel(Case(["x", "x", "y", "y"], times, values).panel, profile)
    assert evidence_from_panel(Case(users, times, values).panel, profile).series.sum() == 10
