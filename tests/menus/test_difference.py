"""The interval of a difference holds, and is not wider than it need be."""

import numpy as np

from halfmask.menus.objective_difference import ObjectiveDifference, UtilitySamples, difference, objective

SIZES = np.repeat([50, 100, 200, 400], 10)


def utilities(rng: np.random.Generator, shift: float = 0.0, scale: float = 0.05) -> np.ndarray:
    """Utility that grows and steadies with the size of the subset."""
    return 0.9 - 3 / SIZES + shift + scale * np.sqrt(50 / SIZES) * rng.standard_normal(len(SIZES))


def test_of_two_alike_few_differ_and_of_two_unlike_most() -> None:
    rng = np.random.default_rng(5)
    for paired in (False, True):
        alike, unlike = [], []
        for _ in range(200):
            one = UtilitySamples(utilities(rng), SIZES)
            other = UtilitySamples(one.utility + 0.01 * rng.standard_normal(len(SIZES)), SIZES) if paired else None
            other = other or UtilitySamples(utilities(rng), SIZES)
            shift = 0.01 if paired else 0.05
            alike.append(difference(one, other, paired=paired).sign)
            unlike.append(difference(UtilitySamples(one.utility + shift, SIZES), other, paired=paired).sign)
        assert np.mean(np.abs(alike)) <= 0.08  # of 200, at a rate of 0.05, more than 16 are seen 4 times of 100
        assert np.mean(np.array(unlike) == 1) > 0.8
        assert -1 not in unlike


def test_signs_and_too_few_samples() -> None:
    one, other = UtilitySamples(np.full(6, 0.9), SIZES[:6]), UtilitySamples(np.full(6, 0.8), SIZES[:6])
    there, back = difference(one, other, paired=True), difference(other, one, paired=True)
    assert (there.sign, back.sign) == (1, -1)
    assert np.isclose(there.value, 0.2)
    assert difference(one, one, paired=True) == ObjectiveDifference(0.0, 0.0, 0.0)
    single = UtilitySamples(np.array([0.9]), np.array([50]))
    assert difference(single, UtilitySamples(np.array([0.1]), np.array([50])), paired=True).low is None
    assert np.isclose(objective(np.linspace(0, 1, 11)), 0.6)
