"""The contract of a mechanism, as a check that authors of plug-ins run on each of their settings."""

import math
from collections.abc import Callable

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.estimated import integrate_moments
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.streams import stream

DRAWS = 2**16
TESTS = 5
"""Statistical tests per setting, which share the rate of false alarms."""
CLOSE = 0.03
"""Relative tolerance of moments, because an integral over a distribution function with jumps is only right to 2 %."""
VALUES = np.array([[2.0, -4.0, np.nan], [0.0, 10.0, 0.25]])


def check_mechanism(text: str, seed: int = 1, false_alarm: float = 1e-6) -> None:
    """Raise an AssertionError unless a setting's mechanism keeps the contract of `halfmask.mechanisms.mechanism`.

    ``text``         the setting, such as ``tent:0.5``; its noise should be of ordinary size, not 0
    ``false_alarm``  probability that a correct mechanism fails

    Every setting must survive as text, keep the shape of values and missing ones, and mask alike with equal seeds. The
    draws of a noise law must follow its `cdf`, and moments, support and sums must be those of the same law. Symmetry is
    only required of laws that are `proven`, and nothing is compared with a law that is itself estimated from draws.
    """
    setting = PrivacySetting.parse(text)
    _require(PrivacySetting.parse(str(setting)) == setting, f"{text} does not come back from its text {setting}")
    _check_masking(setting, seed)
    if setting.kind == "direct":
        return
    draws = setting.sample(DRAWS, stream(seed, "testing.mechanism"))
    _require(draws.shape == (DRAWS,), f"sample returns shape {draws.shape}, asked for {(DRAWS,)}")
    _require(bool(np.isfinite(draws).all()), "sample returns numbers that are not finite")
    slack = math.sqrt(math.log(2 * TESTS / false_alarm) / (2 * DRAWS))
    if setting.law.proven:
        _require(_symmetric(draws, slack), "draws are not symmetric around 0")
    if not setting.law.estimated:
        _check_law(setting, draws, slack)
    _check_sums(setting, seed, slack)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def _check_masking(setting: PrivacySetting, seed: int) -> None:
    """Check that missing values and shapes are kept, equal seeds give equal reports, and noise enters by its kind."""
    masked, again = (setting.mask(VALUES, stream(seed, "testing.mechanism")) for _ in range(2))
    _require(masked.shape == VALUES.shape, f"mask returns shape {masked.shape}, asked for {VALUES.shape}")
    _require(bool((np.isnan(masked) == np.isnan(VALUES)).all()), "mask makes values missing, or missing ones not")
    _require(np.array_equal(masked, again, equal_nan=True), "mask depends on more than values and the generator")
    if setting.kind != "direct" and setting.inner is None:
        psi = setting.sample(VALUES.size, stream(seed, "testing.mechanism")).reshape(VALUES.shape)
        expected = VALUES * (1 + psi) if setting.kind == "relative" else VALUES + psi
        _require(np.allclose(masked, expected, equal_nan=True), f"mask is not {setting.kind} noise from sample")


def _check_law(setting: PrivacySetting, draws: FloatArray, slack: float) -> None:
    """Check the stated law: its distribution function fits the draws, and so do its moments and support.

    One row of parameters and many must give equal results.
    """
    law, row, mean = setting.law, np.array([setting.parameters]), float(setting.moments[0])
    y = np.concatenate([[-np.inf, -mean, 0], mean * np.logspace(-12, 4, 500), [np.inf]])
    chances = setting.cdf(y)
    rising = bool((np.diff(chances) >= -1e-15).all())
    _require(rising and list(chances[[0, 1, -1]]) == [0, 0, 1], "cdf does not rise from 0 to 1")
    _require(_follows(np.abs(draws), setting.cdf, slack), "draws do not follow cdf")
    _require(not _follows(np.abs(draws), lambda size: setting.cdf(size / 1.1), slack), "cdf is too coarse to be tested")
    _require(np.allclose(setting.moments, integrate_moments(law, row)[0], rtol=CLOSE), "moments are not those of cdf")
    _require(math.isinf(setting.support) or setting.cdf(np.array([setting.support]))[0] == 1, "cdf(support) is below 1")
    rows, some = np.repeat(row, 3, axis=0), mean * np.array([0.1, 1.0, 2.0])
    alike = (law.cdf(rows, each) for each in (some, np.tile(some, (3, 1))))
    expected = np.tile(setting.cdf(some), (3, 1))
    same = (each.shape == (3, 3) and np.allclose(each, expected, rtol=1e-13) for each in alike)
    _require(all(same), "cdf of many rows differs from one row's")
    _require(law.moments(rows).shape == (3, 4) and law.support(rows).shape == (3,), "moments or support lack rows")


def _check_sums(setting: PrivacySetting, seed: int, slack: float) -> None:
    """Check that sums of seven draws from `sample_sum`, if it is stated, have the law of added draws."""
    n, size = 7, DRAWS // 4
    exact = setting.law.sample_sum(np.array(setting.parameters), np.full(size, n), stream(seed, "testing.mechanism"))
    if exact is None:
        return
    added = setting.sample(n * size, stream(seed + 1, "testing.mechanism")).reshape(n, size).sum(axis=0)
    unit = 1e-9 * float(np.abs(added).max())  # sums in another order differ in their last bits
    one, other = (np.sort(np.round(np.abs(each) / unit)) for each in (exact, added))
    both = np.concatenate([one, other])
    ranks = [np.searchsorted(each, both, side="right") / size for each in (one, other)]
    _require(np.abs(ranks[0] - ranks[1]).max() <= 4 * slack, "sample_sum does not have the law of added draws")


def _follows(sizes: FloatArray, cdf: Callable[[FloatArray], FloatArray], slack: float) -> bool:
    """Return whether sup |F_n - F| is within ``slack`` (Dvoretzky-Kiefer-Wolfowitz); left limits allow for atoms."""
    values, counts = np.unique(sizes, return_counts=True)
    upper = np.cumsum(counts) / sizes.size
    left = np.where(values > 0, values * (1 - 1e-9), -1.0)
    below = np.max(cdf(left) - (upper - counts / sizes.size))
    return bool(max(np.max(upper - cdf(values)), below) <= slack)


def _symmetric(draws: FloatArray, slack: float) -> bool:
    """Return whether positive and negative draws have the same law, each within ``slack`` of the law."""
    sides = [np.sort(each) for each in (draws[draws > 0], -draws[draws < 0])]
    counts = [np.searchsorted(each, np.concatenate(sides), side="right") for each in sides]
    return bool(np.abs(counts[0] - counts[1]).max() <= 2 * slack * draws.size)
