"""One contract for every mechanism with a noise law, at ordinary and at extreme parameters."""

from typing import Any

import numpy as np
import pytest

from halfmask.arrays import FloatArray
from halfmask.mechanisms import mechanism_registry as registry
from halfmask.mechanisms.mechanism import Mechanism
from halfmask.mechanisms.mechanism_registry import mechanisms, register
from halfmask.mechanisms.ours.laplace import Laplace
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.testing import check_mechanism
from tests.statistics import ks_two_sample

DRAWS = 2**16
UNITS = 4  # pieces into which one lattice step is cut for quadrature

# A setting, and the spacing of the points at which its law bends or jumps (0: it is smooth).
SETTINGS = {
    "laplace:1": 0,
    "laplace:0.001": 0,
    "laplace:1e-250": 0,
    "laplace:1e70": 0,
    "sine:1": 0,
    "sine:0,0.18,0,0,0": 0,
    "sine:0.9,0.3,0.6,0.6,0.3": 0,
    "sine:1.8,1.8,1.8,1.8,1.8": 0,
    "sine:0,0,0,0,0.03": 0,
    "sine:1e-30,0,1": 0,
    "sine:0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8": 0,
    "gaussian:0.5": 0,
    "gaussian:1e-60": 0,
    "uniform:2": 0,
    "triangular:2": 0,
    "logistic:0.7": 0,
    "logistic:1e-200": 0,
    "staircase:1,1,0.5": 1,
    "staircase:0.2,3,0.25": 3,
    "staircase:2,1,0": 1,
    "staircase:2,1,1": 1,
    "staircase:900,2,0.25": 2,
    "geometric:1,0.5": 0.5,
    "geometric:0.5,1": 1,
    "geometric:3,0.1": 0.1,
    "relative-laplace:0.3": 0,
    "relative-gaussian:2": 0,
    "tabulated:1,0.5,2,1": 1,
    "tabulated:1,0,2,0.25,5,0.25,6,1": 1,
}
SUMMED = ["laplace:2", "gaussian:0.5", "geometric:1,0.5", "geometric:0.5,1", "geometric:3,0.1", "relative-laplace:1"]
STILL = [
    "none",
    "laplace:0",
    "sine:0",
    "sine:0,0,0",
    "gaussian:0",
    "uniform:0",
    "triangular:0",
    "logistic:0",
    "staircase:1,0,0.5",
    "geometric:0,1",
]
EXTREME = [
    *(
        f"{of}:{scale}"
        for of in ("laplace", "gaussian", "uniform", "triangular", "sine", "logistic", "relative-laplace")
        for scale in ("1e-300", "1e300")
    ),
    "sine:1e300,1e300,1e300",
    "sine:1e-300,1e-300",
    "sine:0,0,0,0,1e60",
    "sine:1e-200,0,1e40",
    "staircase:1e-300,1e300,0.5",
    "staircase:1e300,1e-300,0",
    "staircase:1e300,1e300,1",
    "geometric:1e300,1e-300",
    "geometric:1e-300,1e300",
    "geometric:1e300,1e300",
    "geometric:1,1e-300",
    "tabulated:1e-300,0.5,1e300,1",
]
TESTS = 4 * len(SUMMED)  # statistical tests of this suite, for its false-alarm rate


def law(text: str) -> tuple[Mechanism, FloatArray]:
    setting = PrivacySetting.parse(text)
    return setting.law, np.array([setting.parameters])


def draws(text: str, seed: int, size: int = DRAWS) -> FloatArray:
    of, parameters = law(text)
    return of.sample(parameters[0], size, np.random.default_rng(seed))


def test_every_mechanism_with_a_law_is_in_this_suite() -> None:
    covered = {text.partition(":")[0] for text in [*SETTINGS, *STILL]}
    assert set(mechanisms()) - covered == {"round", "microaggregate", "clip"}


@pytest.mark.parametrize("text", [*SETTINGS, "round:0.5", "microaggregate:2", "clip:0,1", "clip:0,1/laplace:1"])
def test_every_mechanism_keeps_the_contract(text: str) -> None:
    check_mechanism(text)


