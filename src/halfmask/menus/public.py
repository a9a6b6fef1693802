"""What a menu may tell households of everybody's readings: a coarse summary, with noise that protects each producer.

A profile is personal data and cannot be handed out; advice at home needs to know roughly how large readings are. Two
histograms over fixed octaves of |s| are released, each with discrete Laplace noise from the operating system:

    readings   each producer spreads one vote over the octaves (and "zero"), in the shares of its own readings
    producers  each producer puts one vote into the octave of its mean log |s|

Changing everything about one producer changes either by at most 2 votes. Noise of scale 2/(3/4 epsilon) on the first
and of 2/(1/4 epsilon) on the second makes both together epsilon-differentially private, for whole producers. Told are
the octaves around the fullest one, out to where votes no longer stand out of the noise (post-processing). Rows of a
bucketed profile vote as one, which protects every producer in them. It breaks where one person has readings under
several names.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.profiles.bins import BINS_PER_OCTAVE, centre
from halfmask.profiles.profile import Profile
from halfmask_device import Lattice, noise

EPSILON = 1.0
LOWEST, HIGHEST = -40, 40
"""Octaves of |s|, the same for every dataset: 2^-40 to 2^41 of the readings' unit. Others count as the nearest."""
VOTE = 1000
"""Parts of a vote: all counts are whole numbers, so that the noise is exact."""
SHARES = (0.75, 0.25)
"""Parts of epsilon that the histograms of readings and of producers get."""
STANDS_OUT = 2.0
"""Scales of the noise that an octave's votes must exceed, beside one that does,"""
MODE_STANDS_OUT = 9.0
"""and that the fullest octave's must: noise alone does so once in 200 summaries."""
SAVED = 4


@dataclass(frozen=True)
class PublicSummary:
    """Shares of readings by octave of |s| (the first is ``first``), and numbers; noised for each producer.

    ``zeros``     share of readings that are zero
    ``strength``  how much a producer is like the others: variance of log |s| within producers over that between them
    ``a_period``  readings of a producer in a period, from the sampling step: no secret
    ``epsilon``   of all of it together, for a change of everything about one producer
    """

    first: int
    share: tuple[float, ...]
    zeros: float
    strength: float
    a_period: float
    epsilon: float

    def __post_init__(self) -> None:
        if not self.share or min(self.share) < 0 or abs(sum(self.share) - 1) > 1e-2 or not 0 <= self.zeros <= 1:
            raise ValueError("the shares of the menu's summary of readings are not shares")
        if not (self.strength > 0 and self.a_period > 0):
            raise ValueError("the menu's summary of readings has a number that is not above 0")

    def bins(self) -> tuple[IntArray, FloatArray]:
        """The profile's bins that the octaves cover, and the share of each: even within an octave."""
        every = np.arange(len(self.share) * BINS_PER_OCTAVE) + self.first * BINS_PER_OCTAVE
        share = np.repeat(np.array(self.share) / sum(self.share) / BINS_PER_OCTAVE, BINS_PER_OCTAVE)
        return every[share > 0], share[share > 0]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "share": list(self.share)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "PublicSummary":
        """What ``to_json`` wrote."""
        numbers = {name: float(plain[name]) for name in ("zeros", "strength", "a_period", "epsilon")}
        return cls(int(plain["first"]), tuple(map(float, plain["share"])), **numbers)


