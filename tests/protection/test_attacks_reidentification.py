"""Re-identification: certain if users differ and nothing hides them, chance if all is noise."""

from dataclasses import replace

import numpy as np
import pytest

from halfmask.arrays import FloatArray
from halfmask.profiles.periods import DAY
from halfmask.protection.attacks.finding import Finding
from halfmask.protection.attacks.habits import known_days, of_many_days, of_one_day, slot_likelihoods, slots_of
from halfmask.protection.attacks.reidentification import reidentification, season, situations
from halfmask.protection.attacks.report_channel import report_channel
from halfmask.protection.evidence import evidence_from_profile
from tests.evaluation.direct_cases import household
from tests.protection.attack_cases import evidence_of, homes, setting
from tests.statistics import share

HOMES = homes(users=120, days=28)


def named(text: str, series: FloatArray = HOMES, seed: int = 1) -> tuple[Finding, Finding]:
    return reidentification(setting(text), evidence_of(series), np.random.default_rng(seed))


def values(text: str, series: FloatArray = HOMES, seed: int = 1) -> tuple[float, float]:
    day, half = named(text, series, seed)
    assert day.value is not None
    assert half.value is not None
    return day.value, half.value


def test_noise_hides_users_the_more_the_stronger_it_is() -> None:
    rates = [named(text) for text in ("none", "laplace:0.1", "laplace:2", "laplace:1000")]
    for situation in range(2):
        found = [each[situation] for each in rates]
        shares = [each.value for each in found if each.value is not None]
        assert shares[0] > (0.3, 0.7)[situation]
        assert min(shares[:2]) > shares[2] > shares[3]
        assert all(each.baseline == shares[0] for each in found)
        assert all(each.low is not None and each.high is not None for each in found)
        assert all(each.low <= each.value <= each.high for each in found)  # type: ignore[operator]
        assert found[0].details["no_difference"]
        assert not found[2].details["no_difference"]


def test_noise_that_drowns_everything_leaves_chance() -> None:
    """Of 120 users one is named by luck; P(12 or more) is below the rate of false alarms."""
    for value in values("laplace:100000", seed=2):
        assert value * 120 < 12
    for value in values("laplace:0.5", seed=2):
        assert value * 120 > 12
    assert share(4) > 1e-8


def test_a_day_names_users_and_not_rows() -> None:
    """If all attacked days, or the second half, are under other names, users are named no more often than by chance."""
    found = situations(evidence_of(HOMES))
    assert found is not None
    swapped = HOMES.reshape(120, -1, 48).copy()
    swapped[:, found.one_day.attacked] = np.roll(swapped[:, found.one_day.attacked], 1, axis=0)
    day, _ = values("none", swapped.reshape(120, -1))
    half = HOMES.shape[1] // 2
    moved = HOMES.copy()
    moved[:, half:] = np.roll(HOMES[:, half:], 1, axis=0)
    _, halves = values("none", moved)
    assert max(day, halves) < 0.08


def test_the_attacked_days_are_not_known() -> None:
    """The attacker's knowledge is the same if the attacked days hold other readings."""
    found = situations(evidence_of(HOMES))
    assert found is not None
    other = HOMES.reshape(120, -1, 48).copy()
    other[:, found.one_day.attacked] = 1.0
    changed = situations(evidence_of(other.reshape(120, -1)))
    assert changed is not None
    np.testing.assert_array_equal(found.one_day.known.histograms, changed.one_day.known.histograms)
    np.testing.assert_array_equal(found.one_day.known.index, changed.one_day.known.index)


def nearest_means(series: FloatArray, noise: float) -> float:
    """The share of users whose masked second half is nearest to the mean day of their first, in two-hour parts."""
    cube = series.reshape(120, 28, 48)
    seen = cube[:, 14:] + noise * np.random.default_rng(3).laplace(size=(120, 14, 48))
    f, g = (each.mean(axis=1).reshape(120, 12, 4).mean(axis=2) for each in (cube[:, :14], seen))
    nearest = np.argmin(((g[:, None] - f) ** 2).sum(axis=2), axis=1)
    return float(np.mean(nearest == np.arange(120)))


@pytest.mark.parametrize(("text", "noise"), [("none", 0.0), ("laplace:0.5", 0.5)])
def test_it_beats_means_by_part_of_the_day(text: str, noise: float) -> None:
    """On homes that drift as real ones do. Days near in time count more, which costs a little if habits never drift."""
    steps = np.random.default_rng(8).normal(0, 0.1, (120, 28))
    drifting = (HOMES.reshape(120, 28, 48) * np.exp(np.cumsum(steps, axis=1))[:, :, None]).reshape(120, -1)
    assert values(text, drifting)[1] > nearest_means(drifting, noise)
    assert values(text)[1] > nearest_means(HOMES, noise) - 0.05


def test_knowing_the_noise_law_helps() -> None:
    """Sine noise of the same deviation as normal noise hides less, since its reports keep away from the middle."""
    bounded, normal = values("sine:0.9"), values(f"gaussian:{0.9 / 2**0.5!r}")
    assert bounded[1] > normal[1] + 0.1


