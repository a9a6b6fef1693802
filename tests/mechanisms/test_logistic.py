"""Logistic noise: its law, its promise, and what a device draws of it."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from halfmask.mechanisms.mechanism_registry import mechanism
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.guarantees.guarantee import guarantee
from halfmask_device.laws.logistic import WIDE, RoundedLogistic
from halfmask_device.setting import law_of
from tests.statistics import ks_one_sample, share

LAW = mechanism("logistic")
DRAWS = 20_000
SCALES = (Fraction(3, 10), Fraction(7, 2), Fraction(2 * WIDE))
TESTS = 2 * len(SCALES)


class SeededBits:
    """The device's source of bits, from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def bits(self, count: int) -> int:
        return self.random.getrandbits(count)

    def below(self, n: int) -> int:
        return self.random.randrange(n)


def test_epsilon_is_the_slope_of_the_log_density() -> None:
    setting = PrivacySetting.parse("logistic:2")
    x = np.linspace(-80, 80, 200_001)

    def log_density(at: np.ndarray) -> np.ndarray:
        return -np.abs(at) / 2 - 2 * np.log1p(np.exp(-np.abs(at) / 2))

    losses = log_density(x) - log_density(x - 3)
    assert np.abs(losses).max() == pytest.approx(1.5, rel=1e-9)
    assert LAW.pure_epsilon((2.0,), 3.0) == 1.5
    found = guarantee(setting, 3.0, ())
    assert found.epsilon == 1.5
    delta = np.maximum(np.exp(log_density(x)) - math.e * np.exp(log_density(x - 3)), 0).sum() * (x[1] - x[0]) / 2
    assert found.delta[1.0] == pytest.approx(delta, rel=1e-3)


@pytest.mark.parametrize("scale", SCALES)
def test_a_device_draws_the_law_and_not_one_a_little_off(scale: Fraction) -> None:
    law = RoundedLogistic(scale)
    law.prepare()
    source = SeededBits(5)
    size = np.abs([law.draw(source) for _ in range(DRAWS)]).astype(float)

    def cdf(y: np.ndarray, factor: float = 1.0) -> np.ndarray:
        whole = np.floor(np.asarray(y) + 1e-12)
        return np.where(whole < 0, 0.0, 1 - np.array([law.beyond((n + 0.5) * factor) for n in whole]))

    assert ks_one_sample(size, cdf, TESTS)
    assert not ks_one_sample(size, lambda y: cdf(y, 1.15), TESTS)


@pytest.mark.parametrize("n", [1, 2, 9])
def test_bounds_and_table_enclose_the_chances(n: int) -> None:
    law = RoundedLogistic(Fraction(7, 2))
    low, high = law.below(n, 64)
    exact = math.tanh((n - 0.5) / 7) * 2**64
    assert low <= high <= low + 2
    assert low == pytest.approx(exact, rel=1e-12)
    law.prepare()
    assert law.table is not None
    assert law.table[n - 1] <= low < law.table[n - 1] + 2**12


LATTICE_LAWS = (
    *("logistic:0.7", "laplace:0.7", "gaussian:0.4", "gaussian:30", "uniform:1.3", "staircase:1,1,0.3"),
    *("sine:0.9,0.3", "tabulated:1,0.5,2,1", "geometric:0.5,0.25"),
)


@pytest.mark.parametrize("text", LATTICE_LAWS)
def test_the_lattice_law_of_a_mechanism_is_that_of_the_device(text: str) -> None:
    setting, device = PrivacySetting.parse(text), law_of(text, "0.25")
    k = np.arange(12)
    chances = setting.law.pmf(setting.parameters, 0.25, k)
    np.testing.assert_allclose(chances, [device.mass(int(each)) for each in k], rtol=1e-9, atol=1e-12)
    tail = setting.law.lattice_tail(setting.parameters, 0.25, k[1:])
    np.testing.assert_allclose(tail, [device.above(int(each)) for each in k[1:]], rtol=1e-4, atol=1e-12)
    variance = setting.law.lattice_variance(setting.parameters, 0.25)
    assert variance == pytest.approx(device.variance / 16, rel=1e-6)
    assert abs(variance - device.variance / 16 * 1.01) > share(TESTS) * variance
