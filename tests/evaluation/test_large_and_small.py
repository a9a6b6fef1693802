"""Readings of any size that can be squared and summed have the same metrics in any unit; larger ones are refused."""

from typing import Literal

import numpy as np
import pytest

from halfmask.evaluation.evaluate import evaluate_grid, findings
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.sampling import default_sizes, draw_subsets
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.bins import LARGEST, SMALLEST
from halfmask.profiles.quality import advice
from tests.evaluation import brute
from tests.evaluation.same_answer import opened
from tests.refusals import refused

METHODS = ("analytic", "direct")
HOMES = brute.heavy(20, 6, 4)


def metrics(unit: float, aggregate: str, method: Literal["analytic", "direct"]) -> np.ndarray:
    """The six metrics on half and all of the users of a setting in the same unit, and of relative noise.

    The direct method draws other noise for another setting, so its setting in the unit has none.
    """
    panel, profile = opened(brute.panel(unit * HOMES))
    tried = Experiment.on(profile, sizes=(10, 20), repeats=2, aggregate=aggregate, method=method)
    in_unit = PrivacySetting("laplace" if method == "analytic" else "round", (0.5 * unit,))
    grid = Grid.from_settings([in_unit, PrivacySetting("relative-laplace", (0.3,))])
    return np.asarray(evaluate_grid(profile, grid, tried, panel=panel).metrics)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("aggregate", ["sum", "variance"])
def test_metrics_are_the_same_in_any_unit(aggregate: str, method: Literal["analytic", "direct"]) -> None:
    """Powers of two change no digit of a reading; these two reach the limits."""
    usual = metrics(1.0, aggregate, method)
    assert np.isfinite(usual).all()
    assert 2.0**192 * HOMES.max() < LARGEST < 2.0**196 * HOMES.max()
    assert 2.0**-190 * HOMES.min() > SMALLEST > 2.0**-196 * HOMES.min()
    for unit in (2.0**192, 2.0**-190):
        np.testing.assert_allclose(metrics(unit, aggregate, method), usual, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [1e61, 1e160, 1e300, -1e300])
def test_readings_too_large_to_square_are_refused(unit: float, method: Literal["analytic", "direct"]) -> None:
    panel, profile = opened(brute.panel(unit * HOMES))
    for aggregate in ("sum", "variance"):
        tried = Experiment.on(profile, aggregate=aggregate, error="relative", method=method)
        with refused("reading.too-large"):
            evaluate_grid(profile, "auto", tried, panel=panel)
    assert [f"{LARGEST:g}" in note for note in advice(profile)].count(True) == 1


def test_no_note_is_made_of_usual_readings() -> None:
    assert not any(f"{LARGEST:g}" in note for note in advice(opened(brute.panel(HOMES))[1]))


def test_small_panels_have_subsets_that_differ() -> None:
    assert default_sizes(1) == [1]
    assert default_sizes(2) == [1, 2]
    assert default_sizes(39) == [20, 39]
    assert default_sizes(50) == [25, 50]
    assert default_sizes(99) == [50, 99]
    assert default_sizes(100) == [50, 100]
    assert default_sizes(101) == [50, 100, 101]
    _, profile = opened(brute.panel(brute.heavy(50, 3, 2)))
    tried = Experiment.on(profile)
    subsets = draw_subsets(profile, tried.sizes, tried.repeats, tried.seed)
    assert len({tuple(subset.rows.tolist()) for subset in subsets}) == 4  # all users are the same three times
    study = evaluate_grid(profile, Grid.from_settings([PrivacySetting("laplace", (0.5,))]), tried)
    assert len(np.unique(study.metrics[0, :, 3].round(12))) == 6
    assert sum("50" in line and "half" in line for line in findings(study)) == 1
    asked = evaluate_grid(profile, study.grid, Experiment.on(profile, sizes="all"))
    assert not any("half" in line for line in findings(asked))
