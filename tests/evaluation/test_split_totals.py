"""Split totals: errors and scores against noise and guesses that are drawn and added up one by one."""

from functools import cache

import numpy as np
import pytest

from halfmask.choice.mixed_groups import build_groups
from halfmask.evaluation.metrics import entropy
from halfmask.evaluation.split_totals import blind_errors, split_metrics
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.build import build_profile
from halfmask.profiles.totals import released
from tests.evaluation.direct_cases import Case, household
from tests.evaluation.test_totals import of_totals
from tests.refusals import refused
from tests.statistics import mean_within

SETTING = PrivacySetting.parse("laplace:8@split")
TESTS = 4


@cache
def homes() -> Case:
    return household(users=60, days=40, step=4)


@cache
def totals() -> np.ndarray:
    """Every user's total of each day (60, 40)."""
    daily = of_totals(homes())
    return np.stack([daily.values[daily.users == user] for user in np.unique(daily.users)])


def metrics(error: str = "relative") -> np.ndarray:
    profile = released(homes().profile, "total")
    subsets = homes().everybody(60)
    return split_metrics(SETTING, profile, subsets, aggregate="sum", error=error, seed=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", ["relative", "scaled"])
def test_the_guess_is_the_published_mean_of_the_day(error: str) -> None:
    size = totals() if error == "relative" else np.broadcast_to(totals().mean(axis=1)[:, None], totals().shape)
    off = np.abs(totals() - totals().mean(axis=0)) / size
    found = metrics(error)[:, :3]
    assert np.ptp(found, axis=0).max() == pytest.approx(0, abs=1e-12)
    assert found[0] == pytest.approx([off.mean(), off.std(), entropy(off.ravel())], rel=1e-6)
    assert found[0, 0] != pytest.approx(1.05 * off.mean(), rel=0.01)


def test_the_error_is_that_of_two_draws_however_many_producers() -> None:
    drawn = np.random.default_rng(1).laplace(0, 8, (2, 200_000)).sum(axis=0)
    expected = np.abs(drawn).mean() * (1 / totals().sum(axis=0)).mean()
    found = metrics()[:, 3]
    assert mean_within(found, expected, TESTS)
    assert not mean_within(found, 1.15 * expected, TESTS)
    assert not mean_within(found, np.sqrt(30) * expected, TESTS)


def test_a_mix_adds_two_draws_once_and_one_draw_per_plain_total() -> None:
    profile = released(homes().profile, "total")
    settings = [PrivacySetting.parse(text) for text in ("laplace:2@total", "laplace:8@split", "none@total")]
    rows = np.arange(60)
    deals = [[rows[:20], rows[20:40], rows[40:]]] * 400
    choice = np.array([[0, 1, 2], [1, 1, 2], [1, 1, 1], [0, 0, 1], [2, 2, 2]])
    groups = build_groups(profile, settings, deals, aggregate="sum", error="relative", seed=5)
    found = np.array([each.metrics(choice) for each in groups])
    rng, scale = np.random.default_rng(2), (1 / totals().sum(axis=0)).mean()
    split = rng.laplace(0, 8, (100_000, 2)).sum(axis=1)
    for mix, plain in enumerate((20, 0, 0, 40)):
        drawn = split + rng.laplace(0, 2, (100_000, plain)).sum(axis=1)
        assert mean_within(found[:, mix, 3], np.abs(drawn).mean() * scale, TESTS)
        assert not mean_within(found[:, mix, 3], 1.1 * np.abs(drawn).mean() * scale, TESTS)
    assert (found[:, 4, 3] == 0).all()
    off = np.abs(totals() - totals().mean(axis=0)) / totals()
    assert found[0, 2, 0] == pytest.approx(off.mean(), rel=1e-6)
    assert found[0, 2, 2] == pytest.approx(entropy(off.ravel()), abs=0.15)


def test_hashed_users_are_guessed_from_their_histogram() -> None:
    profile = released(build_profile(homes().panel, buckets=20), "total")
    rows = np.arange(len(profile))
    off = blind_errors(profile, rows, rows, "relative", np.random.default_rng(0))
    expected = np.abs(totals() - totals().mean()) / totals()
    assert off.mean() == pytest.approx(expected.mean(), rel=0.03)
    assert len(off) == totals().size


def test_what_does_not_follow_from_a_sum_is_refused() -> None:
    profile = released(homes().profile, "total")
    with refused("option.aggregate"):
        split_metrics(SETTING, profile, homes().everybody(1), aggregate="variance", error="relative", seed=1)
