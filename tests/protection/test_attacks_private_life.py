"""Own totals, quiet weeks, empty days and peaks: known if nothing hides them, a guess if all is noise."""

from dataclasses import replace

import numpy as np
import pytest

from halfmask.arrays import FloatArray
from halfmask.profiles.periods import DAY
from halfmask.protection.attacks.finding import Finding
from halfmask.protection.attacks.known_users import MOST_DAYS, MOST_USERS, attacked, cell_ratios, of_others, seen
from halfmask.protection.attacks.own_totals import estimated_totals, periods_of
from halfmask.protection.attacks.presence import all_ordered, empty_days
from halfmask.protection.attacks.private_life import NAMES, private_life
from halfmask.protection.evidence import Evidence, evidence_from_profile
from tests.evaluation.direct_cases import household
from tests.protection.attack_cases import evidence_of, homes, setting

AWAY = 0.08


def lived_in(users: int = 100, days: int = 35, seed: int = 3) -> FloatArray:
    """Homes with a base load, of which some days are empty: only the base load is left."""
    rng = np.random.default_rng(seed)
    series = homes(users, days, seed).reshape(users, days, 48)
    away = rng.random((users, days)) < AWAY
    base = series.mean(axis=(1, 2), keepdims=True) * 0.3
    return np.where(away[:, :, None], base * (1 + 0.1 * rng.standard_normal(series.shape)), series).reshape(users, -1)


HOMES = lived_in()


def found(text: str, evidence: Evidence | FloatArray = HOMES, seed: int = 1) -> dict[str, Finding]:
    held = evidence if isinstance(evidence, Evidence) else evidence_of(evidence)
    return {each.name: each for each in private_life(setting(text), held, np.random.default_rng(seed))}


def daily(totals: FloatArray) -> Evidence:
    """Daily totals that are masked as they are."""
    days = totals.shape[1]
    return replace(evidence_of(totals), step=DAY, times=np.arange(days) * DAY, of_totals=True)


def test_every_name_is_found_with_an_interval_around_its_value() -> None:
    told = found("laplace:0.5")
    assert list(told) == [name for name, _ in NAMES]
    assert list(told) == ["own-total-day", "own-total-week", "own-total-month", "quietest-week", "presence", "peak"]
    for each in told.values():
        assert each.value is not None
        assert each.low is not None
        assert each.high is not None
        assert each.low <= each.value <= each.high
        assert each.baseline == (0.0 if each.name.startswith("own-total") else 1.0)
        assert not each.details["no_difference"]


def test_unmasked_reports_tell_everything_and_the_finding_says_so() -> None:
    for each in found("none").values():
        assert each.value == each.baseline
        assert each.details["no_difference"]
        assert "no different from unmasked" in each.words


def test_more_noise_hides_more() -> None:
    told = [found(text) for text in ("laplace:0.05", "laplace:0.5", "laplace:5")]
    for name in ("own-total-day", "own-total-week", "own-total-month"):
        values = [each[name].value for each in told]
        assert values == sorted(values)  # type: ignore[type-var]
    for name in ("quietest-week", "presence", "peak"):
        values = [each[name].value for each in told]
        assert values == sorted(values, reverse=True)  # type: ignore[type-var]


def test_noise_that_drowns_everything_leaves_what_is_known_without_reports() -> None:
    told = found("laplace:100000")
    prior = told["own-total-day"].details["without_reports"]
    assert told["own-total-day"].value == pytest.approx(prior, rel=0.2)
    for name in ("quietest-week", "presence"):
        each = told[name]
        assert each.value is not None
        assert each.value - each.details["chance"] < 0.12
    assert told["peak"].value is not None
    assert told["peak"].value < 0.15  # peaks keep to some hours of the day, whatever is reported


def test_the_estimate_of_a_total_beats_the_report() -> None:
    """The noise of 48 readings has a known size; who knows the law and other homes errs by less."""
    rng = np.random.default_rng(4)
    view = seen(setting("laplace:2"), evidence_of(HOMES), rng)
    assert not isinstance(view, str)
    of = periods_of(view, 1)
    learned, plain = (np.median(np.abs(each - of.truth) / of.truth) for each in (estimated_totals(view, of), of.report))
    assert learned < 0.8 * plain


