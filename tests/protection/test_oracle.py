"""The composition of many reports beside another program's: privacy loss distributions of dp-accounting."""

import math

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.guarantees.guarantee import guarantee
from halfmask_device import law_of

DELTA = 1e-6


def others(setting: str, step: str, steps: int, reports: int, *, pessimistic: bool) -> float:
    """Epsilon at `DELTA` of so many reports, from above or from below."""
    law = law_of(setting, step)
    most = law.furthest(1e-18) + steps
    upper = {k: law.mass(k) for k in range(-most, most + 1)}
    moved = {k + steps: mass for k, mass in upper.items()}
    one = pld.from_two_probability_mass_functions(
        {k: math.log(mass) for k, mass in moved.items() if mass > 0},
        {k: math.log(mass) for k, mass in upper.items() if mass > 0},
        pessimistic_estimate=pessimistic,
        value_discretization_interval=1e-4,
    )
    return float(one.self_compose(reports).get_epsilon_for_delta(DELTA))


@pytest.mark.parametrize("reports", [1, 48])
@pytest.mark.parametrize("setting", ["laplace:4", "gaussian:3", "laplace:1"])
def test_another_program_finds_the_same_epsilon(setting: str, reports: int) -> None:
    made = guarantee(PrivacySetting.parse(setting), 1.0, step=0.1)
    found = made.epsilon_at(DELTA, reports)
    assert found is not None
    low = others(setting, "0.1", 10, reports, pessimistic=False)
    high = others(setting, "0.1", 10, reports, pessimistic=True)
    assert low * (1 - 1e-6) <= found <= high * 1.01 + 1e-3
    assert not low <= 0.95 * found <= high
