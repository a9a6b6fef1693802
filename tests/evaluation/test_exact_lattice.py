"""The local entropy of lattice noise against its definition, computed with whole numbers, so that nothing is rounded.

Nothing here uses the package but to get the answer that is checked.
"""

from collections.abc import Iterator
from math import sqrt
from statistics import fmean

import numpy as np
import pytest

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.analytic.evaluate_analytic import evaluate_analytic
from halfmask.evaluation.analytic.reading_values import reading_step, with_means
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting
from tests.evaluation import brute
from tests.evaluation.same_answer import opened

LOCAL_ENTROPY = METRICS.index("local_entropy")
OFF = 0.01  # bits that an entropy may be off


def exact_entropies(tenths: IntArray, b: float, step: int, repeats: int) -> Iterator[float]:
    """Plug-in entropies, in bins of 0.001, of the local errors of readings with one decimal under geometric noise.

    Readings and ``step`` are in tenths: |psi| / |s| is a fraction of whole numbers, and its bin is exact.
    """
    rng, go_on = np.random.default_rng(3), -np.expm1(-step / 10 / b)
    size = np.abs(tenths[tenths != 0])
    for _ in range(repeats):
        noise = step * np.abs(rng.geometric(go_on, size.size) - rng.geometric(go_on, size.size))
        counts = np.unique(1000 * noise // size, return_counts=True)[1]
        share = counts / size.size
        yield float(-(share * np.log2(share)).sum())


def degrees(users: int, level: float, apart: float, swing: float, spread: float) -> FloatArray:
    """Hourly temperatures of two weeks, with one decimal."""
    rng, hours = np.random.default_rng(72), np.arange(14 * 24)
    mean = level + rng.normal(0, apart, (users, 1)) + swing * np.sin(2 * np.pi * hours / 24)
    return np.round(mean + rng.normal(0, spread, mean.shape), 1).reshape(users, 14, 24)


@pytest.mark.parametrize(("b", "step"), [(2.0, 5), (5.0, 10)])
@pytest.mark.parametrize(
    ("values", "repeats"),
    [
        pytest.param(degrees(40, 12, 3, 6, 2), 300, id="outdoors"),
        pytest.param(degrees(40, 20, 0.3, 0, 0.3), 300, id="one room"),
        pytest.param(degrees(40, 37, 0.3, 0, 0.3), 300, id="warm"),
        pytest.param(degrees(4, 4, 3, 4, 1), 2400, id="four users"),
    ],
)
def test_lattice_noise_on_temperatures_has_the_entropy_of_its_definition(
    values: FloatArray, repeats: int, b: float, step: int
) -> None:
    _, profile = opened(brute.panel(values))
    grid = Grid.from_settings([PrivacySetting("geometric", (b, step / 10))])
    everybody = np.arange(len(values))
    subsets = [Subset(len(values), repeat, everybody, len(values)) for repeat in range(repeats)]
    found = evaluate_analytic(profile, grid, subsets, seed=5)[0, :, LOCAL_ENTROPY]
    right = list(exact_entropies(np.rint(10 * values).astype(np.int64), b, step, repeats))
    assert np.hypot(found.std(), np.std(right)) / sqrt(repeats) < OFF / 5
    assert abs(found.mean() - fmean(right)) < OFF
    assert found.std() == pytest.approx(np.std(right), rel=0.3)


def test_one_decimal_shows_however_narrow_the_range() -> None:
    """No bin of the profile has one multiple of the step alone, and the density falls within each bin."""
    for values in (degrees(40, 20, 0.3, 0, 0.3), degrees(40, 37, 0.3, 0, 0.3)):
        assert reading_step(opened(brute.panel(values))[1]) == pytest.approx(0.1)
    anywhere = degrees(40, 20, 0.3, 0, 0.3) + np.random.default_rng(73).uniform(-0.05, 0.05, (40, 14, 24))
    assert reading_step(opened(brute.panel(anywhere))[1]) is None


@pytest.mark.parametrize("count", [2, 3, 10, 256])
def test_shares_of_multiples_give_each_bin_its_mean(count: int) -> None:
    rng = np.random.default_rng(75)
    values = 10.0 * np.arange(1, 201)[:, None] + np.linspace(0, 0.1, count)
    means = (rng.dirichlet(np.full(count, 0.5), 200) * values).sum(axis=1)
    even = np.full(values.shape, 1 / count)
    place = np.repeat(np.arange(200), count)
    share = with_means(place, values.ravel(), even.ravel(), means).reshape(values.shape)
    assert (share >= 0).all()
    np.testing.assert_allclose(share.sum(axis=1), 1)
    np.testing.assert_allclose((share * values).sum(axis=1), means, atol=1e-6)
    same = with_means(place, values.ravel(), even.ravel(), values.mean(axis=1))
    np.testing.assert_allclose(same, even.ravel(), rtol=1e-6)