def public_summary(profile: Profile, epsilon: float = EPSILON) -> PublicSummary | None:
    """The noised summary of a profile; None where noise leaves nothing to tell (too few producers).

    The noise has no seed, as no seed could be kept secret: two summaries of one profile differ, and publishing both
    spends epsilon twice.
    """
    if not 0 < epsilon < math.inf:
        raise OptionError(f"the summary's epsilon is {epsilon:g}: give a number above 0, like 1")
    (zero, *sizes), levels = (
        _noised(votes, 2 * VOTE / (part * epsilon)) for votes, part in zip(_votes(profile), SHARES, strict=True)
    )
    octaves, cut = _around_the_mode(np.array(sizes), 2 * VOTE / (SHARES[0] * epsilon))
    producers, _ = _around_the_mode(levels, 2 * VOTE / (SHARES[1] * epsilon))
    if not octaves.any():
        return None
    share = octaves[octaves > 0] / octaves.sum()  # a run: no gaps
    zero = max(float(zero), 0.0)
    return PublicSummary(
        first=LOWEST + cut,
        share=tuple(round(float(each), SAVED) for each in share),
        zeros=round(zero / (zero + float(octaves.sum())), SAVED),
        strength=round(_strength(octaves, producers, profile), 2),
        a_period=float(_readings_a_period(profile)),
        epsilon=epsilon,
    )


def _noised(votes: FloatArray, scale: float) -> FloatArray:
    """Votes with discrete Laplace noise of that scale."""
    drawn: FloatArray = np.array(noise(f"laplace:{scale:.17g}", Lattice("1", "0", "1"), len(votes)), float)
    return votes + drawn


def _around_the_mode(votes: FloatArray, scale: float) -> tuple[FloatArray, int]:
    """The run of octaves around the fullest in which every one stands out, all others 0; and where it begins."""
    out = votes <= STANDS_OUT * scale
    mode = int(np.argmax(votes))
    if votes[mode] <= MODE_STANDS_OUT * scale:
        return np.zeros(len(votes)), 0
    first = int(np.flatnonzero(np.append(True, out[:mode]))[-1])
    last = mode + int(np.flatnonzero(np.append(out[mode:], True))[0])
    run = np.zeros(len(votes))
    run[first:last] = votes[first:last]
    return run, first


def _votes(profile: Profile) -> tuple[FloatArray, FloatArray]:
    """Whole parts of votes: of zero and of each octave of readings; of each octave of producers."""
    counts, octaves = profile.histogram, HIGHEST - LOWEST + 1
    octave = np.clip(counts.bin // BINS_PER_OCTAVE, LOWEST, HIGHEST) - LOWEST
    of_row = np.zeros((len(profile), octaves + 1))
    np.add.at(of_row, (counts.row, octave + 1), counts.count)
    of_row[:, 0] = profile.rows["zeros"]
    all_of_row = of_row.sum(axis=1, keepdims=True)
    parts = np.floor(VOTE * of_row / np.maximum(all_of_row, 1)).sum(axis=0)
    sized = np.bincount(counts.row, counts.count, len(profile))
    logs = np.bincount(counts.row, counts.count * np.log2(centre(counts.bin)), len(profile))
    mean = np.floor(logs[sized > 0] / sized[sized > 0]).astype(np.int64)
    producers = np.bincount(np.clip(mean, LOWEST, HIGHEST) - LOWEST, minlength=octaves) * VOTE
    return parts, producers.astype(float)


def _strength(sizes: FloatArray, levels: FloatArray, profile: Profile) -> float:
    """Within over between, of the noised histograms: an octave of equal width adds 1/12 to a variance, in octaves."""
    at = np.arange(len(sizes)) + 0.5
    whole, between = (
        max(float(np.average(at**2, weights=each) - np.average(at, weights=each) ** 2), 1 / 12) if each.any() else 1.0
        for each in (sizes, levels)
    )
    members = max(float(profile.rows["members"].sum()) / max(len(profile), 1), 1.0)
    return float(np.clip((whole - between) / (between * members), 0.1, 100.0))


def _readings_a_period(profile: Profile) -> int:
    """Readings of a producer in a period, as the sampling step has it; the usual number where there is no step."""
    starts = np.diff(profile.periods)
    if profile.step and len(starts):
        return max(int(np.min(starts) // profile.step), 1)
    return max(round(profile.readings / max(profile.users * len(profile.periods), 1)), 1)
