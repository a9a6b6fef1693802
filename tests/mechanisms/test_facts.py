"""Facts about a mechanism are of its own law: nobody goes by its name, and nothing is inherited from another law."""

import ast
import inspect
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from halfmask.arrays import FloatArray
from halfmask.choice.mixed_groups import noise_sums
from halfmask.evaluation.analytic.global_errors import (
    SubsetTotals,
    global_summaries,
    needs_single_draws,
    standard_sums,
    sums_one_by_one,
)
from halfmask.evaluation.analytic.noise_sums import enough
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms import mechanism_registry as registry
from halfmask.mechanisms.mechanism import Mechanism
from halfmask.mechanisms.mechanism_registry import mechanism, mechanisms, register
from halfmask.mechanisms.ours.laplace import Laplace
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.guarantees.guarantee import guarantee
from halfmask_device.laws import MECHANISMS
from tests.statistics import ks_two_sample, share

SOURCE = Path(__file__).parent.parent.parent / "src" / "halfmask"
PERIODS = 20_000
TESTS = 12
LISTS = ("least_noise.py", "check.py", "promised_levels.py", "recognised_share.py")


class CappedLaplace:
    """Laplace noise of scale 1, cut off at the bound c: |psi| = min(|X|, c)."""

    name = "capped-laplace"
    parameter_names = ("c",)

    def sample(self, parameters: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        return np.clip(rng.laplace(size=size), -parameters[0], parameters[0])

    def cdf(self, parameters: FloatArray, y: FloatArray) -> FloatArray:
        return np.where(y >= parameters[:, :1], 1.0, -np.expm1(-np.maximum(y, 0)))


class CappedHeir(Laplace):
    """The same by inheritance: the sampler and the distribution function are its own, the rest is Laplace's."""

    name = "capped-heir"

    def sample(self, parameters: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        return CappedLaplace().sample(parameters, size, rng)

    def cdf(self, parameters: FloatArray, y: FloatArray) -> FloatArray:
        return CappedLaplace().cdf(parameters, y)

    def moments(self, parameters: FloatArray) -> FloatArray:
        return mechanism("capped-laplace").moments(parameters)


@pytest.fixture
def capped() -> Iterator[list[Mechanism]]:
    before = dict(registry._known)
    yield [register(CappedLaplace), register(CappedHeir)]
    registry._known.clear()
    registry._known.update(before)


def own_sums(law: Mechanism, parameters: FloatArray, n: int, seed: int) -> FloatArray:
    drawn = law.sample(parameters, PERIODS * n, np.random.default_rng(seed))
    return np.asarray(drawn.reshape(PERIODS, n).sum(axis=1))


def totals(n: int) -> SubsetTotals:
    each, ones = np.full(PERIODS, float(n)), np.ones(PERIODS)
    subset = Subset(rows=np.arange(1), size=1, repeat=0, users=1)
    return SubsetTotals(subset, np.stack([each, *[ones] * 4], axis=1), ones, ones, each, 0)


@pytest.mark.parametrize("n", [1, 2, 10])
def test_sums_of_a_plugin_called_capped_laplace_are_those_of_its_own_draws(capped: list[Mechanism], n: int) -> None:
    parameters = np.array([1.0])
    for law in capped:
        assert not law.exact_sums
        least = enough(law.moments(parameters[None]))
        assert needs_single_draws(law, least, totals(n)).all()
        deviation = np.sqrt(n * law.moments(parameters[None])[0, 1])
        own = np.abs(own_sums(law, parameters, n, 1)) / deviation
        drawn = np.abs(sums_one_by_one(law, parameters, deviation / np.sqrt(n), totals(n), 5, least[0]))
        sums = np.repeat([[n, 1.0, 1.0, 1.0, 1.0]], PERIODS, axis=0)
        mixed = noise_sums(PrivacySetting(law.name, (1.0,)), sums, np.random.default_rng(2)) / deviation
        assert ks_two_sample(np.round(drawn, 9), np.round(own, 9), TESTS)
        assert ks_two_sample(np.round(np.abs(mixed), 9), np.round(own, 9), TESTS)
        if n < 10:  # later the central limit theorem makes all sums alike
            laplace = np.abs(standard_sums(mechanism("laplace"), totals(n), seed=5))
            assert not ks_two_sample(laplace, own, TESTS), "Laplace's sums would not do"


def test_kurtosis_of_the_capped_sums_is_their_own(capped: list[Mechanism]) -> None:
    law, parameters, n = capped[0], np.array([1.0]), 1
    second, fourth = law.moments(parameters[None])[0, [1, 3]]
    drawn = sums_one_by_one(law, parameters, float(np.sqrt(second)), totals(n), 9, least=64)
    kurtosis = fourth / second**2
    assert kurtosis < 2 < 6, "and Laplace's own is 6"
    spread = np.sqrt(np.var(drawn**4) / PERIODS) * np.sqrt(2 * np.log(2 / share(TESTS)))
    assert abs(np.mean(drawn**4) - kurtosis) < spread
    assert abs(np.mean(drawn**4) - 6) > spread


def test_a_class_with_a_law_of_its_own_inherits_no_fact(capped: list[Mechanism]) -> None:
    heir = capped[1]
    assert (heir.proven, heir.falling, heir.exact_sums) == (False, False, False)
    assert heir.pure_epsilon((1.0,), 1.0) is None
    assert heir.fisher == math.inf
    assert heir.quantile(np.array([1.0]), np.array([0.5])) is None
    assert heir.sample_sum(np.array([1.0]), np.array([3]), np.random.default_rng(1)) is None
    assert guarantee(PrivacySetting("capped-heir", (1.0,)), 1.0, ()).epsilon is None
    renamed = type("Renamed", (Laplace,), {"name": "renamed"})()
    assert renamed.exact_sums, "another name is not another law"
    assert renamed.pure_epsilon((2.0,), 1.0) == 0.5


def exact_names(tree: ast.AST) -> set[str]:
    """String literals that are a mechanism's name and nothing else."""
    ordinary = {"none", "round", "clip", "uniform"}  # words of the language too; comparisons with them are found below
    names = set(mechanisms()) - ordinary
    found = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            asked = any(isinstance(side, ast.Attribute) and side.attr in ("mechanism", "name") for side in sides)
            found |= {str(s.value) for s in sides if asked and isinstance(s, ast.Constant) and s.value in mechanisms()}
    return found


@pytest.mark.parametrize("room", sorted(p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "mechanisms"))
def test_nobody_asks_for_a_mechanisms_name(room: str) -> None:
    """Except lists of noise to compare."""
    modules = [p for p in (SOURCE / room).rglob("*.py") if p.name not in LISTS]
    found = {str(p.relative_to(SOURCE)): names for p in modules if (names := exact_names(ast.parse(p.read_text())))}
    assert found == {}


def test_nor_does_the_device_outside_of_its_registry() -> None:
    """`laws` has all that is known of each mechanism."""
    device = SOURCE.parent / "halfmask_device"
    modules = [p for p in device.rglob("*.py") if p.parent.name != "laws"]
    assert len(modules) > 20
    found = {p.name: names for p in modules if (names := exact_names(ast.parse(p.read_text())))}
    assert found == {}


def test_a_mechanism_of_devices_is_one_file_in_each_package() -> None:
    """The package's class takes name, parameters and checks from the device's file of the same name."""
    for name, known in MECHANISMS.items():
        law = mechanism(name)
        assert (law.name, law.form, law.parameter_names) == (name, known, known.parameters)
        assert type(law).__module__ == f"halfmask.mechanisms.ours.{name}"
        assert inspect.getsourcefile(known.build) == str(SOURCE.parent / "halfmask_device" / "laws" / f"{name}.py")
    without = {each for each in mechanisms() if mechanism(each).form is None}
    assert without == {"round", "clip", "microaggregate"}, "rules, which devices do not draw"


def test_the_check_finds_a_name() -> None:
    assert exact_names(ast.parse('if law.name == "none": pass')) == {"none"}
    assert exact_names(ast.parse('FAMILY = ("laplace", "x")')) == {"laplace"}
    assert exact_names(ast.parse('print("write laplace:0.5", "none")')) == set()


@pytest.mark.parametrize("text", ["laplace:0.7", "gaussian:2", "logistic:1.3"])
def test_fishers_information_is_that_of_the_density(text: str) -> None:
    setting = PrivacySetting.parse(text)
    y = np.linspace(0, 40 * math.sqrt(setting.variance), 400_001)
    density = np.diff(setting.law.cdf(np.array([setting.parameters]), y)[0]) / np.diff(y)
    slope = np.diff(density) / np.diff(y[1:])
    middle = (density[1:] + density[:-1]) / 2
    of_density = float(np.sum(slope**2 / np.maximum(middle, 1e-300)) * y[1])
    assert of_density * setting.variance == pytest.approx(setting.law.fisher, rel=1e-3)
    assert setting.law.fisher >= 1


EDGES = ("uniform", "sine", "triangular", "staircase", "tabulated", "geometric", "relative-laplace")


@pytest.mark.parametrize("name", EDGES)
def test_noise_with_edges_or_of_no_known_density_has_no_bound_on_what_reports_tell(name: str) -> None:
    assert mechanism(name).fisher == math.inf


SCALABLE = ["laplace:0.7", "sine:0.9,0.3,0,0.5", "gaussian:2", "uniform:3", "staircase:1,2,0.3", "geometric:1,0.5",
            "tabulated:1,0.5,2,1", "relative-laplace:0.4", "none"]  # fmt: skip


@pytest.mark.parametrize("text", SCALABLE)
def test_grown_noise_is_so_many_times_the_noise(text: str) -> None:
    setting = PrivacySetting.parse(text)
    more = setting.grown(7.3)
    row, grown = (np.array([each.parameters]) for each in (setting, more))
    y = np.array([0.1, 0.45, 0.77, 1.3, 2.2])
    np.testing.assert_allclose(more.law.cdf(grown, 7.3 * y), setting.law.cdf(row, y), rtol=1e-9)
    np.testing.assert_allclose(more.law.moments(grown), setting.law.moments(row) * 7.3 ** np.arange(1, 5), rtol=1e-9)


@pytest.mark.parametrize("name", [each for each in mechanisms() if mechanism(each).unit_parameters is not None])
def test_noise_of_a_deviation_has_it(name: str) -> None:
    assert PrivacySetting.of_deviation(name, 0.37).variance == pytest.approx(0.37**2, rel=1e-9)


def test_sums_of_settings_in_common_are_those_of_each_setting() -> None:
    law = mechanism("sine")
    parameters = np.array([[0.9, 0.3, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.5], [0.3, 0.6, 0.9, 1.2, 1.5]])
    moments, some = law.moments(parameters), totals(10)
    found = global_summaries(law, parameters, moments, some, "sum", 5)
    for row, sigma in enumerate(np.sqrt(moments[:, 1])):
        x = sums_one_by_one(law, parameters[row], sigma, some, 5, enough(moments)[row])
        errors = np.abs(x) * sigma
        assert np.allclose(found[row, :2], [errors.mean(), errors.std()], rtol=1e-9)
        assert not np.allclose(found[row - 1, :2], [errors.mean(), errors.std()], rtol=1e-2)
