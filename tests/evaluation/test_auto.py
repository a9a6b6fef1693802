"""The grid auto: the same scores and winners in any unit, and settings on both sides of the constraint."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.arrays import FloatArray
from halfmask.evaluation.analytic.evaluate_analytic import BlockErrors, SubsetErrors
from halfmask.evaluation.auto import auto_grid, typical_size
from halfmask.evaluation.evaluate import evaluate_grid, findings
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.sampling import draw_subsets
from halfmask.evaluation.scores import Constraint, Weights, normalisers, passing, privacy, utility
from halfmask.evaluation.study import Study
from halfmask.mechanisms.grid import TYPICAL, Block, Grid, grid, scaled
from halfmask.mechanisms.mechanism_registry import mechanism
from halfmask.profiles.profile import Profile
from tests.evaluation.same_answer import frame, opened
from tests.refusals import refused

USERS, PERIODS, DAY = 60, 30, 12
EVERY = 397  # one setting in so many is evaluated where a whole grid would take long


def readings(factor: float = 1.0) -> FloatArray:
    rng = np.random.default_rng(3)
    level = rng.lognormal(0, 0.5, (USERS, 1, 1))
    return factor * level * rng.lognormal(0, 0.7, (USERS, PERIODS, DAY))


def readings_profile(values: FloatArray) -> Profile:
    users, _, slots = values.shape
    return opened(frame(values.reshape(users, -1), 24 * 60 // slots))[1]


@cache
def profile(factor: float = 1.0) -> Profile:
    return readings_profile(readings(factor))


def made(of: Profile) -> Grid:
    return auto_grid(of, draw_subsets(of, [20, USERS], 2, 7))


def thinned(whole: Grid) -> Grid:
    return replace(whole, blocks=tuple(Block(b.mechanism, b.parameters[::EVERY]) for b in whole.blocks))


def study(of: Profile) -> Study:
    return evaluate_grid(of, thinned(made(of)), Experiment(sizes=(20, USERS), repeats=2))


def scores(of: Study) -> tuple[FloatArray, FloatArray]:
    kept = passing(of.metrics, Constraint())
    largest = normalisers(of.metrics, kept)
    return privacy(of.metrics[kept], largest, Weights()), utility(of.metrics[kept], largest, Weights())


def test_the_papers_data_have_the_mean_that_was_published() -> None:
    assert pytest.approx(0.684, abs=5e-4) == TYPICAL
    assert typical_size(profile()) == pytest.approx(readings().mean(), rel=1e-12)


def test_on_data_of_the_papers_scale_it_begins_with_the_papers_grid() -> None:
    one = profile(TYPICAL / readings().mean())
    whole, paper = made(one), grid("paper")
    assert whole.scale == pytest.approx(1, rel=1e-12)
    for ours, theirs in zip(whole.blocks, paper.blocks, strict=True):
        np.testing.assert_allclose(ours.parameters[: len(theirs)], theirs.parameters, rtol=2e-6)


@settings(max_examples=8)
@given(st.floats(1e-9, 1e9))
def test_a_unit_multiplies_the_noise_and_nothing_else(factor: float) -> None:
    one, other = made(profile()), made(profile(factor))
    assert len(one) == len(other)
    for a, b in zip(one.blocks, other.blocks, strict=True):
        np.testing.assert_allclose(scaled(a, factor).parameters, b.parameters, rtol=2e-5)  # six digits, rounded twice


@pytest.mark.parametrize("factor", [1000.0, 1 / 3.6])
def test_scores_and_winners_are_the_same_in_any_unit(factor: float) -> None:
    one, other = study(profile()), study(profile(factor))
    (q, u), (other_q, other_u) = scores(one), scores(other)
    assert q.shape == other_q.shape, "the same settings keep the constraint"
    np.testing.assert_allclose(other_q, q, atol=2e-3)  # bins of |s| lie elsewhere in another unit
    np.testing.assert_allclose(other_u, u, atol=2e-3)
    median, least = np.median(q, axis=1), np.median(u, axis=1) + np.percentile(u, 10, axis=1)
    for low in (0.2, 0.4, 0.6, 0.8):
        held = np.flatnonzero((median >= low + 0.01) & (median < low + 0.19))
        if len(held):
            winner = held[np.argmax(least[held])]
            again = np.median(other_u, axis=1) + np.percentile(other_u, 10, axis=1)
            assert again[winner] >= again[held].max() - 2e-3
    for mine in (profile(), profile(factor)):  # the same settings of the paper's own grid are not the same in any unit
        assert typical_size(mine) / TYPICAL == pytest.approx(made(mine).scale)
    laplace, subsets = thinned(grid("laplace")).blocks[0], draw_subsets(profile(), [20], 2, 7)
    ways = [BlockErrors(SubsetErrors(profile(f), subsets), laplace).global_metrics() for f in (1, factor)]
    assert len({int(passing(each, Constraint()).sum()) for each in ways}) == 2


@pytest.mark.parametrize("users", [1, 60])
def test_each_mechanism_has_settings_on_both_sides_of_the_constraint(users: int) -> None:
    steady = readings_profile(np.repeat(readings()[:users], 40, axis=2))  # many readings, so that totals are accurate
    whole = auto_grid(steady, draw_subsets(steady, [users], 2, 7))
    assert (len(whole) > len(grid("paper"))) == (users > 1)
    found = evaluate_grid(steady, thinned(whole), Experiment(sizes=(users,), repeats=2))
    kept, start = passing(found.metrics, Constraint()), 0
    for block in thinned(whole).blocks:
        own = kept[start : start + len(block)]
        assert own.any()
        assert not own.all()
        start += len(block)
    sine = next(block for block in whole.blocks if block.mechanism == "sine")
    noise = mechanism("sine").moments(sine.parameters)[:, 0]
    assert noise.min() < 1e-12 * typical_size(steady), "some settings hide nothing"


def test_a_grid_that_breaks_nothing_says_so_and_by_how_much() -> None:
    of = evaluate_grid(profile(), grid("laplace:0.01;laplace:0.02"), Experiment(sizes=(20,), repeats=2))
    told = [each for each in findings(of) if "no setting breaks the constraint" in each]
    assert len(told) == 1
    room = float(told[0].split("noise ")[1].split(" times")[0])
    more = grid(f"laplace:{0.0199 * room:.9g};laplace:{0.0201 * room:.9g}")
    grown = evaluate_grid(profile(), more, Experiment(sizes=(20,), repeats=2))
    assert passing(grown.metrics, Constraint()).tolist() == [True, False]
    assert not any("no setting breaks" in each for each in findings(study(profile())))


def test_auto_stands_among_other_parts_and_needs_data() -> None:
    found = evaluate_grid(profile(), "gaussian:0.5", Experiment(sizes=(20,), repeats=1))
    assert found.grid.texts() == ["gaussian:0.5"]
    whole = grid("gaussian:0.5;auto", made(profile()))
    assert len(whole) == len(made(profile())) + 1
    with refused("setting.auto"):
        grid("auto")
    with refused("option.all-zero"):
        made(profile(0.0))
