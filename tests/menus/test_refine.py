"""Refinement: never worse than the grid, within the bin's limits, and better where the grid is coarse."""

import numpy as np
import pytest

from halfmask.errors import OptionError
from halfmask.evaluation.analytic.run import evaluate_analytic
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.sampling import draw_subsets
from halfmask.evaluation.scores import Constraint, passing, privacy, utility
from halfmask.mechanisms.grid import Grid, grid
from halfmask.menus.accepted import takes
from halfmask.menus.bench import Bench
from halfmask.menus.menu import Menu
from halfmask.menus.optimize import optimize
from halfmask.menus.refine import Refined, refine
from tests.choice.cases import as_read, homes

COARSE = "laplace:b=0.05..1.5/0.29;sine:k=1,values=0.3|0.75|1.2"


@pytest.fixture(scope="module")
def coarse() -> Menu:
    study = evaluate_grid(homes().profile, grid(COARSE), Experiment.on(homes().profile, sizes="10,20,all", repeats=5))
    return optimize(as_read(study), max_mean=0.5, max_std=0.5, omega=0.2).menu


@pytest.fixture(scope="module")
def refined(coarse: Menu) -> Refined:
    return refine(coarse, homes().profile, evaluations=10)


def test_no_bin_is_worse_and_some_are_better(coarse: Menu, refined: Refined) -> None:
    assert [each.id for each in refined.gains] == list(coarse.ids[:-1])
    assert all(each.gain >= 0 for each in refined.gains)
    assert max(each.gain for each in refined.gains) > 0.01
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
    bench = Bench(entry.setting, homes().profile, draw_subsets(homes().profile, [10, 20, 30], 5, 7), coarse)
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
    with pytest.raises(OptionError, match=r"sizes.*optimize again"):
        refine(bare, homes().profile, other_data=True)
    with pytest.raises(OptionError, match="other data"):
        refine(bare, homes().profile)


def test_no_setting_near_a_refined_one_is_much_better(refined: Refined) -> None:
    """Sixty random settings around each, near and far: a search that climbs once stops on the edge of the bin."""
    rng = np.random.default_rng(8)
    subsets = draw_subsets(homes().profile, [10, 20, 30], 5, 7)
    for each in refined.menu.settings[:-1]:
        bench = Bench(each.setting, homes().profile, subsets, refined.menu)
        origin = np.array(each.setting.parameters)
        spread = np.repeat([0.02, 0.15, 0.4], 20)[:, None]
        near, _ = bench.best_of(each, each, origin * np.exp(spread * rng.standard_normal((60, len(origin)))))
        assert near.objective - each.objective < 0.001


def test_like_is_compared_with_like(coarse: Menu, refined: Refined) -> None:
    """A gain is over the winner as the same bench measures it, not as a study of many settings did."""
    subsets = draw_subsets(homes().profile, [10, 20, 30], 5, 7)
    for gain, entry in zip(refined.gains, coarse.settings, strict=False):
        alone = Bench(entry.setting, homes().profile, subsets, coarse).entry(entry, entry.setting.parameters)
        assert alone is not None
        assert gain.objective_before == pytest.approx(alone[0].objective, abs=1e-12)


def test_refining_for_a_lattice_keeps_to_what_devices_take(coarse: Menu, refined: Refined) -> None:
    """In the first bin less noise is always better: without a lattice it ends where devices refuse it."""
    taken = takes(0.1)
    assert [each.id for each in refined.gains if not taken(each.after)] == ["B"], "a case that shows the difference"
    known = refine(coarse, homes().profile, evaluations=10, taken=taken)
    assert all(taken(each.after) for each in known.gains)
    assert 0 < known.gains[0].gain < refined.gains[0].gain, "and the bin is still refined, as far as devices go"
    assert [each.after for each in known.gains[1:]] == [each.after for each in refined.gains[1:]]
