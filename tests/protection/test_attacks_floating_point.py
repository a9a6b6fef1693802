"""Low bits: what a double shows of the value, and what a lattice does not."""

import numpy as np
import pytest

from halfmask.protection.attacks.floating_point import (
    BITS,
    explained,
    float_report,
    floating_point,
    meter_unit,
)
from tests.protection.attack_cases import evidence_of, homes, household_population, setting
from tests.statistics import ks_one_sample

SETTINGS = [
    "laplace:0.5",
    "relative-laplace:0.3",
    "gaussian:0.5",
    "relative-gaussian:0.3",
    "uniform:1",
    "sine:0.9,0.3,0.6",
    "tabulated:0.5,0.3,1,1",
    "geometric:0.5,0.01",
]
EVIDENCE = evidence_of(homes(6, 2), household_population())


def reports(text: str, count: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    value = np.rint(1000 * rng.lognormal(-0.7, 0.8, count) + 1) / 1000
    return value, float_report(setting(text))(value, rng.integers(1, 2**BITS, count))


@pytest.mark.parametrize("text", SETTINGS)
def test_the_true_value_is_never_ruled_out(text: str) -> None:
    value, seen = reports(text)
    within, possible = explained(float_report(setting(text)), value, seen)
    assert within.all()
    assert possible.all()


@pytest.mark.parametrize("text", SETTINGS)
def test_the_samplers_have_the_law_of_the_setting(text: str) -> None:
    each = setting(text)
    k = np.random.default_rng(2).integers(1, 2**BITS, 50_000)
    psi = each.law.quantile(np.array(each.parameters), k.astype(float) * 2.0**-BITS)
    parameters = np.array(each.parameters)[None]
    assert ks_one_sample(np.abs(psi), lambda y: each.law.cdf(parameters, y)[0], 2 * len(SETTINGS))
    assert not ks_one_sample(np.abs(psi), lambda y: each.law.cdf(parameters, y * 1.1)[0], 2 * len(SETTINGS))
    assert abs(np.mean(psi > 0) - np.mean(psi < 0)) < 0.03


@pytest.mark.parametrize(("text", "least"), [("laplace:1", 0.4), ("gaussian:1", 0.3), ("sine:1.2,0.3,1.2", 0.4)])
def test_doubles_rule_neighbours_out(text: str, least: float) -> None:
    found = floating_point(setting(text), EVIDENCE, np.random.default_rng(3))
    assert found.value is not None
    assert found.value > least
    assert found.baseline == 0
    assert "inversion" in found.details["sampler"]


def test_a_lattice_rules_nobody_out() -> None:
    """Values and noise that are multiples of 1/1024 add without rounding, so all gaps close."""
    whole = float_report(setting("laplace:0.5"))

    def on_lattice(value: np.ndarray, k: np.ndarray) -> np.ndarray:
        noise = np.rint(whole(np.zeros(np.shape(value)), k) * 1024) / 1024
        return np.asarray(value + noise)

    rng = np.random.default_rng(4)
    value = rng.integers(1, 2000, 3000) / 1024
    seen = on_lattice(value, rng.integers(1, 2**BITS, 3000))
    within, possible = explained(on_lattice, value + 1 / 1024, seen)
    assert within.all()
    assert possible.all()
    assert not explained(on_lattice, value + 1 / 2048, seen)[1].any()


def test_the_bound_of_bounded_noise_is_counted_apart() -> None:
    found = floating_point(setting("uniform:0.01"), EVIDENCE, np.random.default_rng(5))
    unit = meter_unit(EVIDENCE.population)
    assert found.details["beyond_the_bound"] == pytest.approx(unit / 0.02, rel=0.2)
    assert found.details["outputs"] < 4096


def test_the_unit_writes_a_typical_reading_with_three_digits() -> None:
    assert meter_unit(household_population()) == pytest.approx(0.001)


@pytest.mark.parametrize("text", ["none", "round:1", "staircase:1,1,0.5", "uniform:0.0001"])
def test_what_it_cannot_do_it_says(text: str) -> None:
    found = floating_point(setting(text), EVIDENCE, np.random.default_rng(1))
    assert found.value is None
    assert found.words.startswith(("Does not apply", "Not measured"))
