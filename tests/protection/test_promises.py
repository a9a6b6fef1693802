"""The unit, the odds and the trade-off curve: against what is known of Gaussian and Laplace noise."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.guarantees.guarantee import guarantee
from halfmask.protection.guarantees.promises import TOLD, odds, per_unit, promise, times, trade_off

LAPLACE, GAUSSIAN, UNIFORM = (PrivacySetting.parse(text) for text in ("laplace:2", "gaussian:4", "uniform:3"))


def test_best_odds_are_those_of_the_known_tests() -> None:
    """Of two normal laws mu apart Phi(mu/2); of Laplace laws d/b apart 1 - e^(-d/2b)/2; and a wrong one is not met."""
    normal = guarantee(GAUSSIAN, 1.0, ())
    for readings in (1, 4, 48):
        exact = float(norm.cdf(math.sqrt(readings) / 4 / 2))
        assert odds(normal, readings) == pytest.approx(exact, abs=1e-5)
        assert odds(normal, readings) >= exact - 1e-9
        assert odds(normal, readings) != pytest.approx(norm.cdf(math.sqrt(readings + 1) / 4 / 2), abs=1e-5)
    assert odds(guarantee(LAPLACE, 1.0, ())) == pytest.approx(1 - math.exp(-1 / 4) / 2)
    assert odds(guarantee(PrivacySetting.parse("none"), 1.0, ())) == 1


def test_odds_as_people_count_are_never_too_small() -> None:
    assert [times(odds_) for odds_ in (0.5, 0.561, 0.57, 0.996, 0.99999, 1.0)] == [
        "at most 50 times of 100",
        "at most 57 times of 100",
        "at most 57 times of 100",
        "at most 996 times of 1,000",
        "at most 99,999 times of 100,000",
        "every time",
    ]


SURE = ["sine:0.924156,1.81596,0.603187,0,0.902653", "sine:0.0308052", "uniform:7.4", "triangular:0.37"]


@pytest.mark.parametrize("text", [*SURE, "tabulated:0.3,0.1,1,1"])
@pytest.mark.parametrize("step", [None, 0.001, 0.07])
def test_certain_is_certain(text: str, step: float | None) -> None:
    """No report of bounded noise can come from both of two readings further apart than it is wide."""
    setting = PrivacySetting.parse(text)
    wide = 2 * float(setting.law.support(np.array([setting.parameters]))[0])
    found = guarantee(setting, 4 * wide, (48,), step=step)
    assert {*found.delta.values(), *found.composed[48].values(), promise(found).odds, promise(found, 48).odds} == {1.0}
    assert "guesses right every time" in promise(found).words()
    if step == 0.07 and wide > 1:
        assert promise(guarantee(setting, 0.8 * wide, (), step=step)).odds < 1


def test_a_promise_names_change_window_and_delta() -> None:
    found = guarantee(LAPLACE, 1.0, ())
    assert promise(found).words() == (
        "an attacker who knows all but this reading guesses right at most 62 times of 100 (epsilon 0.5 for a change of "
        "1 in one reading, delta 0)"
    )
    window = promise(guarantee(LAPLACE, 1.0, (), unit="kW"), 4)
    assert window.delta == 1e-6
    assert window.epsilon == pytest.approx(2.0, rel=0.01)
    assert "for a change of 1 kW in each of 4 readings, delta 1e-6" in window.words()
    none = promise(guarantee(UNIFORM, 1.0, ()), 48)
    assert none.epsilon is None
    assert "no finite epsilon for a change of 1 in each of 48 readings, delta 1e-6" in none.words()


def test_a_value_that_lasts_is_told_again_and_again() -> None:
    told = {count: odds(guarantee(LAPLACE, 1.0, ()), count) for count in TOLD}
    assert list(told.values()) == sorted(told.values())
    assert told[48] > 0.9 > told[1]


def test_epsilon_per_unit() -> None:
    assert per_unit(LAPLACE) == pytest.approx(0.5)
    assert per_unit(PrivacySetting.parse("clip:0,5/laplace:4")) == pytest.approx(0.25)
    assert all(per_unit(PrivacySetting.parse(text)) is None for text in ("gaussian:1", "sine:1", "round:1", "none"))


def test_the_trade_off_curve_is_a_lower_bound_that_comes_close() -> None:
    """Of normal laws mu apart it is Phi(Phi^-1(1 - alpha) - mu)."""
    found = guarantee(GAUSSIAN, 4.0, ())
    assert found.loss is not None
    epsilons = np.linspace(0, 10, 201)
    deltas = [found.loss.composed(1).delta(float(each)) for each in epsilons]
    alpha = np.linspace(0, 1, 101)
    exact = norm.cdf(norm.ppf(1 - alpha) - 1)
    curve = trade_off(epsilons.tolist(), deltas, alpha)
    assert (curve <= exact + 1e-6).all()
    assert curve == pytest.approx(exact, abs=2e-3)
    few = trade_off(epsilons[::40].tolist(), deltas[::40], alpha)
    assert (few <= curve + 1e-12).all()
    assert few != pytest.approx(exact, abs=2e-3)
    assert odds(found) == pytest.approx(1 - float(((alpha + curve) / 2).min()), abs=1e-3), "the best odds are on it"
