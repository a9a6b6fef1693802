"""Triangular noise: its law, what many reports tell, and what a device draws of it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.averaging import REPORTS, WEEK
from halfmask.protection.attacks.intersection import exponent, feasible_widths
from halfmask.protection.guarantees.guarantee import guarantee
from halfmask_device.law import WIDE
from halfmask_device.laws.triangular import RoundedTriangular
from halfmask_device.setting import law_of
from tests.mechanisms.test_logistic import SeededBits
from tests.statistics import ks_one_sample, share

DRAWS = 20_000
BOUNDS = (Fraction(13, 10), Fraction(25, 2), Fraction(2 * WIDE + 1, 2))
TESTS = 2 * len(BOUNDS)


def test_many_reports_narrow_the_range_slowly() -> None:
    shrinks = {text: exponent(feasible_widths(PrivacySetting.parse(text))) for text in ("triangular:1", "uniform:1")}
    assert shrinks["triangular:1"] == pytest.approx(-0.5, abs=0.02)
    assert shrinks["uniform:1"] == pytest.approx(-1, abs=0.02)
    drawn = PrivacySetting.parse("triangular:1").law.sample(
        np.array([1.0]), 200 * REPORTS[WEEK], np.random.default_rng(1)
    )
    widths = 2 - np.ptp(drawn.reshape(200, -1), axis=1)
    assert widths.mean() == pytest.approx(feasible_widths(PrivacySetting.parse("triangular:1"))[WEEK], rel=0.05)


def test_a_report_rules_a_reading_out_as_often_as_it_lies_beyond() -> None:
    """Moved by d, (d/a)^2/2 of the noise lies where the other reading's cannot."""
    found = guarantee(PrivacySetting.parse("triangular:2"), 0.5, ())
    assert found.epsilon is None
    assert found.certain == pytest.approx((0.5 / 2) ** 2 / 2, rel=1e-6)


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_device_draws_the_law_and_not_one_a_little_off(bound: Fraction) -> None:
    law = RoundedTriangular(bound)
    law.prepare()
    assert (law.table is not None) == (bound <= WIDE)
    source = SeededBits(5)
    draws = DRAWS if law.table else DRAWS // 5  # without a table they take long
    size = np.abs([law.draw(source) for _ in range(draws)]).astype(float)

    def cdf(y: np.ndarray, factor: float = 1.0) -> np.ndarray:
        whole = np.floor(np.asarray(y) + 1e-12)
        return np.where(whole < 0, 0.0, 1 - np.array([law.beyond((n + 0.5) * factor) for n in whole]))

    assert size.max() <= math.floor(bound + Fraction(1, 2))
    assert ks_one_sample(size, cdf, TESTS)
    assert not ks_one_sample(size, lambda y: cdf(y, 1.15), TESTS)


@pytest.mark.parametrize("step", ["0.25", "0.001"])
def test_the_lattice_law_is_that_of_the_device(step: str) -> None:
    setting, device = PrivacySetting.parse("triangular:1.3"), law_of("triangular:1.3", step)
    k = np.arange(7)
    chances = setting.law.pmf(setting.parameters, float(step), k)
    np.testing.assert_allclose(chances, [device.mass(int(each)) for each in k], rtol=1e-9, atol=1e-12)
    variance = setting.law.lattice_variance(setting.parameters, float(step))
    assert variance == pytest.approx(device.variance * float(step) ** 2, rel=1e-6)
    assert abs(variance - 1.3**2 / 6) < max(float(step) ** 2, 10 * share(TESTS) * variance)