def test_a_users_other_days_and_the_places_around_help_to_name_the_peak() -> None:
    """Where a home's peak is mostly at a time of its own, more days are named than have the largest report there."""
    rng = np.random.default_rng(11)
    usual = np.where(np.arange(48) == rng.integers(48, size=(120, 1)), 2.0, 1.0)
    series = (usual[:, None] * rng.lognormal(0, 0.35, (120, 35, 48))).reshape(120, -1)
    value = found("laplace:1.5", series)["peak"].value
    reports = (series + rng.laplace(0, 1.5, series.shape)).reshape(-1, 48)
    alone = np.mean(reports.argmax(axis=1) == series.reshape(-1, 48).argmax(axis=1))
    assert value is not None
    assert value > 2 * alone


def test_small_noise_leaves_the_error_that_the_law_says() -> None:
    """Of totals far above the noise, the report is as good as any estimate: the median of |psi| over the total."""
    totals = np.random.default_rng(5).uniform(900, 1100, (200, 35))
    value = found("laplace:10", daily(totals))["own-total-day"].value
    assert value == pytest.approx(np.log(2) * 10 / 1000, rel=0.1)


def test_a_quarter_less_noise_is_told_apart() -> None:
    totals = np.random.default_rng(5).uniform(900, 1100, (200, 35))
    told = found("laplace:7.5", daily(totals))["own-total-day"]
    assert told.high is not None
    assert told.high < np.log(2) * 10 / 1000


def test_empty_days_are_those_of_base_load() -> None:
    truth = HOMES.reshape(100, 35, 48)
    empty = empty_days(truth, np.ones((100, 35), bool))
    away = truth.std(axis=2) / truth.mean(axis=2) < 0.15
    assert np.mean(empty[away]) > 0.99
    assert np.mean(empty[~away]) < 0.1
    assert not empty_days(truth, np.zeros((100, 35), bool)).any()


def test_days_and_not_rows_are_told() -> None:
    """If empty days are drawn by lot after masking has begun, they are told as by a coin."""
    same = np.tile(homes(users=100, days=1), 35)
    mixed = same + 1e-9 * np.random.default_rng(1).random(same.shape)
    assert found("laplace:0.5", mixed)["presence"].value is None  # no day is empty
    totals = np.random.default_rng(6).uniform(1, 1.0001, (100, 35))
    value = found("laplace:5", daily(totals))["presence"].value
    assert value == pytest.approx(0.5, abs=0.06)


def test_what_everybody_does_is_known_without_a_report() -> None:
    """Homes that all use little in one week, which is named under any noise, and is the share without a report."""
    season = np.repeat([1.0, 1.1, 0.4, 1.2, 1.05], 7)
    totals = 10 * np.random.default_rng(9).lognormal(0, 0.1, (100, 35)) * season
    for text in ("laplace:3", "laplace:100000"):
        told = found(text, daily(totals))
        assert told["quietest-week"].value == told["quietest-week"].details["chance"] == 1
        assert told["presence"].details["chance"] == pytest.approx(1, abs=0.01)
        assert told["presence"].value == pytest.approx(1, abs=0.02)
    assert told["own-total-week"].value is not None
    assert told["own-total-week"].value < 0.5 * told["own-total-week"].details["without_reports"]


def test_other_days_of_a_user_help_to_know_one() -> None:
    """Levels that wander: the report of a day errs by more than a mean of the days around it and the day's own."""
    rng = np.random.default_rng(10)
    totals = 100 * np.exp(np.cumsum(0.05 * rng.standard_normal((200, 35)), axis=1))
    value = found("laplace:30", daily(totals))["own-total-day"].value
    assert value is not None
    assert value < 0.5 * np.log(2) * 30 / 100


