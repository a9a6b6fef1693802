"""The same answer in any unit, in any order of users and at any time; and twice as many users are twice as many.

A factor that is a power of two moves every reading by whole bins of the profile, so that nothing else may change; any
other moves readings within their bins, 1.1 % wide.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import polars as pl
import pytest

from halfmask.arrays import FloatArray
from halfmask.audits.audit import audit_menu
from halfmask.audits.card import ReportCard
from halfmask.choice.mix import Mix, mix
from halfmask.choice.personal_privacy import population_prior
from halfmask.choice.recommend import OwnReadings, Recommendation, Wish, recommend
from halfmask.evaluation.auto import auto_grid
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.sampling import draw_subsets
from halfmask.evaluation.study import Study
from halfmask.mechanisms.grid import Block
from halfmask.menus.menu import Menu, noise_std
from halfmask.menus.offer import offer
from halfmask.menus.optimize import optimize
from halfmask.profiles.profile import Profile
from tests.choice.cases import as_read
from tests.evaluation.same_answer import frame, opened

USERS, DAYS, A_DAY = 150, 10, 6
EVERY = 199
EXACT = 1024.0
ANY = 0.0371


def readings() -> FloatArray:
    rng = np.random.default_rng(3)
    return rng.lognormal(0, 0.5, (USERS, 1)) * rng.lognormal(0, 0.6, (USERS, DAYS * A_DAY))


def panel(factor: float = 1.0, change: str = "") -> pl.DataFrame:
    """The panel, or one that is changed: its users in another order, four weeks later, or each user twice."""
    values = factor * readings()
    if change == "other order":
        values = values[np.random.default_rng(8).permutation(USERS)]
    if change == "twice":
        values = np.concatenate([values, values])
    made = frame(values, 24 * 60 // A_DAY)
    return made.with_columns(pl.col("time") + pl.duration(days=28)) if change == "later" else made


@dataclass(frozen=True, eq=False)
class Answers:
    """All that follows from a panel."""

    profile: Profile
    study: Study
    menu: Menu
    offer: Menu


@cache
def answers(factor: float = 1.0, change: str = "", sizes: tuple[int, ...] = (USERS,)) -> Answers:
    profile = opened(panel(factor, change))[1]
    whole = auto_grid(profile, draw_subsets(profile, list(sizes), 2, 7))
    thin = replace(whole, blocks=tuple(Block(each.mechanism, each.parameters[::EVERY]) for each in whole.blocks))
    study = evaluate_grid(profile, thin, Experiment(sizes=sizes, repeats=2))
    menu = optimize(as_read(study), profile=profile, bins=3, omega=0.3).menu
    return Answers(profile, study, menu, offer(profile, as_read(study), summary_epsilon=50.0).menu)


def check_menus(one: Menu, other: Menu, factor: float, close: float) -> None:
    """The noise times the factor; scores, letters, names, promises, guesses and errors as they are.

    An offer's noise has three digits, so that it may differ by 1 % in another unit.
    """
    assert one.ids == other.ids
    for a, b in zip(one.settings, other.settings, strict=True):
        assert (a.name, a.setting.mechanism, a.needed is None) == (b.name, b.setting.mechanism, b.needed is None)
        assert noise_std(b.setting) == pytest.approx(factor * (noise_std(a.setting) or 0), rel=close, abs=1e-300)
        for score in ("privacy", "utility"):
            assert vars(getattr(b, score)) == pytest.approx(vars(getattr(a, score)), abs=close)
        assert a.protection is not None
        assert b.protection is not None
        for told in ("guess", "reading", "window"):
            mine, theirs = getattr(a.protection, told), getattr(b.protection, told)
            assert (mine is None) == (theirs is None)
            assert mine is None or theirs == pytest.approx(mine, rel=2 * close, abs=close)
        assert dict(b.protection.errors) == pytest.approx(dict(a.protection.errors), rel=2 * close)


@pytest.mark.parametrize(("factor", "close"), [(EXACT, 0.011), pytest.param(ANY, 0.02, marks=pytest.mark.slow)])
def test_a_unit_changes_the_noise_of_menu_and_offer_and_nothing_else(factor: float, close: float) -> None:
    one, other = answers(), answers(factor)
    check_menus(one.offer, other.offer, factor, close)
    if factor == EXACT:  # of two settings that are nearly as good, another unit may pick the other
        check_menus(one.menu, other.menu, factor, close)
    else:
        for a, b in zip(one.menu.settings, other.menu.settings, strict=True):
            assert b.objective == pytest.approx(a.objective, abs=close)
    assert noise_std(one.offer.settings[0].setting) != pytest.approx(
        noise_std(other.offer.settings[0].setting), rel=0.5
    )


@pytest.mark.slow
def test_a_unit_leaves_mixes_as_they_are() -> None:
    def mixed(of: Answers) -> Mix:
        return mix(of.profile, of.menu, step=0.5, repeats=2)

    one, other = mixed(answers()), mixed(answers(EXACT))
    for column in ("privacy", "utility"):
        assert other.table[column].to_numpy() == pytest.approx(one.table[column].to_numpy(), abs=2e-3)
    assert other.table["dominant"].equals(one.table["dominant"])


def test_a_unit_leaves_advice_as_it_is() -> None:
    def advised(of: Answers, factor: float) -> Recommendation:
        own = OwnReadings(factor * readings()[4])
        return recommend(of.offer, own, Wish(min_privacy=0.3), population_prior(of.profile, of.offer))

    one, other = advised(answers(), 1.0), advised(answers(EXACT), EXACT)
    assert (one.chosen.entry.id, one.meets) == (other.chosen.entry.id, other.meets)
    for a, b in zip(one.settings, other.settings, strict=True):
        assert (b.privacy, b.low, b.high) == pytest.approx((a.privacy, a.low, a.high), abs=2e-3)


@pytest.mark.slow
def test_a_unit_leaves_cards_as_they_are() -> None:
    """With the devices' lattice in the same unit; attacks are measured beside their baselines."""

    def card(of: Answers, factor: float) -> ReportCard:
        first = replace(of.offer, settings=(of.offer.settings[1], of.offer.settings[-1]))
        return audit_menu(first, of.profile, step=factor / 1024)

    one, other = card(answers(), 1.0), card(answers(EXACT), EXACT)
    for a, b in zip(one.cards, other.cards, strict=True):
        assert (a.typical.epsilon is None) == (b.typical.epsilon is None) == (a.id == "N")
        if a.typical.epsilon is not None:
            assert b.typical.epsilon == pytest.approx(a.typical.epsilon, rel=0.011)
        for told, again in zip(a.attacks, b.attacks, strict=True):
            assert (told.value is None, bool(told.baseline)) == (again.value is None, bool(again.baseline))
            if (users := told.details.get("users")) is not None:  # noise has three digits, so one or two may change
                assert again.value == pytest.approx(told.value, abs=2 / users), told.name
            elif told.value is not None and again.value is not None and told.baseline and again.baseline:
                ratio = told.value / told.baseline
                assert again.value / again.baseline == pytest.approx(ratio, rel=0.02), told.name


