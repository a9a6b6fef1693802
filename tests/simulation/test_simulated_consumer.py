"""The consumer learns a price from counts of producers who choose once and for all, with an interval that holds."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from halfmask.rewards.asked_panel import AskedPanel
from halfmask.rewards.choice_model import ChoiceModel
from halfmask.simulation.simulated_consumer import SimulatedConsumer
from tests.statistics import FALSE_ALARM

PRIVACY = np.array([0.33, 0.40, 0.48, 0.62, 0.0])
NOISE = np.array([0.2, 0.5, 1.0, 2.1, 0.0])
DAYS = 5
TRUTHS = [(1.0, 0.5, 1.0), (3.0, 0.6, 1.0), (3.0, 0.3, 1.0)]
"""Worth, money and spread of the producers, of whom a unit of privacy is worth 2, 5 and 10 to the average one."""


def learned(people: int, worth: float, money: float, spread: float, seed: int) -> ChoiceModel:
    """What the consumer learns on its first days, from producers as a simulation has them."""
    rng = np.random.default_rng(seed)
    panel = AskedPanel(people, 48, 0.6, NOISE**2)
    consumer = SimulatedConsumer(tuple("ABCDN"), PRIVACY, panel, 1e6, 6, DAYS, rng, lambda _: None)
    own = -1.0 + (worth + spread * rng.standard_normal(people))[:, None] * PRIVACY
    own, out = own + rng.gumbel(size=own.shape), rng.gumbel(size=people)
    for rewards in consumer.first():
        value = own + money * np.array(list(rewards.values()), float)
        taken = np.bincount(value.argmax(axis=1)[value.max(axis=1) > out], minlength=len(PRIVACY))
        consumer.observe(rewards, dict(zip(consumer.ids, taken.tolist(), strict=True)))
    found = consumer.learn()
    assert found is not None
    return found


def holds(model: ChoiceModel, price: float) -> bool:
    _, low, high = model.price_of_privacy()
    return low <= price <= high


@pytest.mark.parametrize(("worth", "money"), [(3.0, 0.6), (3.0, 0.3)])
def test_producers_who_differ_do_not_bias_what_is_learned(worth: float, money: float) -> None:
    """Fitted as if all were alike, a unit of privacy would seem worth an eighth less."""
    found = learned(20_000, worth, money, 3.0, seed=1)
    assert holds(found, worth / money)
    assert not holds(found, 0.875 * worth / money)


@pytest.mark.slow
def test_the_interval_holds_the_truth_as_often_as_it_says_and_one_too_narrow_does_not() -> None:
    """Too narrow: as if every choice were of another producer, which makes the covariance `DAYS` times smaller."""
    held, narrow, far, studies = 0, 0, 0, 0
    for worth, money, spread in TRUTHS:
        for seed in range(80):
            found, price = learned(300, worth, money, spread, seed), worth / money
            apart = tuple(tuple(each / DAYS for each in row) for row in found.covariance or ())
            held += holds(found, price)
            narrow += holds(replace(found, covariance=apart), price)
            far += holds(found, 3 * price)
            studies += 1
    least = binom.ppf(FALSE_ALARM, studies, 0.95)
    assert held >= least
    assert narrow < least
    assert far < 0.5 * studies
