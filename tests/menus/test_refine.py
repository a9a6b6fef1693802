"""Refinement: never worse than the grid, within the bin's limits, and better where the grid is coarse."""

from dataclasses import replace

import numpy as np
import pytest

from halfmask.arrays import FloatArray
from halfmask.evaluation.analytic.evaluate_analytic import evaluate_analytic
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.sampling import draw_subsets
from halfmask.evaluation.scores import Constraint, passing, privacy, utility
from halfmask.mechanisms.grid import Grid, grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.candidate_scores import CandidateScores
from halfmask.menus.device_refusal import takes
from halfmask.menus.menu import Menu, MenuSetting
from halfmask.menus.objective_difference import objective
from halfmask.menus.optimize import optimize
from halfmask.menus.refine import Refined, refine
from tests.choice.cases import as_read, homes
from tests.refusals import refused

SIZES, REPEATS = [10, 20, 30], 5
COARSE = "laplace:b=0.05..1.5/0.29;sine:k=1,values=0.3|0.75|1.2"


def coarse_menu(seed: int) -> Menu:
    tried = Experiment.on(homes().profile, sizes="10,20,all", repeats=REPEATS, seed=seed)
    study = evaluate_grid(homes().profile, grid(COARSE), tried)
    return optimize(as_read(study), max_mean=0.5, max_std=0.5, omega=0.2).menu


@pytest.fixture(scope="module")
def coarse() -> Menu:
    return coarse_menu(7)


@pytest.fixture(scope="module")
def refined(coarse: Menu) -> Refined:
    return refine(coarse, homes().profile, evaluations=10)


def test_no_bin_is_worse_and_some_are_better(coarse: Menu, refined: Refined) -> None:
    assert [each.id for each in refined.gains] == list(coarse.ids[:-1])
    assert all((each.after != each.before) == (each.gain.sign > 0) for each in refined.gains)
    assert max(each.gain.low or 0 for each in refined.gains) > 0.01
    assert refined.menu.provenance["refined"] == {each.id: each.to_json() for each in refined.gains}
    assert refined.menu.settings[-1] == coarse.settings[-1]
    assert len(refined.rows()) == len(coarse.settings)


def test_refined_settings_are_what_evaluate_says_and_keep_the_bins_limits(coarse: Menu, refined: Refined) -> None:
    subsets = draw_subsets(homes().profile, [10, 20, 30], 5, 7)
    for each in refined.menu.settings[:-1]:
        metrics = evaluate_analytic(homes().profile, Grid.from_settings([each.setting]), subsets)
        q, u = (score(metrics, coarse.largest, coarse.weights)[0] for score in (privacy, utility))
        assert each.privacy.median == pytest.approx(np.median(q), abs=2e-3)
        assert each.objective == pytest.approx(np.percentile(u, 50) + np.percentile(u, 10), abs=2e-3)
        assert each.bin[0] <= each.privacy.median < each.bin[1]
        assert each.privacy.median - each.privacy.p10 < 0.2
        assert passing(metrics, Constraint(0.5, 0.5)).all()


def test_a_setting_outside_its_limits_is_seen(coarse: Menu) -> None:
    entry = coarse.settings[0]
    bench = CandidateScores(entry.setting, homes().profile, draw_subsets(homes().profile, [10, 20, 30], 5, 7), coarse)
    start = bench.entry(entry, entry.setting.parameters)
    weaker = bench.entry(entry, tuple(0.01 * p for p in entry.setting.parameters))
    assert start is not None
    assert start[1] == 0
    assert start[0].objective == pytest.approx(entry.objective, abs=2e-3)
    assert weaker is not None
    assert (weaker[1] > 0) == (weaker[0].privacy.median < entry.bin[0])
    assert bench.entry(entry, tuple(100 * p for p in entry.setting.parameters)) is None
    assert bench.entry(entry, tuple(0.0 for _ in entry.setting.parameters)) is None


def test_a_menu_that_names_no_samples_is_refused(coarse: Menu) -> None:
    bare = Menu(coarse.settings, coarse.normalisers, coarse.weights, coarse.constraints)
    with refused("option.samples"):
        refine(bare, homes().profile, other_data=True)
    with refused("option.other", "other_data"):
        refine(bare, homes().profile)


def test_no_setting_near_a_refined_one_is_much_better(refined: Refined) -> None:
    """Sixty random settings around each, near and far: a search that climbs once stops on the edge of the bin."""
    rng = np.random.default_rng(8)
    subsets = draw_subsets(homes().profile, [10, 20, 30], 5, 7)
    for each in refined.menu.settings[:-1]:
        bench = CandidateScores(each.setting, homes().profile, subsets, refined.menu)
        origin = np.array(each.setting.parameters)
        spread = np.repeat([0.02, 0.15, 0.4], 20)[:, None]
        near = bench.best_of(each, each, origin * np.exp(spread * rng.standard_normal((60, len(origin)))))
        assert near.objective - each.objective < 0.001


