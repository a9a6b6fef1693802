"""The decimals of readings, as far as they show in a profile.

A profile keeps no readings, but the mean of each logarithmic bin and its count. A bin in which one multiple of a step
lies alone must have that multiple as its mean, so the step that all readings share shows. Where decimals differ, some
of two digits and some of three, bins with a multiple of the coarser step hold more readings than their neighbours.
"""

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.profiles.bins import BINS_PER_OCTAVE, bin_of, edge
from halfmask.profiles.profile import Profile
from halfmask.profiles.quality import typical_sizes

Steps = tuple[tuple[float, float], ...]
"""Steps, the finest first, with the share of readings that are rounded to each; step 0 is of those on none."""
ALONE = 3  # bins with one multiple that must agree
CANDIDATES = [mantissa * 10.0**power for power in range(6, -10, -1) for mantissa in (5, 2, 1)]
COARSEST = 1000  # times the finest step
RESOLVED = 4000  # finest steps: larger readings share their bin with so many multiples that none stands out
ROUNDS = 300
LEAST = 0.01  # share of readings below which a step is not believed in


def multiples(bins: IntArray, step: float) -> tuple[FloatArray, FloatArray]:
    """First and last whole number of steps in each bin; last < first where there is none."""
    low, high = (np.ceil(edge(bins + side) / step * (1 - 1e-11)) for side in (0, 1))
    return low, high - 1


def reading_step(profile: Profile) -> float | None:
    """The largest step (1, 2 or 5 times a power of ten) of which all readings are multiples, None where none shows."""
    size = typical_sizes(profile)
    if not len(size):
        return None
    for step in CANDIDATES:
        first, last = multiples(profile.bin_index, step)
        if (last < first).any():
            continue
        alone = first == last
        right = np.abs(size[alone] / step - first[alone]) <= 1e-6 * first[alone]
        if right.all() and alone.sum() >= min(ALONE, len(size)):
            return step
    return None


def reading_steps(profile: Profile) -> Steps:
    """Shares of the readings by the step that they are rounded to; nothing where hardly any is.

    Within a quarter of an octave readings are taken as equally dense, and rounding as independent of size and user: a
    bin with m_l multiples of step l then holds f sum_l share_l step_l m_l readings on average, and f times its width of
    those on no step. f of each quarter and the shares are those of the largest Poisson likelihood, found by expectation
    and maximisation.
    """
    if not len(profile.bin_index):
        return ()
    common = reading_step(profile)
    finest = common or 10.0 ** np.floor(np.log10(np.average(typical_sizes(profile), weights=profile.bin_counts) / 1000))
    times = np.array([t for t in (each / finest for each in reversed(CANDIDATES)) if 0.5 < t <= COARSEST])
    times = np.rint(times[np.abs(times - np.rint(times)) < 1e-6])
    last = int(min(profile.bin_index[-1], bin_of(RESOLVED * finest)))
    seen = profile.bin_index <= last
    if not seen.any() or not len(times):
        return ()
    first = int(profile.bin_index[0])
    bins, counts = np.arange(first, last + 1), np.zeros(last + 1 - first)
    counts[profile.bin_index[seen] - first] = profile.bin_counts[seen]
    held = [multiples(bins, t * finest) for t in times]
    columns = [t * np.maximum(high - low + 1, 0) for t, (low, high) in zip(times, held, strict=True)]
    if common is None:
        columns, times = [np.diff(edge(np.append(bins, last + 1))) / finest, *columns], np.append(0.0, times)
    share = _shares(counts, np.stack(columns, axis=1), (bins - first) // (BINS_PER_OCTAVE // 4))
    if times[0] == 0 and share[0] > 1 - LEAST:
        return ()
    share[0] = max(share[0], LEAST)  # the finest there is shows, if of few readings
    return tuple((float(t * finest), float(s)) for t, s in zip(times, share / share.sum(), strict=True) if s > 0)


def _shares(counts: FloatArray, expected: FloatArray, quarter: IntArray) -> FloatArray:
    """Shares of the columns of ``expected`` (bins, steps) that make the counts likeliest; below `LEAST`, 0."""
    share = np.full(expected.shape[1], 1 / expected.shape[1])
    for _ in range(ROUNDS):
        mixed = expected @ share
        with np.errstate(divide="ignore", invalid="ignore"):
            density = np.nan_to_num(np.bincount(quarter, counts) / np.bincount(quarter, mixed))[quarter]
            ratio = np.nan_to_num(counts / mixed)
        weight = density @ expected
        share = share * np.divide(ratio @ expected, weight, out=np.zeros(len(share)), where=weight > 0)
        share = share / share.sum()
    return np.where(share >= LEAST, share, 0.0)
