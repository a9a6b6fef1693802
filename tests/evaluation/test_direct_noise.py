"""The compiled draws have the laws they should, and the streams are apart."""

import numpy as np
import pytest

from halfmask.arrays import FloatArray
from halfmask.evaluation.direct.masked_sample import PIECE, NoiseStream, mask_piece
from halfmask.mechanisms.setting import PrivacySetting
from tests.statistics import fair_coin, ks_one_sample, share

DRAWS = 2**21
SETTINGS = ("laplace:0.7", "sine:0.9", "sine:0.5,0,0.8", "gaussian:2")
TESTS = 2 * len(SETTINGS) + 2


def draws(text: str, block: int = 0) -> FloatArray:
    """Noise of one stream, piece by piece as the direct method draws it."""
    setting, stream = PrivacySetting.parse(text), NoiseStream(7, 1, 50, 0, block)
    out = np.empty(DRAWS)
    for start in range(0, DRAWS, PIECE):
        mask_piece(setting, np.zeros(PIECE), stream, out[start : start + PIECE])
    return out


@pytest.mark.parametrize("text", SETTINGS)
def test_draws_have_the_law_of_the_mechanism(text: str) -> None:
    setting = PrivacySetting.parse(text)
    parameters = np.array([setting.parameters])
    noise = draws(text)

    def cdf(y: FloatArray, scale: float = 1.0) -> FloatArray:
        return setting.law.cdf(parameters, y / scale)[0]

    assert ks_one_sample(np.abs(noise), cdf, TESTS)
    assert not ks_one_sample(np.abs(noise), lambda y: cdf(y, 1.02), TESTS)
    assert fair_coin(int((noise > 0).sum()), DRAWS, TESTS)


def test_the_tail_of_the_laplace_law_is_there() -> None:
    """Beyond the ziggurat's last layer, at 7.7 scales, as elsewhere."""
    sizes = np.abs(draws("laplace:1"))
    far = sizes[sizes > 7.7] - 7.7
    assert ks_one_sample(far, lambda y: -np.expm1(-y), TESTS)
    expected = DRAWS * np.exp(-7.7)
    assert abs(len(far) - expected) < np.sqrt(2 * expected * np.log(2 / share(TESTS)))


def test_sizes_signs_and_neighbours_are_uncorrelated_and_streams_differ() -> None:
    noise, other = draws("laplace:1"), draws("laplace:1", block=1)
    bound = np.sqrt(2 * np.log(2 / share(TESTS)) / DRAWS) * 3  # heavier tails than normal
    sizes, signs = np.abs(noise), np.sign(noise)
    pairs = {
        "size and sign": (sizes, signs),
        "next size": (sizes[:-1], sizes[1:]),
        "next sign": (signs[:-1], signs[1:]),
    }
    pairs["streams"] = (noise, other)
    for name, (one, two) in pairs.items():
        assert abs(np.corrcoef(one, two)[0, 1]) < bound, name
    assert abs(np.corrcoef(sizes, sizes + 50 * signs)[0, 1]) > bound


def test_relative_noise_and_pieces() -> None:
    setting, values = PrivacySetting.parse("relative-laplace:0.5"), np.linspace(1, 3, 1000)
    whole, parts = np.empty(1000), np.empty(1000)
    mask_piece(setting, values, NoiseStream(7, 1, 50, 0, 0), whole)
    stream = NoiseStream(7, 1, 50, 0, 0)
    mask_piece(setting, values[:300], stream, parts[:300])
    mask_piece(setting, values[300:], stream, parts[300:])
    np.testing.assert_array_equal(whole, parts)
    plain = np.empty(1000)
    mask_piece(PrivacySetting.parse("laplace:0.5"), np.zeros(1000), NoiseStream(7, 1, 50, 0, 0), plain)
    np.testing.assert_allclose(whole, values * (1 + plain))
