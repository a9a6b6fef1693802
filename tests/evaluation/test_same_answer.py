"""Two methods, one truth: the analytic method against masking every reading.

Every comparison is of the two methods' distributions over repeats, on subsets and noise of their own: the difference
of means in standard errors, and a two-sample Kolmogorov-Smirnov test. All of them together fail by chance with the
suite's false-alarm rate; by chance alone 0.3 % of the means differ by more than three standard errors.
"""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from halfmask.data.synth import synth
from halfmask.evaluation.analytic.evaluate_analytic import METRICS, evaluate_analytic
from halfmask.evaluation.sampling import draw_subsets
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting
from tests.evaluation.same_answer import AWKWARD, SETTINGS, awkward, both, deviations, opened, real
from tests.real_data import PEDESTRIANS, SWISS, needs_data
from tests.statistics import ks_two_sample, share

TESTS = 20 * len(SETTINGS) * len(METRICS)
FAR = float(norm.isf(share(TESTS) / 2))
SOME = SETTINGS[::5]


def held_to_it(names: list[str], analytic: np.ndarray, direct: np.ndarray) -> list[str]:
    """What is wrong with a method's answer, in words; nothing where it is the same answer."""
    away = deviations(analytic, direct)
    means = np.stack([analytic.mean(axis=1), direct.mean(axis=1)], axis=-1)
    wrong = [
        f"{names[s]} {METRICS[m]}: {means[s, m, 0]:.5g} against {means[s, m, 1]:.5g}, {away[s, m]:.1f} se"
        for s, m in np.argwhere(np.abs(away) > FAR)
    ]
    if (np.abs(away) > 3).mean() > 0.05:
        wrong.append(f"{(np.abs(away) > 3).mean():.1%} of the means are more than 3 standard errors away")
    wrong += [
        f"{names[s]} {METRICS[m]}: another distribution"
        for s, m in np.ndindex(away.shape)
        if not ks_two_sample(analytic[s, :, m], direct[s, :, m], TESTS)
    ]
    return wrong


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_panels(name: str) -> None:
    panel, profile = opened(awkward(name))
    size = max(1, len(profile) * 2 // 3)
    assert held_to_it(*both(panel, profile, SOME, size, 60)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_panels_at_length(name: str) -> None:
    panel, profile = opened(awkward(name))
    size = max(1, len(profile) * 2 // 3)
    assert held_to_it(*both(panel, profile, SETTINGS, size, 200)) == []


@pytest.mark.parametrize("error", ["relative", "scaled"])
@pytest.mark.parametrize("aggregate", ["mean", "variance"])
def test_other_aggregates_and_errors(aggregate: str, error: str) -> None:
    panel, profile = opened(awkward("negative values" if error == "scaled" else "heavy tails"))
    chosen = [s for s in SOME if s != "none"]
    assert held_to_it(*both(panel, profile, chosen, 20, 60, error, aggregate)) == []


TOTALS = [
    *(f"laplace:{b}" for b in (0.1, 1, 3, 10, 30)),
    *(f"gaussian:{s}" for s in (0.3, 4, 20)),
    *("uniform:5", "sine:1.8,1.8,1.8,1.8,1.8", "staircase:1,3,0.2", "geometric:5,0.001", "relative-laplace:0.3"),
]


@needs_data
@pytest.mark.parametrize("aggregate", ["sum", "mean"])
@pytest.mark.parametrize("name", ["swiss households", "melbourne pedestrians"])
def test_totals_of_real_data(name: str, aggregate: str) -> None:
    panel, profile = opened(real(name))
    found = both(panel, profile, TOTALS, max(2, len(profile) // 5), 60, aggregate=aggregate, release="total")
    assert held_to_it(*found) == []


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("error", ["relative", "scaled"])
@pytest.mark.parametrize("aggregate", ["sum", "mean"])
@pytest.mark.parametrize(("path", "law"), [(SWISS, "laplace:2.5"), (PEDESTRIANS, "laplace:2000")])
def test_totals_of_whole_real_panels(path: Path, law: str, aggregate: str, error: str) -> None:
    """Of everybody, so that only noise differs. On the first days of Melbourne totals are near 0: relative errors of
    single repeats are far apart there, and their mean takes many.
    """
    panel, profile = opened(pl.read_parquet(path))
    assert held_to_it(*both(panel, profile, [law], len(profile), 60, error, aggregate, "total")) == []


@pytest.mark.parametrize("aggregate", ["sum", "mean"])
def test_totals_of_synthetic_homes(tmp_path: Path, aggregate: str) -> None:
    synth(tmp_path / "panel.parquet", users=60, days=20, seed=5)
    panel, profile = opened(pl.read_parquet(tmp_path / "panel.parquet"))
    found = both(panel, profile, TOTALS, 20, 60, aggregate=aggregate, release="total")
    assert held_to_it(*found) == []
    names, right, direct = found
    wrong = right.copy()
    wrong[..., 3] *= 1.5
    assert any("global_mean" in line for line in held_to_it(names, wrong, direct))


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", ["swiss households", "melbourne pedestrians"])
def test_real_data_at_length(name: str) -> None:
    panel, profile = opened(real(name))
    assert held_to_it(*both(panel, profile, SETTINGS, max(2, len(profile) // 5), 200)) == []


@pytest.mark.slow
def test_synthetic_data_at_length(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("synth") / "panel.parquet"
    synth(path, users=80, days=30, seed=5)
    panel, profile = opened(pl.read_parquet(path))
    assert held_to_it(*both(panel, profile, SETTINGS, 20, 200)) == []


def test_a_scale_five_percent_off_is_caught() -> None:
    panel, profile = opened(awkward("heavy tails"))
    names, _, direct = both(panel, profile, ["laplace:0.5", "gaussian:0.5"], 26, 60)
    wrong = Grid.from_settings([PrivacySetting.parse(text) for text in ("laplace:0.525", "gaussian:0.525")])
    broken = evaluate_analytic(profile, wrong, draw_subsets(profile, [26], 60, 1), seed=1)
    assert any("local_mean" in line for line in held_to_it(names, broken, direct))


def test_entropy_without_its_finite_sample_term_is_caught() -> None:
    panel, profile = opened(awkward("one reading a period"))
    names, right, direct = both(panel, profile, ["laplace:0.5", "laplace:3"], 40, 60)
    assert held_to_it(names, right, direct) == []
    n = profile.readings * 40 / 60
    cells = 2.0 ** right[..., 2]
    without = right.copy()
    # the entropy itself exceeds what n errors show by about (occupied cells - 1) / (2 n ln 2) bits
    without[..., 2] += (cells - 1) / (2 * n * np.log(2))
    assert any("local_entropy" in line for line in held_to_it(names, without, direct))
