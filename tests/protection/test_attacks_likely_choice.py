"""The conditional logit finds the factors that choices were drawn with, and stays at its start without choices."""

import numpy as np
import pytest

from halfmask.arrays import BoolArray, FloatArray
from halfmask.protection.attacks.likely_choice import learned_factors

FACTORS = np.array([1.0, -2.0, 0.0])
NOTHING = np.zeros(3)


def drawn(choices: int, options: int, seed: int) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Features, choices by Gumbel noise, and options of which a fifth is missing."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((choices, options, len(FACTORS)))
    held = rng.random((choices, options)) < 0.8
    held[:, 0] = True
    score = np.where(held, x @ FACTORS + rng.gumbel(size=held.shape), -np.inf)
    return x, np.eye(options)[score.argmax(axis=1)], held


def test_the_factors_of_the_choices_are_found() -> None:
    """Within five standard errors, about 0.1 for 4,000 choices; factors a quarter larger are not."""
    found = learned_factors(*drawn(4000, 6, 1), NOTHING, 1e-6)
    assert np.abs(found - FACTORS).max() < 0.15
    assert np.abs(found - 1.25 * FACTORS).max() > 0.15


def test_a_large_ridge_keeps_the_start() -> None:
    x, chosen, held = drawn(200, 6, 2)
    start = np.array([0.5, 0.5, 0.5])
    assert learned_factors(x, chosen, held, start, 1e6) == pytest.approx(start, abs=1e-3)


def test_missing_options_and_units_do_not_matter() -> None:
    x, chosen, held = drawn(500, 6, 3)
    wild = np.where(held[:, :, None], x, 1e6)
    assert learned_factors(wild, chosen, held, NOTHING, 1e-3) == pytest.approx(
        learned_factors(x, chosen, held, NOTHING, 1e-3)
    )
    assert 100 * learned_factors(100 * x, chosen, held, NOTHING, 1e-3) == pytest.approx(
        learned_factors(x, chosen, held, NOTHING, 1e-3), rel=1e-6
    )
