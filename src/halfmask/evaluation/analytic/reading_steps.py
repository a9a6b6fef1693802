"""The decimals of readings, as far as a profile shows them.

A profile keeps no readings, but the mean of each logarithmic bin and its count. If a bin contains a single multiple of
a step, its mean must be that multiple; so a step that all readings share can be found. If decimals differ, some of two
digits and some of three, bins with a multiple of the coarser step contain more readings than their neighbours. If the
readings of a bin differ, the mean of 1/|s| is above 1/mean |s|.
"""

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.profiles.bins import BINS_PER_OCTAVE, bin_of, edge
from halfmask.profiles.profile import Profile
from halfmask.profiles.quality import typical_sizes

Steps = tuple[tuple[float, float], ...]
"""Steps, the finest first, with the share of readings that are rounded to each; step 0 stands for no rounding."""
_Values = tuple[IntArray, FloatArray, FloatArray]
ALONE = 3  # bins with one multiple that must agree
CANDIDATES = [mantissa * 10.0**power for power in range(6, -10, -1) for mantissa in (5, 2, 1)]
COARSEST = 1000  # times the finest step
RESOLVED = 4000  # finest steps: larger readings share their bin with so many multiples that none stands out
EPSILON, CERTAIN = float(np.finfo(float).eps), 1e-3  # of a step, by which a sum may be off and still say something
ROUNDS = 300
LEAST = 0.01  # share of readings below which a step is not believed in
EVIDENCE = 25.0  # log likelihood that steps must add to readings that lie anywhere
WHOLE = 12  # the smallest reading may be so many times the step
ALIKE = 0.5  # of the spread within bins that their values would have: below it, a bin's readings are all alike
ROUNDING = 1e-9  # of that spread: bins with one value each have none
NEWTON, STEEPEST = 12, 50.0  # steps and bounds of the search for a tilt
PARTS = 64  # of a bin, for readings that lie anywhere in it


def multiples(bins: IntArray, step: float) -> tuple[FloatArray, FloatArray]:
    """Return first and last whole number of steps in each bin; last < first in a bin without one."""
    low, high = (np.ceil(edge(bins + side) / step * (1 - 1e-11)) for side in (0, 1))
    return low, high - 1


def reading_step(profile: Profile) -> float | None:
    """Return the largest step of which all readings are multiples; None if there is none.

    The step is 1, 2 or 5 times a power of ten. In converted units it is the smallest reading or a simple fraction of
    it.
    """
    size = typical_sizes(profile)
    if not len(size):
        return None
    for step in (*CANDIDATES, *(float(size[0]) / whole for whole in range(1, WHOLE + 1))):
        first, last = multiples(profile.bin_index, step)
        if (last < first).any():
            continue
        alone = first == last
        right = np.abs(size[alone] / step - first[alone]) <= 1e-6 * first[alone]
        if right.all() and (alone.sum() >= min(ALONE, len(size)) or _whole_sums(profile, step)):
            return step
    return None


def _whole_sums(profile: Profile, step: float) -> bool:
    """Return whether the sum of each bin's readings is a whole number of steps, for any number of multiples in the bin.

    Bins with very many readings do not count, because rounding could hide a sum that is not whole.
    """
    total = profile.bin_sizes / step
    rounding = EPSILON * profile.bin_counts * total
    tells = rounding < CERTAIN
    off = np.abs(total - np.rint(total))
    return bool(tells.sum() >= min(ALONE, len(total)) and (off <= 1e-6 + rounding)[tells].all())


def reading_steps(profile: Profile) -> Steps | None:
    """Return the shares of readings by the step that they are rounded to; empty if almost none is rounded.

    None if the readings within each bin are all equal, as those of users with constant readings.
    """
    steps = _shared_steps(profile)
    return None if _alike(profile, steps) else steps


def _alike(profile: Profile, steps: Steps) -> bool:
    """Return whether readings hardly differ within bins.

    The sum of 1/|s| exceeds the sum of count/mean by the relative variance of the readings within bins.
    """
    if not len(profile.bin_index):
        return False
    size, counts = typical_sizes(profile), profile.bin_counts
    apart = float(profile.rows["inverse1"].sum()) / float((counts / size).sum()) - 1
    place, values, weight = values_in(profile.bin_index, steps)
    mean = np.bincount(place, weight * values)
    variance = np.bincount(place, weight * (values / mean[place] - 1) ** 2)
    return bool(apart < ALIKE * float(counts / size @ variance) / float((counts / size).sum()) + ROUNDING)