def scores_of(setting: PrivacySetting, menu: Menu, repeats: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Privacy and utility of a setting on fresh subsets: (sizes, repeats)."""
    subsets = draw_subsets(homes().profile, SIZES, repeats, seed)
    metrics = evaluate_analytic(homes().profile, Grid.from_settings([setting]), subsets, seed=seed)
    q, u = (score(metrics, menu.largest, menu.weights)[0] for score in (privacy, utility))
    return q.reshape(len(SIZES), repeats), u.reshape(len(SIZES), repeats)


def fallen(refined: Refined, times: int = 40) -> list[float]:
    """How often each refined setting is below its bin, measured on as many fresh subsets as the search had."""
    found = []
    for entry, gain in zip(refined.menu.settings, refined.gains, strict=False):
        if gain.after != gain.before and entry.bin[0] > 0:
            q = scores_of(entry.setting, refined.menu, times * REPEATS, 101)[0].reshape(len(SIZES), times, REPEATS)
            medians = np.median(np.moveaxis(q, 1, 0).reshape(times, -1), axis=1)
            found.append(float((medians < entry.bin[0]).mean()))
            assert entry.bin[0] < np.median(q) < entry.bin[0] + 0.05, "the margin is not wide"
    return found


def test_refined_settings_keep_a_margin_to_the_edge_of_their_bin(refined: Refined) -> None:
    """At most 1 in 10 bootstraps of their own samples is below it; and mostly they stay in it on fresh subsets."""
    rng, below = np.random.default_rng(4), []
    for entry, gain in zip(refined.menu.settings, refined.gains, strict=False):
        if gain.after != gain.before and entry.bin[0] > 0:
            q = scores_of(entry.setting, refined.menu, REPEATS, 7)[0].ravel()
            medians = np.median(q[rng.integers(q.size, size=(2000, q.size))], axis=1)
            below.append((medians < entry.bin[0]).mean())
    assert len(below) >= 2
    assert max(below) <= 0.1
    assert max(fallen(refined)) < 0.5


@pytest.mark.slow
def test_refined_settings_stay_in_their_bins_on_fresh_subsets(refined: Refined) -> None:
    """Over the bins of three studies, whose own draws differ: at most 1 in 10 fresh medians is below the bin."""
    shares = fallen(refined)
    for seed in (0, 1):
        shares += fallen(refine(coarse_menu(seed), homes().profile, evaluations=10))
    assert len(shares) >= 9
    assert np.mean(shares) <= 0.1


def test_gains_are_those_of_fresh_subsets(refined: Refined) -> None:
    """The gain is stated on subsets that the search has not seen: the truth, from many others, is in its interval."""
    shown = [each for each in refined.gains if each.after != each.before]
    assert len(shown) >= 2
    for each in shown:
        true = [objective(scores_of(some, refined.menu, 100, 202)[1].ravel()) for some in (each.before, each.after)]
        assert each.gain.low is not None
        assert each.gain.high is not None
        assert each.gain.low < true[1] - true[0] < each.gain.high
        assert each.gain.low > 0
        assert each.gain.high - each.gain.low < 0.1, "an interval that says something"


@pytest.mark.parametrize(("times", "taken"), [(1.2, False), (1.0, False), (0.8, True)])
def test_what_the_search_finds_is_taken_only_if_it_gains_on_fresh_subsets(
    coarse: Menu, monkeypatch: pytest.MonkeyPatch, times: float, taken: bool
) -> None:
    """A search that is sure of much utility, with more noise, as much, and less."""

    def found(entry: MenuSetting, *_: object) -> MenuSetting:
        parameters = tuple(times * p for p in entry.setting.parameters)
        return replace(entry, setting=PrivacySetting(entry.setting.mechanism, parameters), objective=1.99)

    monkeypatch.setattr("halfmask.menus.refine._refined", found)
    made = refine(coarse, homes().profile)
    assert [each.after != each.before for each in made.gains] == [taken] * len(made.gains)
    assert all(np.sign(each.gain.value) == np.sign(1 - times) for each in made.gains)
    if not taken:
        assert made.menu.settings == coarse.settings


def test_without_one_bin_its_winner_and_its_provenance_are_the_grids(coarse: Menu, refined: Refined) -> None:
    kept = refined.without(coarse.settings[0])
    assert kept.menu.settings[0] == coarse.settings[0]
    assert kept.menu.settings[1:] == refined.menu.settings[1:]
    assert kept.menu.provenance["refined"][coarse.ids[0]]["gain"] == 0
    assert not kept.gains[0].shows


def test_refining_for_a_lattice_keeps_to_what_devices_take(coarse: Menu, refined: Refined) -> None:
    """In the first bin less noise is always better: without a lattice it ends where devices refuse it."""
    taken = takes(0.1)
    assert [each.id for each in refined.gains if not taken(each.after)] == ["B"], "a case that shows the difference"
    known = refine(coarse, homes().profile, evaluations=10, taken=taken)
    assert all(taken(each.after) for each in known.gains)
    assert 0 < known.gains[0].gain.value < refined.gains[0].gain.value, (
        "and the bin is still refined, as far as devices go"
    )
    assert [each.after for each in known.gains[1:]] == [each.after for each in refined.gains[1:]]
