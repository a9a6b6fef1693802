"""One sample: mask every reading of a subset with one setting, and measure local errors and aggregates."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.aggregates import Aggregate, value_of
from halfmask.evaluation.direct.sample_state import GatheredPeriods, LocalState, Periods, RunningPeriods
from halfmask.evaluation.direct.sorted_readings import Readings, ReadingsBlock
from halfmask.evaluation.metrics import ErrorFunction, Summary
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.mechanism import Words
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.profile import Profile
from halfmask.streams import generator, sequence

PIECE = 2**14
"""Number of readings masked at once. Pieces draw from their stream in order, so another length changes a
seed's results.
"""
SHARDS = 8
"""Number of parts of a sample, one thread each. It is fixed, because rounding of sums depends on their grouping."""

Outcome = tuple[Summary, FloatArray]
"""Local metrics of a sample, and the aggregate of each period (NaN if the subset has no reading in it)."""


class NoiseStream:
    """The random numbers of one setting, subset and block of users, independent of everything else and of the order.

    ``words`` are the state of compiled draws, and ``generator`` is numpy's; a setting uses one of the two.
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
    """Mask a piece of at most `PIECE` readings into ``out``; a whole user's readings if the setting needs them."""
    if setting.inner is None:
        setting.law.fill(np.array(setting.parameters), values, stream, out)
    else:
        out[:] = setting.mask(values, stream.generator)


@dataclass(frozen=True)
class SampleQuestion:
    """The measurement to make on every sample: aggregate, error function and seed."""

    aggregate: Aggregate
    error: ErrorFunction
    seed: int


def mask_block(
    question: SampleQuestion,
    setting: PrivacySetting,
    subset: Subset,
    block: ReadingsBlock,
    local: LocalState,
    periods: Periods,
) -> None:
    """Mask the readings of a block, and add the errors to ``local`` and the masked values to ``periods``."""
    stream = NoiseStream(question.seed, _key(setting), subset.size, subset.repeat, block.number)
    for start, end in _pieces(setting, block):
        values = block.values[start:end]
        masked = np.empty(len(values))
        mask_piece(setting, values, stream, masked)
        local.add(masked, values, block.divisor[start:end])
        periods.add(masked, block.periods[start:end])


def _key(setting: PrivacySetting) -> int:
    """Return a number for the setting's stream: 64 bits of a hash of its text."""
    return int.from_bytes(hashlib.blake2b(str(setting).encode(), digest_size=8).digest())


def _pieces(setting: PrivacySetting, block: ReadingsBlock) -> Iterator[tuple[int, int]]:
    """Yield where to cut a block: after every `PIECE` readings, or after every user if the setting needs
    whole users.
    """
    size = len(block.values)
    ends = block.user_ends.tolist() if setting.per_user else [*range(PIECE, size, PIECE), size]
    return zip([0, *ends[:-1]], ends, strict=True)


Shards = Sequence[Sequence[IntArray]]
"""Rows of the profile by block, and blocks by shard."""


class LocalEngine:
    """Measures samples from readings on this machine's disk, one after the other, each with all threads."""

    def __init__(
        self, question: SampleQuestion, profile: Profile, readings: Readings, pool: Executor, folder: str | None
    ) -> None:
        self.question, self.profile, self.readings, self.pool, self.folder = question, profile, readings, pool, folder

    def outcomes(self, settings: Iterable[PrivacySetting], subset: Subset) -> Iterator[Outcome]:
        """Yield one outcome per setting, as soon as it is measured."""
        blocks = self.readings.split(subset.rows)
        shards = [blocks[first::SHARDS] for first in range(min(SHARDS, len(blocks)))]
        for setting in settings:
            if self.question.aggregate.function is None:
                yield self._running(setting, subset, shards)
            else:
                yield self._gathered(setting, subset, shards)

    def _running(self, setting: PrivacySetting, subset: Subset, shards: Shards) -> Outcome:
        kept = [RunningPeriods(self.question.aggregate, len(self.profile.periods)) for _ in shards]
        local = self._mask(setting, subset, shards, kept)
        for other in kept[1:]:
            kept[0].sums.add(other.sums)
        return local, value_of(self.question.aggregate, kept[0].sums, setting)

    def _gathered(self, setting: PrivacySetting, subset: Subset, shards: Shards) -> Outcome:
        readings = self.profile.cells[subset.rows, :, 0].sum(axis=0).astype(np.int64)
        kept = GatheredPeriods(self.question.aggregate, readings, self.folder)
        local = self._mask(setting, subset, shards, [kept] * len(shards))
        return local, kept.values()

    def _mask(self, setting: PrivacySetting, subset: Subset, shards: Shards, kept: Sequence[Periods]) -> Summary:
        """Mask all parts, and merge their local errors in a fixed order."""

        def work(shard: Sequence[IntArray], periods: Periods) -> LocalState:
            local = LocalState()
            for rows in shard:
                block = self.readings.block(rows, self.question.error == "scaled")
                mask_block(self.question, setting, subset, block, local, periods)
            return local

        total, *others = self.pool.map(work, shards, kept)
        for other in others:
            total.absorb(other)
        return total.summary()