def test_a_season_that_all_share_hides_nobody() -> None:
    warmer = HOMES.copy()
    warmer[:, HOMES.shape[1] // 2 :] *= 1.2
    assert values("none", warmer)[1] > values("none")[1] - 0.1
    f = np.array([[1.0, 2], [3, 4], [2, 2], [50, 50]])[:, :, None]
    assert season(f, 1.6 * f) == pytest.approx(1.6)
    assert season(f, 100 * f) == 2
    assert season(-f, f) == 1


def test_who_knows_the_rule_applies_it_to_what_he_knows() -> None:
    large = homes(users=60, days=28) + 5 * (np.arange(60) % 2)[:, None]
    day, half = named("clip:0,3", large)
    for found in (day, half):
        assert found.value is not None
        assert found.baseline is not None
        assert 0.25 * found.baseline <= found.value < found.baseline


def test_likelihoods_by_hand() -> None:
    """Two users with one reading each day: the histograms decide, and days add up."""
    readings = np.array([[[1.0]] * 8, [[2.0]] * 8])
    weekdays = np.arange(8) % 7
    known = known_days(readings, weekdays)
    evidence = evidence_of(readings.reshape(2, -1))
    channel = report_channel(setting("none"), evidence, known.cells, readings, np.random.default_rng(1))
    table = slot_likelihoods(known, channel)
    assert np.exp(table).sum(axis=1) == pytest.approx(np.ones((7, 2)), abs=1e-5)
    cells = channel.of(readings)
    one = of_one_day(table, cells[:, 0], slots_of(1, weekdays)[0])
    many = of_many_days(table, cells, slots_of(1, weekdays))
    assert (one.argmax(axis=1) == [0, 1]).all()
    days = [of_one_day(table, cells[:, day], slots_of(1, weekdays)[day]) for day in range(8)]
    np.testing.assert_allclose(many, np.sum(days, axis=0), rtol=1e-5)


@pytest.mark.parametrize("text", ["laplace:0.5", "sine:0.9", "uniform:1", "staircase:1,0.5,0.3"])
def test_the_channel_is_the_law_of_reports(text: str) -> None:
    """Shares of reports by cell of the reading are as computed; those of another scale are not."""
    evidence = evidence_of(homes(users=40, days=28))
    known = known_days(evidence.series.reshape(40, 28, 48), np.zeros(28, np.int64))
    rng = np.random.default_rng(5)
    masked = setting(text).mask(evidence.series, rng)
    channel = report_channel(setting(text), evidence, known.cells, masked, rng)
    assert channel.matrix.sum(axis=1) == pytest.approx(np.ones(len(channel.matrix)))
    cells = known.cells.of(evidence.series)
    for scale, right in ((1.0, True), (1.3, False)):
        reports = evidence.series + scale * (masked - evidence.series)
        pairs = cells.astype(int) * len(channel.matrix[0]) + channel.of(reports)
        counts = np.bincount(pairs.ravel(), minlength=channel.matrix.size).reshape(channel.matrix.shape)
        expected = channel.matrix * counts.sum(axis=1, keepdims=True)
        held = expected > 5
        ratio = float(((counts - expected)[held] ** 2 / expected[held]).mean())
        assert (ratio < 1.5) == right


def test_reports_are_found_by_their_leading_bits() -> None:
    rng = np.random.default_rng(6)
    evidence = evidence_of(homes(users=40, days=28))
    known = known_days(evidence.series.reshape(40, 28, 48), np.zeros(28, np.int64))
    masked = setting("laplace:0.5").mask(evidence.series, rng)
    masked[3, 5] = np.nan
    channel = report_channel(setting("laplace:0.5"), evidence, known.cells, masked, rng)
    quick, exact = channel.of(masked), np.concatenate([channel.of(row) for row in masked]).reshape(masked.shape)
    assert quick[3, 5] == exact[3, 5] == -1
    assert np.mean(quick != exact) < 0.02
    assert np.abs(quick - exact).max() <= 1


def test_totals_name_by_the_day_of_the_week() -> None:
    """One report a day: the slots are days of the week, and one day tells little."""
    rng = np.random.default_rng(7)
    week = rng.lognormal(2, 0.5, (60, 7))
    totals = np.tile(week, 8) * np.exp(0.05 * rng.standard_normal((60, 56)))
    evidence = replace(evidence_of(totals), step=DAY, times=np.arange(56) * DAY, of_totals=True)
    day, half = reidentification(setting("laplace:0.1"), evidence, rng)
    assert "daily totals" in half.words
    assert half.value is not None
    assert day.value is not None
    assert half.value > 0.9 > 0.6 > day.value > 5 / 60


def test_a_profile_alone_names_by_totals() -> None:
    profile = household(users=40).profile
    _, half = reidentification(setting("laplace:0.1"), evidence_from_profile(profile), np.random.default_rng(1))
    assert half.value is not None
    assert half.value > 1 / 40
    assert "daily totals" in half.words


def test_what_it_cannot_do_it_says() -> None:
    rng = np.random.default_rng(1)
    for evidence, text in (
        (evidence_from_profile(household().profile.bucketed(8)), "none"),
        (evidence_of(homes(users=3)), "none"),
        (evidence_of(homes(users=30, days=3)), "none"),
        (evidence_from_profile(household().profile), "round:1"),
    ):
        assert all(each.value is None for each in reidentification(setting(text), evidence, rng))
    with np.errstate(over="ignore", invalid="ignore"):
        assert all(each.value is None for each in named("laplace:1e308"))


def test_unmasked_reports_name_at_least_as_many_as_masked_ones() -> None:
    """Who has unmasked reports can mask them himself; of totals, noise names more by luck here and there."""
    totals = homes(users=60, days=28).reshape(60, 28, 48).sum(axis=2)
    daily = replace(evidence_of(totals), step=DAY, times=np.arange(28) * DAY, of_totals=True)
    bare = reidentification(setting("none"), daily, np.random.default_rng(0))
    lucky = 0
    for seed in range(12):
        for plain, each in zip(
            bare, reidentification(setting("laplace:2"), daily, np.random.default_rng(seed)), strict=True
        ):
            assert plain.value is not None
            assert each.value is not None
            assert each.baseline == max(plain.value, each.value)
            lucky += each.value > plain.value
            assert each.details["no_difference"] or each.value < plain.value
    assert lucky
