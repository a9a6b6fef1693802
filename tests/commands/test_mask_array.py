"""``halfmask.mask`` of an array: the device's law without a folder, and the continuous law for simulation."""

from collections.abc import Callable

import numpy as np
import pytest

import halfmask
from halfmask.arrays import FloatArray
from halfmask_device import law_of
from tests.refusals import refused
from tests.statistics import ks_one_sample

TESTS = 4
"""Statistical tests of this file."""
N = 40_000


def laplace(scale: float, step: float) -> Callable[[FloatArray], FloatArray]:
    """P(|k| <= x / step) of the geometric law that stands for Laplace noise on the lattice of ``step``."""
    ratio = np.exp(-step / scale)

    def cdf(x: FloatArray) -> FloatArray:
        k = np.floor(x / step + 1e-10)
        return np.where(k < 0, 0.0, 1 - 2 * ratio ** (k + 1) / (1 + ratio))

    return cdf


@pytest.mark.parametrize("step", [None, "0.1"])
def test_reports_of_an_array_have_the_devices_law(step: str | None) -> None:
    reading = 1.2
    reports = halfmask.mask(np.full(N, reading), "laplace:0.5", step=step)
    width = float(step or "0.001")
    steps = reports / width
    assert np.allclose(steps, np.round(steps), atol=1e-6)
    noise = np.abs(np.round(steps) - round(reading / width)) * width  # equal sizes are equal floats
    assert ks_one_sample(noise, laplace(0.5, width), TESTS)
    assert not ks_one_sample(noise, laplace(0.55, width), TESTS)
    assert not ks_one_sample(noise, laplace(0.45, width), TESTS)
    assert abs(np.mean(reports > reading) - np.mean(reports < reading)) < 0.05
    assert law_of("laplace:0.5", step or "0.001").unmasked == pytest.approx(float(laplace(0.5, width)(np.zeros(1))[0]))


def test_two_calls_draw_different_noise() -> None:
    one, two = (halfmask.mask([1.0] * 50, "laplace:0.5") for _ in range(2))
    assert np.mean(one != two) > 0.8


def test_a_generator_gives_the_continuous_law_that_can_be_repeated() -> None:
    readings = np.linspace(0.1, 5, N)
    one, two = (halfmask.mask(readings, "laplace:0.5", rng=np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(one, two)
    noise = np.abs(one - readings)
    assert ks_one_sample(noise, lambda x: 1 - np.exp(-x / 0.5), TESTS)
    assert not ks_one_sample(noise, lambda x: 1 - np.exp(-x / 0.55), TESTS)
    relative = halfmask.mask(readings, "relative-laplace:0.5", rng=np.random.default_rng(3))
    assert np.std(relative / readings) == pytest.approx(np.sqrt(2) * 0.5, rel=0.05)


def test_shape_series_and_missing_values_are_kept() -> None:
    import pandas as pd

    grid = halfmask.mask(np.ones((3, 4)), "uniform:0.5")
    assert grid.shape == (3, 4)
    assert np.all(np.abs(grid - 1) <= 0.5 + 1e-9)
    masked = halfmask.mask(pd.Series([1.0, None, float("inf"), 2.0]), "laplace:0.5")
    assert list(np.isnan(masked)) == [False, True, True, False]
    assert list(halfmask.mask([1, 2, 30], "none", low="0", high="10")) == [1.0, 2.0, 10.0]
    assert halfmask.mask([], "laplace:0.5").shape == (0,)


def test_what_an_array_does_not_take_is_refused() -> None:
    rng = np.random.default_rng(1)
    with refused("option", "setting"):
        halfmask.mask([1.0])
    with refused("option.array", "menu", "state"):
        halfmask.mask([1.0], "laplace:0.5", state="mine", menu="menu.json")
    with refused("option.array", "step"):
        halfmask.mask([1.0], "laplace:0.5", step="0.1", rng=rng)
    with refused("reading.array"):
        halfmask.mask(["one"], "laplace:0.5")
    with refused("setting.unknown"):  # it depends on the reading, so a device has no sampler for it
        halfmask.mask([1.0], "relative-laplace:0.5")
    with refused("option", "state"):
        halfmask.mask("readings.csv", "laplace:0.5", output="masked.csv")
    with refused("option", "rng"):
        halfmask.mask("readings.csv", "laplace:0.5", output="masked.csv", state="mine", rng=rng)