@pytest.mark.slow
def test_the_order_of_users_changes_nothing() -> None:
    """Samples of everybody; of some users, other orders draw other samples, as they should."""
    one, other = answers(), answers(change="other order")
    assert other.study.metrics == pytest.approx(one.study.metrics, rel=1e-6)
    check_menus(one.menu, other.menu, 1.0, 1e-5)
    check_menus(one.offer, other.offer, 1.0, 1e-5)
    some, others = (answers(change=change, sizes=(60, USERS)).study.metrics for change in ("", "other order"))
    assert some != pytest.approx(others, rel=1e-6)


def test_another_time_changes_nothing_but_the_dates() -> None:
    one, other = answers(), answers(change="later")
    assert (other.profile.periods - one.profile.periods == 28 * 86_400_000_000).all()
    assert np.array_equal(other.study.metrics, one.study.metrics)
    check_menus(one.menu, other.menu, 1.0, 1e-12)
    check_menus(one.offer, other.offer, 1.0, 1e-12)


def test_twice_as_many_users_make_totals_better_and_nobody_safer() -> None:
    """The noise for a guess error is the same, and so are all promises; the error of a total falls by the root of 2."""
    one, other = answers(), answers(change="twice")
    for a, b in zip(one.offer.settings[:-1], other.offer.settings[:-1], strict=True):
        assert a.setting == b.setting
        assert a.protection is not None
        assert b.protection is not None
        assert b.protection.guess == pytest.approx(a.protection.guess)
        assert (b.protection.reading, b.protection.window) == (a.protection.reading, a.protection.window)
        assert b.protection.errors[100] == pytest.approx(a.protection.errors[100])
        assert b.protection.errors[2 * USERS] == pytest.approx(a.protection.errors[USERS] / np.sqrt(2), rel=1e-3)
        assert b.needed == pytest.approx(a.needed, abs=1)
        assert b.utility.median > a.utility.median