def test_the_mean_of_others_by_hand() -> None:
    values = np.array([[1.0, np.nan, 4.0, 8.0], [np.nan, 5.0, np.nan, np.nan]])
    near, far = np.exp(-1), np.exp(-2)
    means = of_others(values, 1.0)
    assert means[0, 2] == pytest.approx((far * 1 + near * 8) / (far + near))
    assert means[0, 1] == pytest.approx((near * 1 + near * 4 + far * 8) / (2 * near + far))
    assert means[1].tolist() == pytest.approx([5, 0, 5, 5])


def test_pairs_by_hand() -> None:
    empty = np.array([[True, False, False, False]] * 3 + [[False] * 4])
    whole = np.array([[True, True, True, False]] * 4)
    score = np.array([[3.0, 2, 1, 9], [2, 3, 1, 9], [1, 1, 1, 9], [1, 2, 3, 4]])
    assert all_ordered(score, empty, whole).tolist() == [1, 0.5, 0.5, 0.5]


def test_ratios_by_hand() -> None:
    """Cell 0 belongs to the label, cell 50 to the others; a missing report says nothing."""
    cells = np.repeat([0, 50, -1], 1000).astype(np.int16)
    label = np.repeat([True, False, True], 1000)
    ratios = cell_ratios(cells, label)
    assert ratios[0] > 3
    assert ratios[50] < -3
    assert ratios[-1] == 0


def test_one_report_a_day_has_no_peak_but_the_rest() -> None:
    rng = np.random.default_rng(7)
    totals = 10 * rng.lognormal(0, 0.5, (60, 1)) * rng.lognormal(0, 0.3, (60, 42))
    told = found("laplace:3", daily(totals))
    assert told["peak"].value is None
    assert told["peak"].words.startswith("Does not apply")
    for name in ("own-total-day", "own-total-month", "quietest-week", "presence"):
        assert told[name].value is not None
        assert "daily totals" in told[name].words


def test_whole_days_of_some_users_are_attacked() -> None:
    series = homes(users=MOST_USERS + 40, days=MOST_DAYS + 12)
    late = evidence_of(series[:, 5:])
    late = replace(late, times=late.times + 5 * late.step)
    some = attacked(late)
    assert some is not None
    assert some.days.evidence.times[0] % DAY == 0
    assert some.truth.shape == (MOST_USERS, MOST_DAYS, 48)
    np.testing.assert_array_equal(some.truth[0].ravel(), series[0, -MOST_DAYS * 48 :])


def test_missing_readings_are_left_out() -> None:
    holes = np.where(np.random.default_rng(8).random(HOMES.shape) < 0.05, np.nan, HOMES)
    whole, some = found("laplace:0.5"), found("laplace:0.5", holes)
    for name, each in some.items():
        assert each.low is not None
        assert each.high is not None
        assert each.low <= whole[name].high  # type: ignore[operator]
        assert each.high >= whole[name].low  # type: ignore[operator]


def test_a_profile_alone_tells_by_totals() -> None:
    told = found("laplace:0.01", evidence_from_profile(household(users=40, days=30).profile))
    for name in ("own-total-day", "presence"):
        assert told[name].value is not None
        assert "daily totals" in told[name].words


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("none", evidence_of(homes(users=3))),
        ("laplace:1e308", evidence_of(HOMES)),
        ("round:1", evidence_from_profile(household(users=20, days=30).profile)),
        ("none", evidence_from_profile(household(users=20, days=30).profile.bucketed(8))),
        ("laplace:1", replace(evidence_of(HOMES[:, :60]), step=7 * DAY, times=np.arange(60) * 7 * DAY)),
    ],
)
def test_what_it_cannot_do_it_says(text: str, evidence: Evidence) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        told = found(text, evidence)
    assert list(told) == [name for name, _ in NAMES]
    assert all(each.value is None for each in told.values())


def test_short_series_have_no_weeks_and_months() -> None:
    told = found("laplace:0.5", HOMES[:, : 5 * 48])
    assert told["own-total-day"].value is not None
    assert {name for name, each in told.items() if each.value is None} >= {
        *("own-total-week", "own-total-month", "quietest-week")
    }
