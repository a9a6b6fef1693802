"""A device's noise has the law that the simulation evaluates, and rejects one that is 10 % off."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from halfmask.errors import SettingError
from halfmask_device import Lattice, noise, outputs
from halfmask_device.exact_samplers import bernoulli_exp, discrete_gaussian, geometric
from halfmask_device.random_bits import Bits
from halfmask_device.setting import MOST_UNMASKED, law_of, unmasked_warning
from tests.device.laws import CASES, LATTICE, OPENDP, TESTS, draws, fits, rounded, simulated
from tests.refusals import refused
from tests.statistics import fair_coin, share

MOST = 400
SOURCE = Bits.fresh()


@pytest.mark.parametrize(("setting", "backend"), CASES)
def test_noise_has_the_law_of_the_simulation(setting: str, backend: str) -> None:
    sample = draws(setting, backend)
    assert fits(sample, simulated(setting, MOST))
    assert fair_coin(int((sample > 0).sum()), int((sample != 0).sum()), TESTS)


@pytest.mark.parametrize(("setting", "backend"), CASES)
@pytest.mark.parametrize("scale", [0.9, 1.1])
def test_a_scale_ten_percent_off_is_rejected(setting: str, backend: str, scale: float) -> None:
    assert not fits(draws(setting, backend), simulated(setting, MOST, scale=scale))


def alike(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Whether two samples of one size can be of one law: given both, counts of a cell are of fair coins (Hoeffding)."""
    counts = [np.bincount(np.clip(each, -60, 60) + 60, minlength=121) for each in (one, other)]
    total = counts[0] + counts[1]
    bound = np.sqrt(total * math.log(2 * len(total) / share(TESTS)) / 2)
    return bool(np.all(np.abs(counts[0] - total / 2) <= bound))


@pytest.mark.parametrize("setting", OPENDP)
def test_both_backends_draw_one_law(setting: str) -> None:
    theirs = draws(setting, "opendp")
    ours = draws(setting, "own")[: len(theirs)]
    other = draws("laplace:0.2" if "gaussian" in setting else "gaussian:0.2", "own")[: len(theirs)]
    assert alike(ours, theirs)
    assert not alike(other, theirs)


def test_small_discrete_laws_have_their_closed_forms() -> None:
    k = np.arange(-6, 7)
    scale, n = Fraction(7, 5), 20_000
    gaussian = np.exp(-(k**2) / (2 * float(scale)))
    sample = np.array([discrete_gaussian(SOURCE, scale) for _ in range(n)])
    assert fits(sample, gaussian / gaussian.sum())
    wrong = np.exp(-(k**2) / (2 * float(scale) * 1.21))
    assert not fits(sample, wrong / wrong.sum())
    beyond = np.exp(-np.arange(12) / float(scale))
    counted = np.array([geometric(SOURCE, 5, 7) for _ in range(n)])
    tail = np.array([(counted >= g).mean() for g in range(12)])
    error = math.sqrt(math.log(2 / share(TESTS)) / (2 * n))
    assert np.max(np.abs(tail - beyond)) <= error < np.max(np.abs(tail - beyond ** (1 / 1.1)))


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_a_coin_of_chance_exp_minus_gamma(gamma: Fraction) -> None:
    n = 20_000
    heads = sum(bernoulli_exp(SOURCE, *gamma.as_integer_ratio()) for _ in range(n)) / n
    error = math.sqrt(math.log(2 / share(TESTS)) / (2 * n))
    assert abs(heads - math.exp(-gamma)) <= error
    assert abs(heads - math.exp(-gamma) * 1.1 - 0.03) > error


def test_uniform_and_table_have_exact_cells() -> None:
    steps = Lattice("1", "0", "9")
    n = 30_000
    uniform = np.array(noise("uniform:0.75", steps, n))
    assert set(uniform.tolist()) == {-1, 0, 1}
    assert fits(uniform, np.array([1, 4, 1]) / 6)
    assert not fits(uniform, np.array([1.1, 3.8, 1.1]) / 6)
    table = np.array(noise("tabulated:1,0,2,1", steps, n))  # |psi| uniform on [1, 2]
    assert set(table.tolist()) == {-2, -1, 1, 2}
    assert fits(np.abs(table) - 1, np.array([0, 1, 1]) / 2)


