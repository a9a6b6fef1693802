"""Naming households: certain where they differ and nothing hides them, chance where all is noise."""

import numpy as np
import pytest

from halfmask.protection.attacks.reidentification import interval, parts_of, ranks, reidentification, season, shape
from halfmask.protection.evidence import evidence_from_profile
from tests.evaluation.direct_cases import household
from tests.protection.attack_cases import evidence_of, homes, setting
from tests.statistics import share

HOMES = homes(users=120, days=28)


def test_noise_hides_households_the_more_the_stronger_it_is() -> None:
    evidence = evidence_of(HOMES)
    rates = [
        reidentification(setting(text), evidence, np.random.default_rng(1))
        for text in ("none", "laplace:0.1", "laplace:2", "laplace:1000")
    ]
    named = [each.value for each in rates if each.value is not None]
    assert named[0] > 0.6
    assert named[0] > named[2] > named[3]
    assert named[1] > named[2]
    assert all(each.baseline == 1 / 120 for each in rates)
    assert all(each.details["top5"] >= each.value for each in rates)
    assert all(each.details["unmasked_top1"] == named[0] for each in rates)


def test_noise_that_drowns_everything_leaves_chance() -> None:
    found = reidentification(setting("laplace:100000"), evidence_of(HOMES), np.random.default_rng(2))
    assert found.value is not None
    hits = round(found.value * 120)
    low, high = interval(hits, 120, 1 - share(2))
    assert low <= 1 / 120 <= high
    low, high = interval(round(0.6 * 120), 120, 1 - share(2))
    assert not low <= 1 / 120 <= high


def test_the_attack_names_people_and_not_rows() -> None:
    """With the second half under other names, nobody is named rightly more often than by chance."""
    half = HOMES.shape[1] // 2
    swapped = HOMES.copy()
    swapped[:, half:] = np.roll(HOMES[:, half:], 1, axis=0)
    found = reidentification(setting("none"), evidence_of(swapped), np.random.default_rng(1))
    assert found.value is not None
    assert found.value < 0.05


def test_ranks_by_hand() -> None:
    parts = np.zeros(4, int)
    known = shape(np.array([[1.0, 1, 1, 1], [2, 2, 2, 2], [100, 100, 100, 100]]), parts)
    for seen, expected in (([1.1, 1.9, 99.0], [0, 0, 0]), ([2.0, 1.0, 99.0], [1, 1, 0])):
        later = shape(np.tile(np.array(seen)[:, None], 4), parts)
        assert ranks(known, later, np.full(3, 1e-3), 1e-6).tolist() == expected


def test_a_season_that_all_share_hides_nobody() -> None:
    half = HOMES.shape[1] // 2
    warmer = HOMES.copy()
    warmer[:, half:] *= 1.6
    still, moved = (
        reidentification(setting("none"), evidence_of(each), np.random.default_rng(1)) for each in (HOMES, warmer)
    )
    assert moved.value == pytest.approx(still.value, abs=0.05)
    f = np.array([[1.0, 2], [3, 4], [2, 2], [50, 50]])
    assert season(f, 1.6 * f) == pytest.approx(1.6)
    assert season(f, 100 * f) == 2
    assert season(-f, f) == 1


def test_shapes_are_means_by_part() -> None:
    series = np.array([[1.0, 2, 3, 4, np.nan, 6]])
    found = shape(series, np.array([0, 1, 0, 1, 0, 1]))
    assert found.mean.tolist() == [[2, 4]]
    assert found.occurrences.tolist() == [[2, 3]]
    assert found.variance.tolist() == [[2, 4]]


def test_parts_follow_the_resolution() -> None:
    evidence = evidence_of(HOMES)
    parts, name = parts_of(evidence)
    assert name == "by part of the day"
    assert np.unique(parts).tolist() == list(range(12))
    totals = evidence_from_profile(household(users=10, days=30).profile)
    parts, name = parts_of(totals)
    assert name == "by day of the week"
    assert np.unique(parts).tolist() == list(range(7))
    assert parts_of(evidence_from_profile(household(days=9).profile))[1] == "over all"


def test_who_knows_the_rule_applies_it_to_what_he_knows() -> None:
    large = homes(users=60, days=28) + 5 * (np.arange(60) % 2)[:, None]
    found = reidentification(setting("clip:0,3"), evidence_of(large), np.random.default_rng(1))
    assert found.value is not None
    assert found.value >= 0.5 * np.mean(np.arange(60) % 2 == 0) * found.details["unmasked_top1"]
    assert found.value < found.details["unmasked_top1"]


def test_the_interval_is_clopper_and_pearsons() -> None:
    assert interval(0, 10) == pytest.approx((0, 0.3085), abs=1e-4)
    assert interval(10, 10) == pytest.approx((0.6915, 1), abs=1e-4)
    assert interval(5, 10) == pytest.approx((0.1871, 0.8129), abs=1e-4)


def test_a_profile_alone_names_by_totals() -> None:
    found = reidentification(
        setting("laplace:0.1"), evidence_from_profile(household(users=40).profile), np.random.default_rng(1)
    )
    assert found.value is not None
    assert found.value > 1 / 40
    assert "daily totals" in found.words


def test_what_it_cannot_do_it_says() -> None:
    rng = np.random.default_rng(1)
    assert reidentification(setting("none"), evidence_from_profile(household().profile.bucketed(8)), rng).value is None
    assert reidentification(setting("none"), evidence_of(homes(users=3)), rng).value is None
    assert reidentification(setting("round:1"), evidence_from_profile(household().profile), rng).value is None