def values_in(bins: IntArray, steps: Steps, parts: int = PARTS) -> _Values:
    """Return, for every possible value in a bin: index of the bin, value, and share of the bin.

    A reading is equally likely on each multiple of its step. For a step with more than ``parts`` multiples in a bin,
    and for readings on no step, the values are the centres of ``parts`` equal parts.
    """
    whole_bins = np.arange(len(bins))
    free, found = np.zeros(len(bins)), list[_Values]()
    width = edge(bins + 1) - edge(bins)
    for step, share in steps or ((0.0, 1.0),):
        if not step:
            free += share * width
            continue
        first, last = multiples(bins, step)
        count = np.maximum(last - first + 1, 0).astype(np.int64)
        free += np.where(count > parts, share * step * count, 0.0)
        count[count > parts] = 0
        place = np.repeat(whole_bins, count)
        within = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count)
        found.append((place, (first[place] + within) * step, np.full(len(place), share * step)))
    found = [_once(found, min(step for step, _ in steps if step))] if found else []
    held = sum((np.bincount(place, weight, len(bins)) for place, _, weight in found), free)
    free = np.where(held > 0, free, 1.0)  # readings that no step explains
    middles = edge(bins[:, None] + (np.arange(parts) + 0.5) / parts)[free > 0]
    found.append((np.repeat(whole_bins[free > 0], parts), middles.ravel(), np.repeat(free[free > 0] / parts, parts)))
    place, values, weight = (np.concatenate(each) for each in zip(*found, strict=True))
    return place, values, weight / np.bincount(place, weight)[place]


def with_means(place: IntArray, values: FloatArray, weight: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the shares of values in their bins, changed so that each bin has its ``mean``.

    Shares become weight exp(t (value - mean)), the law nearest to ``weight`` with this mean; t of each bin is found by
    Newton's method.
    """
    apart = values / mean[place] - 1
    width = np.full(len(mean), 1e-12)
    np.maximum.at(width, place, np.abs(apart))
    apart = apart / width[place]
    tilt = np.zeros(len(mean))
    for _ in range(NEWTON):
        tilted = weight * np.exp(tilt[place] * apart)
        tilted /= np.bincount(place, tilted, len(mean))[place]
        first, second = (np.bincount(place, tilted * apart**power, len(mean)) for power in (1, 2))
        tilt = np.clip(tilt - first / np.maximum(second - first**2, 1e-6), -STEEPEST, STEEPEST)
    return np.asarray(tilted)


def _once(found: list[_Values], finest: float) -> _Values:
    """Return the multiples of several steps as one list, with equal ones merged."""
    place, values, weight = (np.concatenate(each) for each in zip(*found, strict=True))
    _, at, same = np.unique(np.round(values / finest, 6), return_index=True, return_inverse=True)
    return place[at], values[at], np.bincount(same, weight).astype(np.float64)


def _shared_steps(profile: Profile) -> Steps:
    """Return the shares of readings by the step that they are rounded to, even if readings are all equal.

    It is assumed that readings have a constant density within a quarter of an octave, and that rounding does not depend
    on size or user. A bin with m_l multiples of step l then contains f sum_l share_l step_l m_l readings on average.
    For readings on no step, its width replaces step_l m_l. The f of each quarter and the shares maximise the Poisson
    likelihood (expectation maximisation).
    """
    if not len(profile.bin_index):
        return ()
    common = reading_step(profile)
    finest = common or 10.0 ** np.floor(np.log10(np.average(typical_sizes(profile), weights=profile.bin_counts) / 1000))
    times = np.array([1.0, *(t for t in (each / finest for each in reversed(CANDIDATES)) if 1.5 < t <= COARSEST)])
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
    expected, quarter = np.stack(columns, axis=1), (bins - first) // (BINS_PER_OCTAVE // 4)
    share = _shares(counts, expected, quarter)
    if times[0] == 0:
        anywhere = np.eye(len(times))[0]
        gained = _likelihood(counts, expected @ share, quarter) - _likelihood(counts, expected @ anywhere, quarter)
        if share[0] > 1 - LEAST or gained < EVIDENCE:
            return ()
    share[0] = max(share[0], LEAST)  # the finest there is shows, if of few readings
    found = tuple((float(t * finest), float(s)) for t, s in zip(times, share / share.sum(), strict=True) if s > 0)
    alone = ((common, 1.0),) if common else ()
    return found if _unlike(profile, found) < _unlike(profile, alone) else alone


def _unlike(profile: Profile, steps: Steps) -> float:
    """Return how far the means of bins are from those of their possible values: squared deviations over variances,
    summed.

    Steps that only follow the shape of the density get the means wrong.
    """
    place, values, weight = values_in(profile.bin_index, steps)
    mean = np.bincount(place, weight * values)
    variance = np.bincount(place, weight * (values - mean[place]) ** 2) + (1e-6 * mean) ** 2
    return float((profile.bin_counts * (typical_sizes(profile) - mean) ** 2 / variance).sum())


def _likelihood(counts: FloatArray, mixed: FloatArray, quarter: IntArray) -> float:
    """Return the log likelihood of Poisson counts, up to a constant, at the best density of each quarter
    of an octave.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.nan_to_num(np.bincount(quarter, counts) / np.bincount(quarter, mixed))[quarter]
        logs = np.where(counts > 0, counts * np.log(density * mixed), 0.0)
    return float(logs.sum())


def _shares(counts: FloatArray, expected: FloatArray, quarter: IntArray) -> FloatArray:
    """Return the shares of the columns of ``expected`` (bins, steps) with the largest likelihood; 0 if
    below `LEAST`.
    """
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
