"""Masking many readings, each mechanism in its fastest way."""

from functools import cached_property

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.mechanism import Words
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.streams import generator, sequence

PIECE = 2**14
"""Readings masked at once. Pieces draw from their stream one by one, so this length is part of what a seed means."""


class NoiseStream:
    """The random numbers of one setting, subset and block of users, whatever else is evaluated and in what order.

    ``words`` are the state of the compiled draws, ``generator`` is numpy's; a setting uses one of the two.
    """

    def __init__(self, seed: int, setting_key: int, size: int, repeat: int, block: int) -> None:
        self._sequence = sequence(seed, "evaluation.direct", setting_key, size, repeat, block)

    @cached_property
    def words(self) -> Words:
        return self._sequence.generate_state(4, np.uint64).astype(np.uint64, copy=False)

    @cached_property
    def generator(self) -> np.random.Generator:
        return generator(self._sequence)


def mask_piece(setting: PrivacySetting, values: FloatArray, stream: NoiseStream, out: FloatArray) -> None:
    """Mask a piece of at most `PIECE` readings into ``out``, or all of one user if the setting asks for them."""
    if setting.inner is None:
        setting.law.fill(np.array(setting.parameters), values, stream, out)
    else:
        out[:] = setting.mask(values, stream.generator)
