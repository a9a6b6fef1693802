"""Masking many readings fast: laws that are drawn most often have a short way, all others mask themselves.

A masker draws from its stream piece by piece, so that the pieces' fixed length is part of what a seed means.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.evaluation.direct import random as direct_random
from halfmask.evaluation.direct.kernel import scaled
from halfmask.evaluation.direct.random import Words
from halfmask.mechanisms.setting import PrivacySetting

PIECE = 2**14


class Stream:
    """The random numbers of one setting, subset and block of users, whatever else is evaluated and in what order.

    ``words`` are the state of the compiled draws, ``generator`` is numpy's; a setting uses one of the two.
    """

    def __init__(self, seed: int, setting_key: int, size: int, repeat: int, block: int) -> None:
        self._sequence = np.random.SeedSequence(seed, spawn_key=(1, setting_key, size, repeat, block))

    @cached_property
    def words(self) -> Words:
        return self._sequence.generate_state(4, np.uint64).astype(np.uint64, copy=False)

    @cached_property
    def generator(self) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64DXSM(self._sequence))


Masker = Callable[[FloatArray, Stream, FloatArray], None]
"""Fills the last argument with the masked values of the first."""


def masker(setting: PrivacySetting) -> Masker:
    """How a setting masks a piece of readings (of at most `PIECE`, or of one user where it asks for all of them)."""
    short = _SHORT.get(setting.mechanism)
    return short(setting) if short else _own(setting)


def _own(setting: PrivacySetting) -> Masker:
    def fill(values: FloatArray, stream: Stream, out: FloatArray) -> None:
        out[:] = setting.mask(values, stream.generator)

    return fill


def _none(setting: PrivacySetting) -> Masker:  # noqa: ARG001
    def fill(values: FloatArray, stream: Stream, out: FloatArray) -> None:  # noqa: ARG001
        out[:] = values

    return fill


def _laplace(setting: PrivacySetting) -> Masker:
    b, relative = setting.parameters[0], setting.kind == "relative"

    def fill(values: FloatArray, stream: Stream, out: FloatArray) -> None:
        direct_random.laplace(values, stream.words, b, relative, out)

    return fill


def _gaussian(setting: PrivacySetting) -> Masker:
    sigma, relative = setting.parameters[0], setting.kind == "relative"

    def fill(values: FloatArray, stream: Stream, out: FloatArray) -> None:
        scaled(values, stream.generator.standard_normal(len(values)), sigma, relative, out)

    return fill


def _sine(setting: PrivacySetting) -> Masker:
    with np.errstate(over="ignore"):
        terms = np.array(setting.parameters) ** (2 * np.arange(len(setting.parameters)) + 1)

    def fill(values: FloatArray, stream: Stream, out: FloatArray) -> None:
        direct_random.sine(values, stream.words, terms, out)

    return fill


_SHORT: dict[str, Callable[[PrivacySetting], Masker]] = {
    "none": _none,
    "laplace": _laplace,
    "relative-laplace": _laplace,
    "gaussian": _gaussian,
    "relative-gaussian": _gaussian,
    "sine": _sine,
}
