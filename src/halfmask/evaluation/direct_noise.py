"""Masking many readings fast: laws that are drawn most often have a short way, all others mask themselves.

A masker draws from its stream piece by piece, so that the pieces' fixed length is part of what a seed means.
"""

from collections.abc import Callable

import numpy as np

from halfmask.evaluation import direct_kernel as kernel
from halfmask.profiles.bins import FloatArray
from halfmask.settings.setting import PrivacySetting

Masker = Callable[[FloatArray, np.random.Generator, FloatArray], None]
"""Fills the last argument with the masked values of the first."""

PIECE = 8192


def stream(seed: int, setting_key: int, size: int, repeat: int, block: int) -> np.random.Generator:
    """The random numbers of one setting, subset and block of users, whatever else is evaluated and in what order."""
    sequence = np.random.SeedSequence(seed, spawn_key=(1, setting_key, size, repeat, block))
    return np.random.Generator(np.random.PCG64DXSM(sequence))


def masker(setting: PrivacySetting) -> Masker:
    """How a setting masks a piece of readings (of at most `PIECE`, or of one user where it asks for all of them)."""
    short = _SHORT.get(setting.mechanism)
    return short(setting) if short else _own(setting)


def _own(setting: PrivacySetting) -> Masker:
    def fill(values: FloatArray, rng: np.random.Generator, out: FloatArray) -> None:
        out[:] = setting.mask(values, rng)

    return fill


def _none(setting: PrivacySetting) -> Masker:  # noqa: ARG001
    def fill(values: FloatArray, rng: np.random.Generator, out: FloatArray) -> None:  # noqa: ARG001
        out[:] = values

    return fill


def _laplace(setting: PrivacySetting) -> Masker:
    b, relative = setting.parameters[0], setting.kind == "relative"

    def fill(values: FloatArray, rng: np.random.Generator, out: FloatArray) -> None:
        sizes = rng.standard_exponential(len(values))
        coins = rng.integers(2**64, size=len(values) // 64 + 1, dtype=np.uint64)
        kernel.laplace(values, sizes, coins, b, relative, out)

    return fill


def _gaussian(setting: PrivacySetting) -> Masker:
    sigma, relative = setting.parameters[0], setting.kind == "relative"

    def fill(values: FloatArray, rng: np.random.Generator, out: FloatArray) -> None:
        kernel.scaled(values, rng.standard_normal(len(values)), sigma, relative, out)

    return fill


def _sine(setting: PrivacySetting) -> Masker:
    with np.errstate(over="ignore"):
        terms = np.array(setting.parameters) ** (2 * np.arange(len(setting.parameters)) + 1)

    def fill(values: FloatArray, rng: np.random.Generator, out: FloatArray) -> None:
        kernel.sine(values, rng.random(len(values)), terms, out)

    return fill


_SHORT: dict[str, Callable[[PrivacySetting], Masker]] = {
    "none": _none,
    "laplace": _laplace,
    "relative-laplace": _laplace,
    "gaussian": _gaussian,
    "relative-gaussian": _gaussian,
    "sine": _sine,
}
