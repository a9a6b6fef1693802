"""The smoother against Wiener's own formula, on signals whose spectrum is known."""

import numpy as np
import pytest

from halfmask.protection.attacks.wiener_smoother import covariance, habits_of, smooth, smooth_measured, smoothing
from halfmask.protection.evidence import evidence_from_profile
from tests.evaluation.direct_cases import household
from tests.protection.attack_cases import autoregression, evidence_of, homes, setting


def wiener_share(coefficient: float, variance: float) -> float:
    """Error variance over noise variance of the best smoother: the mean over frequencies of f / (f + v)."""
    angle = np.linspace(0, np.pi, 20_001)
    spectrum = (1 - coefficient**2) / (1 - 2 * coefficient * np.cos(angle) + coefficient**2)
    return float(np.mean(spectrum / (spectrum + variance)))


@pytest.mark.parametrize(("coefficient", "text", "variance"), [(0.95, "gaussian:1", 1.0), (0.8, "laplace:1", 2.0)])
def test_the_smoother_reaches_wieners_error(coefficient: float, text: str, variance: float) -> None:
    series = autoregression(120, 400, coefficient, 5)
    found = smoothing(setting(text), evidence_of(series), np.random.default_rng(6))
    expected = wiener_share(coefficient, variance)
    assert found.value == pytest.approx(expected, rel=0.06)
    assert found.value != pytest.approx(wiener_share(coefficient, 2 * variance), rel=0.06)
    assert found.baseline == 1


def test_without_memory_only_the_prior_helps() -> None:
    series = np.random.default_rng(7).standard_normal((100, 400))
    found = smoothing(setting("gaussian:1"), evidence_of(series), np.random.default_rng(8))
    assert found.value == pytest.approx(0.5, rel=0.06)
    assert found.details["share_of_prior_variance"] == pytest.approx(0.5, rel=0.1)


def test_a_wrong_noise_variance_smooths_worse() -> None:
    series = autoregression(100, 300, 0.95, 9)
    seen = series[50:] + np.random.default_rng(1).standard_normal((50, 300))
    known = habits_of(series[:50])
    errors = [np.mean((smooth(known, seen, np.full(50, v)) - series[50:]) ** 2) for v in (1.0, 0.1, 10.0)]
    assert errors[0] < 0.9 * min(errors[1:])


def test_sizes_are_learned_from_the_reports() -> None:
    size = np.repeat([0.2, 5.0], 60)[:, None]
    series = size * autoregression(120, 300, 0.9, 10)
    order = np.random.default_rng(1).permutation(120)
    known, attacked = order[:60], order[60:]
    seen = series[attacked] + np.random.default_rng(2).standard_normal((60, 300))
    error = np.mean((smooth(habits_of(series[known]), seen, np.ones(60)) - series[attacked]) ** 2, axis=1)
    small = size[attacked, 0] < 1
    assert error[small].mean() == pytest.approx(wiener_share(0.9, 1 / 0.04), rel=0.15)
    assert error[~small].mean() == pytest.approx(wiener_share(0.9, 1 / 25), rel=0.05)


def test_measured_covariances_do_for_noise_what_its_law_does() -> None:
    series = autoregression(200, 200, 0.9, 11)
    noise = np.random.default_rng(3).standard_normal(series.shape)
    by_law = smooth(habits_of(series[:100]), (series + noise)[100:], np.ones(100))
    measured = smooth_measured(series[:100], (series + noise)[:100], (series + noise)[100:])
    by_law, measured = (np.mean((each - series[100:]) ** 2) for each in (by_law, measured))
    assert measured == pytest.approx(by_law, rel=0.1)


def test_covariances_are_those_of_a_loop() -> None:
    left, right = np.random.default_rng(4).standard_normal((2, 3, 10))
    both = [
        sum(a[t] * b[t + k] + a[t + k] * b[t] for a, b in zip(left, right, strict=True) for t in range(10 - k)) / 60
        for k in range(10)
    ]
    assert covariance(left, right) == pytest.approx(both)


def test_stronger_noise_loses_more_of_itself_and_totals_do_too() -> None:
    evidence = evidence_of(homes())
    shares = [
        smoothing(setting(text), evidence, np.random.default_rng(1)).value for text in ("laplace:0.1", "laplace:1")
    ]
    assert shares[0] is not None
    assert shares[1] is not None
    assert 0 < shares[1] < shares[0] <= 1
    totals = smoothing(setting("laplace:0.5"), evidence_from_profile(household(20).profile), np.random.default_rng(1))
    assert totals.value is not None
    assert totals.details["series"] == "daily totals"


def test_gaps_do_not_break_it() -> None:
    series = autoregression(60, 300, 0.95, 12)
    series[np.random.default_rng(5).random(series.shape) < 0.05] = np.nan
    series[:, 40] = np.nan  # an hour that no clock showed
    found = smoothing(setting("gaussian:1"), evidence_of(series), np.random.default_rng(6))
    assert found.value == pytest.approx(wiener_share(0.95, 1.0), rel=0.25)


@pytest.mark.parametrize("text", ["round:0.5", "microaggregate:2", "clip:0,2/laplace:0.5", "relative-gaussian:0.4"])
def test_rules_and_relative_noise_are_smoothed_as_well(text: str) -> None:
    found = smoothing(setting(text), evidence_of(homes()), np.random.default_rng(1))
    assert found.value is not None
    assert 0 < found.value <= 1


def test_what_it_cannot_do_it_says() -> None:
    rng = np.random.default_rng(1)
    assert smoothing(setting("none"), evidence_of(homes()), rng).value is None
    assert smoothing(setting("laplace:1"), evidence_of(homes(users=3)), rng).value is None
    assert smoothing(setting("round:1"), evidence_from_profile(household().profile), rng).value is None
