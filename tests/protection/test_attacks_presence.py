"""Quiet days: always told where nothing hides them, as a coin would where all is noise, and from masked days alone."""

from dataclasses import replace

import numpy as np
import pytest

from halfmask.protection.attacks.presence import MOST_DAYS, MOST_USERS, ordered, presence, whole_days
from halfmask.protection.evidence import evidence_from_profile
from tests.evaluation.direct_cases import household
from tests.protection.attack_cases import evidence_of, homes, setting
from tests.statistics import share

HOMES = homes(users=100, days=28)
TESTS = 2


def told(text: str, series: np.ndarray = HOMES, seed: int = 1) -> tuple[float, float]:
    """What the attack is right in, and its standard error."""
    found = presence(setting(text), evidence_of(series), np.random.default_rng(seed))
    assert found.value is not None
    assert found.baseline == 0.5
    return found.value, found.details["standard_error"]


def test_noise_hides_quiet_days_the_more_the_stronger_it_is() -> None:
    rates = [told(text)[0] for text in ("none", "laplace:0.1", "laplace:0.5", "laplace:2")]
    assert rates[0] == 1
    assert rates == sorted(rates, reverse=True)
    assert rates[1] > 0.9, "noise of a third of a typical reading hides single readings, not days"


def test_noise_that_drowns_everything_leaves_a_coin() -> None:
    slack = np.sqrt(2 * np.log(2 / share(TESTS)))
    value, error = told("laplace:100000")
    assert abs(value - 0.5) < slack * error
    value, error = told("laplace:0.5")
    assert abs(value - 0.5) > slack * error


def test_likelihood_beats_the_mean_where_noise_is_not_normal() -> None:
    """Sine noise is never near 0, so a quiet day's reports keep away from the middle."""
    evidence = evidence_of(HOMES)
    found = presence(setting("sine:0.9"), evidence, np.random.default_rng(1))
    assert found.details["way"] == "by their likelihood"
    normal = told(f"gaussian:{0.9 / 2**0.5!r}")[0]
    assert found.value is not None
    assert found.value > normal


def test_days_and_not_rows_are_told() -> None:
    """Where every day is like every other, the quiet fifth is a matter of chance, and so is the guess."""
    same = np.tile(homes(users=100, days=1), 28) + 1e-9 * np.random.default_rng(1).random((100, 28 * 48))
    value, error = told("laplace:0.5", same)
    assert abs(value - 0.5) < np.sqrt(2 * np.log(2 / share(TESTS))) * error


def test_pairs_by_hand() -> None:
    quiet = np.array([[True, False, False], [True, False, False], [True, False, False]])
    score = np.array([[3.0, 2, 1], [2, 3, 1], [1, 1, 1]])
    assert ordered(score, quiet).tolist() == [1, 0.5, 0.5]


def test_whole_days_begin_at_midnight_and_have_few_gaps() -> None:
    series = homes(users=150, days=40)
    series[7, -48:] = np.nan
    series[8, -3:] = np.nan
    late = evidence_of(series[:, 5:])
    late = replace(late, times=late.times + 5 * late.step)
    some = whole_days(late)
    assert some is not None
    assert some.times[0] % (48 * some.step) == 0
    assert some.series.shape == (MOST_USERS, MOST_DAYS * 48)
    np.testing.assert_array_equal(some.series[0], series[0, -MOST_DAYS * 48 :])
    assert np.isfinite(some.series).mean(axis=1).min() > 0.99


def test_a_profile_alone_tells_by_totals() -> None:
    found = presence(
        setting("laplace:0.01"), evidence_from_profile(household(users=40, days=30).profile), np.random.default_rng(1)
    )
    assert found.value is not None
    assert found.value > 0.9
    assert "daily totals" in found.words


@pytest.mark.parametrize(
    ("text", "series", "words"),
    [
        ("none", homes(users=3), "4 users"),
        ("none", homes(users=9, days=5), "10 days"),
        ("laplace:1e308", HOMES, "beyond"),
    ],
)
def test_what_it_cannot_do_it_says(text: str, series: np.ndarray, words: str) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        found = presence(setting(text), evidence_of(series), np.random.default_rng(1))
    assert found.value is None
    assert words in found.words


def test_rules_and_groups_are_left_out_of_totals() -> None:
    rng, profile = np.random.default_rng(1), household(users=20, days=30).profile
    assert presence(setting("round:1"), evidence_from_profile(profile), rng).value is None
    assert presence(setting("none"), evidence_from_profile(profile.bucketed(8)), rng).value is None