CDF, MOMENTS, SUMS = Laplace.cdf, Laplace.moments, Laplace.sample_sum
FAULTS: dict[str, dict[str, Any]] = {
    "scale": {"sample": lambda _, p, size, rng: 1.1 * rng.laplace(0, p[0], size)},
    "one side": {"sample": lambda _, p, size, rng: np.abs(rng.laplace(0, p[0], size))},
    "shape": {"sample": lambda _, __, size, ___: np.zeros(size + 1)},
    "moments": {"moments": lambda law, p: 1.1 * MOMENTS(law, p)},
    "support": {"support": lambda _, p: p[:, 0]},
    "falls": {"cdf": lambda law, p, y: 1 - CDF(law, p, y)},
    "one row": {"cdf": lambda law, p, y: CDF(law, p[:1], y)},
    "sums": {"sample_sum": lambda law, p, n, rng: 1.2 * SUMS(law, p, n, rng)},
    "kind": {"mask": lambda _, p, values, rng: values * (1 + rng.laplace(0, p[0], values.shape))},
    "missing": {"mask": lambda _, __, values, ___: np.nan_to_num(values)},
    "state": {"mask": lambda _, __, values, ___: values + np.random.default_rng().random(values.shape)},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_mechanism_with_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Laplace noise with one method replaced."""
    check_mechanism("laplace:0.7")
    for name, wrong in FAULTS[fault].items():
        monkeypatch.setattr(Laplace, name, wrong)
    with pytest.raises((AssertionError, ValueError)):
        check_mechanism("laplace:0.7")


def test_a_law_that_is_estimated_is_not_held_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_known", dict(registry._known))

    class Shifted:
        name = "shifted"

        def sample(self, parameters: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
            return parameters[0] + rng.random(size)

    register(Shifted)
    check_mechanism("shifted:1")


def quadrature(of: Mechanism, parameters: FloatArray, spacing: float) -> FloatArray:
    """E|psi|^k = integral of k y^(k-1) (1 - F(y)) dy, on pieces that end where the law bends, or else on
    y = end sin^2(pi t / 2), which smooths the root that the sine law has at its end."""
    end = float(of.support(parameters)[0])
    if not np.isfinite(end):
        end = float(of.moments(parameters)[0, 0])
        while of.cdf(parameters, np.array([end]))[0, 0] < 1:
            end *= 1.5
    nodes, weights = np.polynomial.legendre.leggauss(12)
    count = int(np.ceil(end / spacing)) * UNITS if spacing else 400
    t = ((np.arange(count)[:, None] + (nodes + 1) / 2) / count).ravel()
    dt = np.tile(weights / 2, count) / count
    if spacing:
        y, dy = t * count * spacing / UNITS, dt * count * spacing / UNITS
    else:
        y, dy = end * np.sin(np.pi * t / 2) ** 2, end * np.pi / 2 * np.sin(np.pi * t) * dt
    beyond = 1 - of.cdf(parameters, y)[0]
    return np.array([np.sum(k * y ** (k - 1) * beyond * dy) for k in range(1, 5)])


@pytest.mark.parametrize(("text", "spacing"), SETTINGS.items())
def test_moments_are_those_of_the_cdf(text: str, spacing: float) -> None:
    of, parameters = law(text)
    moments = of.moments(parameters)
    assert moments.shape == (1, 4)
    np.testing.assert_allclose(moments[0], quadrature(of, parameters, spacing), rtol=1e-9)


@pytest.mark.parametrize("text", [*SETTINGS, *STILL])
def test_many_settings_at_once_are_the_settings_one_by_one(text: str) -> None:
    of, parameters = law(text)
    rows = np.repeat(parameters, 3, axis=0)
    own = np.array([[0.1, 1.0, 2.0], [2.0, 0.5, 0.0], [-1.0, 1e9, 0.3]])
    together = of.cdf(rows, own)
    assert together.shape == (3, 3)
    for s in range(3):
        np.testing.assert_allclose(together[s], of.cdf(parameters, own[s])[0], rtol=1e-13)
    assert of.cdf(rows, own[0]).shape == (3, 3)
    assert of.moments(rows).shape == (3, 4)
    assert of.support(rows).shape == (3,)


@pytest.mark.parametrize("text", STILL)
def test_scale_zero_is_no_noise(text: str) -> None:
    of, parameters = law(text)
    assert of.cdf(parameters, np.array([-1.0, 0.0, 1e-300, 1.0])).tolist() == [[0, 1, 1, 1]]
    assert not of.moments(parameters).any()
    assert of.support(parameters).tolist() == [0]
    assert not draws(text, seed=1, size=100).any()
    total = of.sample_sum(parameters[0], np.array([0, 3, 10**6]), np.random.default_rng(1))
    assert total is None or total.tolist() == [0, 0, 0]


@pytest.mark.parametrize("text", EXTREME)
def test_extreme_parameters_give_numbers(text: str) -> None:
    of, parameters = law(text)
    y = np.array([0.0, 1e-320, 1e-300, 1e-10, 1.0, 1e10, 1e299, 1e308])
    inside = np.linspace(0.1, 1, 50) * np.minimum(of.support(parameters), 1e300)
    values = of.cdf(parameters, np.concatenate([y, inside]))
    assert np.all((values >= 0) & (values <= 1))
    assert np.all(np.diff(values[0, : len(y)]) >= 0)
    moments = of.moments(parameters)
    assert not np.isnan(moments).any()
    assert np.all(moments >= 0)
    psi = draws(text, seed=3, size=1000)
    assert not np.isnan(psi).any()
    assert not np.isnan(of.mask(parameters[0], np.array([0.5, -3.0]), np.random.default_rng(1))).any()
    total = of.sample_sum(parameters[0], np.array([1, 1000]), np.random.default_rng(1))
    assert total is None or not np.isnan(total).any()


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("text", SUMMED)
def test_sum_of_n_is_the_sum_of_n_draws(text: str, n: int) -> None:
    of, parameters = law(text)
    size = 2**16
    exact = of.sample_sum(parameters[0], np.full(size, n), np.random.default_rng(21))
    assert exact is not None
    added = np.zeros(size)
    rng = np.random.default_rng(22)
    for _ in range(n):
        added += of.sample(parameters[0], size, rng)
    lattice = 1e-6  # sums in another order differ in their last bits; both go to the same point
    one, other = (np.abs(np.round(each / lattice) * lattice) for each in (exact, added))
    assert ks_two_sample(one, other, TESTS)
    assert not ks_two_sample(1.15 * one, other, TESTS)