def test_the_ends_of_a_law_are_where_they_should_be() -> None:
    assert noise("none", LATTICE, 5) == [0] * 5
    assert np.abs(draws("sine:0.5,0.3,0.6,0.2,0.3", "own")).max() == 60  # P(1) = 0.5 + 0.027 + 0.07776 + ... = 0.604...
    assert np.abs(draws("uniform:0.237", "own")).max() == 24
    with refused("setting.unmasked"):
        noise("staircase:900,1,0.001", LATTICE, 2000)  # all but never beyond gamma
    rest = np.array(noise("staircase:900,1,0", LATTICE, 2000))
    assert 80 < np.abs(rest).max() <= 100
    huge = noise("laplace:2e15", LATTICE, 50)
    assert max(map(abs, huge)) > 10**17


@pytest.mark.parametrize(
    "text",
    [
        *("laplace:0", "laplace:1e-9", "gaussian:0.0001", "geometric:0,0.01", "uniform:0.004", "staircase:1,0,0.5"),
        *("sine:0,0", "sine:0,0,0,0.18", "tabulated:0.001,0.5,0.004,1,9,1", "laplace:0.0033", "gaussian:0.002"),
    ],
)
def test_noise_that_leaves_readings_as_they_are_is_refused(text: str) -> None:
    """The paper's own quietest setting, sine:0,0,0,0.18, stays below 0.00001: on 0.01 it hides nothing."""
    with refused("setting.unmasked"):
        noise(text, LATTICE, 1)


@pytest.mark.parametrize("text", ["laplace:0.00002", "gaussian:0.0001"])
def test_noise_whose_reach_hid_that_it_does_nothing_is_refused(text: str) -> None:
    with refused("setting.unmasked"):
        noise(text, Lattice("0.001", "0", "10"), 1)


FORMS = ("laplace:{0}", "gaussian:{0}", "uniform:{0}", "logistic:{0}", "geometric:{0},0.01", "sine:{0}")
FORMS += ("staircase:1,{0},0.3", "tabulated:{0},0.5,0.02,1")


@pytest.mark.parametrize("form", FORMS)
def test_what_is_accepted_leaves_no_more_unmasked_than_stated(form: str) -> None:
    """Over scales around the bound, by the exact P(k = 0) of the law and by what is drawn."""
    accepted = 0
    for size in (0.001, 0.002, 0.0033, 0.0034, 0.0051, 0.01, 0.0199):
        try:
            found = law_of(form.format(size), "0.01")
        except SettingError:
            continue
        found.prepare()
        assert found.unmasked <= MOST_UNMASKED
        unmasked = sum(found.draw(SOURCE) == 0 for _ in range(2000)) / 2000
        assert abs(unmasked - found.unmasked) <= math.sqrt(math.log(2 / share(TESTS)) / 4000)
        accepted += 1
    assert accepted


def test_noise_that_leaves_most_readings_as_they_are_is_warned_of() -> None:
    assert unmasked_warning("laplace:0.005", "0.01") is not None  # P(k = 0) = tanh 1 = 0.76
    assert unmasked_warning("laplace:0.01", "0.01") is None  # tanh 0.5 = 0.46
    assert unmasked_warning("none", "0.01") is None


@pytest.mark.parametrize("text", ["laplace:1e30", "gaussian:1e30", "sine:0,0,0,0,1e300", "staircase:1e-300,1,0.5"])
def test_noise_beyond_64_bits_is_refused(text: str) -> None:
    with refused("setting.reach"):
        noise(text, LATTICE, 1)


def test_outputs_are_the_reading_and_noise() -> None:
    assert outputs("none", LATTICE, "0.517", 3) == [52] * 3
    sample = np.array(outputs("uniform:0.03", LATTICE, 99, 4000))
    assert set(sample.tolist()) == set(range(997, 1004))


def test_geometric_noise_on_a_coarser_step_is_refused() -> None:
    with refused("setting.step"):
        noise("geometric:0.5,0.02", LATTICE, 1)


@pytest.mark.parametrize("x", [1.0, 0.3, 0.05])
def test_discrete_laws_are_as_close_to_the_rounded_ones_as_documented(x: float) -> None:
    lattice = Lattice("1", "0", "2")
    k = np.arange(-3000, 3001)
    for setting, weights, bound in (
        (f"laplace:{1 / x}", np.exp(-np.abs(k) * x), x**2 / 8),
        (f"gaussian:{1 / x}", np.exp(-((k * x) ** 2) / 2), x**2 / 48),
    ):
        distance = 0.5 * np.abs(weights / weights.sum() - rounded(setting, lattice, 3000)).sum()
        assert bound / 2 <= distance <= bound
