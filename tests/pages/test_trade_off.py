"""The attacker's two errors and the price of equal readings, held to normal noise, whose curves are known exactly."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from halfmask.audits.card import CURVE, ChangeAudited, ReportCard, SettingCard
from halfmask.figures.equal_readings import equal_readings_caption, equal_readings_data, equal_readings_plot
from halfmask.figures.trade_off import trade_off_caption, trade_off_data, trade_off_plot
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Score
from halfmask.protection.guarantees.guarantee import Guarantee
from halfmask.protection.guarantees.promises import Promise
from tests.audits.cards import card as small_card

EPSILON = np.array(CURVE)
DAY = 4


def normal_delta(mu: float) -> tuple[float, ...]:
    """delta(epsilon) of normal noise whose deviation is the change divided by mu (Balle and Wang)."""
    found = norm.cdf(mu / 2 - EPSILON / mu) - np.exp(EPSILON) * norm.cdf(-mu / 2 - EPSILON / mu)
    return tuple(float(delta) for delta in found)


def card(mu: float) -> ReportCard:
    """A card of one setting with normal noise; k readings together have mu times the root of k."""
    told = {k: float(norm.cdf(mu * np.sqrt(k) / 2)) for k in (1, 2, 4)}
    noisy = PrivacySetting.parse(f"gaussian:{0.5 / mu}")
    unknown = Guarantee(noisy, 0.5, None, {math.inf: 0.0}, {}, "")
    setting = SettingCard(
        id="A",
        privacy=Score(0.5, 0.4),
        utility=None,
        guarantee=unknown,
        typical=unknown,
        sampler=None,
        attacks=(),
        limit=None,
        instead=None,
        curve={1: normal_delta(mu), DAY: normal_delta(mu * np.sqrt(DAY))},
        sentence="",
        warnings=(),
        promises={name: Promise(k, 0.5, 2.0, 1e-6, told[k]) for name, k in (("one reading", 1), ("a day", DAY))},
        told=told,
        whole=None,
        per_unit=None,
        protected={},
    )
    about = replace(small_card().about, sensitivity=ChangeAudited(1.0, "as given", 0.5), reports={"day": DAY})
    silent = replace(unknown, setting=PrivacySetting.parse("none"))
    return ReportCard((setting, replace(setting, id="N", guarantee=silent, privacy=None)), about, None, None)


def missed(mu: float, alarms: np.ndarray) -> np.ndarray:
    return norm.cdf(norm.isf(alarms) - mu)


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.0])
def test_the_curve_is_that_of_normal_noise(mu: float) -> None:
    data = trade_off_data(card(mu))
    assert data is not None
    for curves, together in ((data.one, mu), (data.whole_day, mu * np.sqrt(DAY))):
        truth, near = missed(together, data.alarms), 0.05 * min(together, 1.0)
        assert np.all(curves["A"] <= truth + 1e-9)  # a bound, for no attacker errs less
        seen = (data.alarms > 1e-3) & (data.alarms < 1 - 1e-3)  # beyond, epsilons above 10 would be needed
        assert curves["A"][seen] == pytest.approx(truth[seen], abs=near)
        assert curves["A"][seen] != pytest.approx(missed(1.2 * together, data.alarms)[seen], abs=near)


def test_captions_name_change_window_and_delta() -> None:
    traded, equal = trade_off_data(card(1.0)), equal_readings_data(card(1.0))
    assert traded is not None
    assert equal is not None
    for told in (trade_off_caption(traded), equal_readings_caption(equal)):
        assert "changed by 0.5" in told
        assert "epsilon 2 for a change of 0.5 in one reading, delta 1e-6" in told
        assert "epsilon 2 for a change of 0.5 in each of 4 readings, delta 1e-6" in told
    missed = 100 * np.interp(0.05, traded.alarms, traded.one["A"])
    assert f"at least {np.floor(10 * missed) / 10:.3g} %" in trade_off_caption(traded), "rounded down"
    assert "at most 70 times of 100 for one reading" in equal_readings_caption(equal)
    assert "at most 85 times of 100 where the value lasts 4" in equal_readings_caption(equal)


def test_figures_have_the_same_numbers() -> None:
    traded, equal = trade_off_data(card(1.0)), equal_readings_data(card(1.0))
    assert traded is not None
    assert equal is not None
    marks = [mark for each in trade_off_plot(traded).subplots for mark in each.marks if mark.name == "A"]
    assert marks[0].y == pytest.approx(100 * traded.one["A"])
    assert marks[1].y == pytest.approx(100 * traded.whole_day["A"])
    (odds,) = equal_readings_plot(equal).subplots[0].marks
    assert list(odds.x) == [1, 2, 4]
    assert odds.y == pytest.approx([100 * norm.cdf(np.sqrt(k) / 2) for k in (1, 2, 4)], rel=1e-5)


def test_a_card_without_noise_has_neither() -> None:
    bare = replace(card(1.0), cards=card(1.0).cards[1:])
    assert trade_off_data(bare) is None
    assert equal_readings_data(bare) is None
