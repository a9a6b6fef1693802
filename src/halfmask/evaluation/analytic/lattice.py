"""Lattice noise: errors K h / z fall on few fractions where readings have few decimals, so they are counted one by one.

h is the noise's step; z = j d, d the readings'. A profile does not keep d, but it shows: a logarithmic bin in which one
multiple of d lies alone must have that multiple as its mean. Where no step shows, z is taken as spread evenly in each
bin, which overstates the entropy of readings whose decimals differ (some of two digits, some of three). Errors of z
above `FINE` h are closer together than the histogram's bins, and come from the distribution function.
"""

import numba
import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.metrics import GUARD, WIDTH
from halfmask.mechanisms.base import Mechanism
from halfmask.profiles.bins import bin_of, edge
from halfmask.profiles.profile import Profile
from halfmask.profiles.quality import typical_sizes

FINE = 4 / WIDTH
MOST_BINS = 2**22
MOST_PAIRS = 3e8
PARTS = 64
NEGLIGIBLE = 1e-9
ALONE = 3  # bins with one multiple that must agree
STEPS = [mantissa * 10.0**power for power in range(6, -10, -1) for mantissa in (5, 2, 1)]


def reading_step(profile: Profile) -> float | None:
    """The largest step (1, 2 or 5 times a power of ten) of which all readings are multiples, None where none shows."""
    size = typical_sizes(profile)
    if not len(size):
        return None
    for step in STEPS:
        first, last = _multiples(profile.bin_index, step)
        if (last < first).any():
            continue
        alone = first == last
        right = np.abs(size[alone] / step - first[alone]) <= 1e-6 * first[alone]
        if right.all() and alone.sum() >= min(ALONE, len(size)):
            return step
    return None


def _multiples(bins: IntArray, step: float) -> tuple[FloatArray, FloatArray]:
    """First and last whole number of steps in each bin; last < first where there is none."""
    low, high = (np.ceil(edge(bins + side) / step * (1 - 1e-11)) for side in (0, 1))
    return low, high - 1


def single_values(size: FloatArray, share: FloatArray, step: float | None) -> tuple[FloatArray, FloatArray]:
    """Every z there is, with its share: multiples of the step, each bin's share divided evenly among them; `PARTS` of
    a bin where there is no step; the sizes themselves where it is 0.
    """
    if step == 0:
        return size, share
    if step is None:
        parts = edge(bin_of(size)[:, None] + (np.arange(PARTS) + 0.5) / PARTS)
        return parts.ravel(), np.repeat(share / PARTS, PARTS)
    first, last = _multiples(bin_of(size), step)
    count = np.maximum(last - first + 1, 1).astype(np.int64)
    ends = np.cumsum(count)
    within = np.arange(ends[-1]) - np.repeat(ends - count, count)
    whole = np.where(np.repeat(last < first, count), np.repeat(size / step, count), np.repeat(first, count) + within)
    return whole * step, np.repeat(share / count, count)


def error_bins(
    size: FloatArray, share: FloatArray, step: float | None, law: Mechanism, setting: FloatArray
) -> FloatArray | None:
    """Probability of each bin of the errors |psi|/z; None where psi is on no lattice, or one too fine to be counted.

    ``step`` as in `Denominators`.
    """
    noise_step = law.lattice(tuple(setting.tolist()))
    if noise_step is None:
        return None
    reach = noise_step
    while reach < 2**20 * noise_step and law.cdf(setting[None], np.array([reach]))[0, 0] < 1 - NEGLIGIBLE:
        reach *= 2
    low = size < FINE * noise_step
    values, shares = single_values(size[low], share[low], step)
    if len(values) * (reach / noise_step) > MOST_PAIRS:
        return None
    half: FloatArray = (np.arange(float(int(reach / noise_step) + 1)) + 0.5) * noise_step
    bins = np.zeros(MOST_BINS)
    _count(values, shares, np.diff(law.cdf(setting[None], half)[0], prepend=0.0), noise_step, bins)
    for z, of_z in zip(size[~low], share[~low], strict=True):
        edges: FloatArray = np.arange(min(int(reach / z / WIDTH) + 2, MOST_BINS + 1)) * (WIDTH * z * (1 - 1e-10))
        of_bins = np.diff(law.cdf(setting[None], edges)[0])
        of_bins[0] += law.cdf(setting[None], np.zeros(1))[0, 0]
        bins[: len(of_bins)] += of_z * of_bins
    return bins


@numba.njit(nogil=True, cache=True)
def _count(z, share, probability, step, bins):  # type: ignore[no-untyped-def]
    """Add the errors k step / z to their bins; those past the last bin, a few of the very largest, are in it."""
    for i in range(z.size):
        per_step = step / z[i] / WIDTH
        for k in range(probability.size):
            place = min(k * per_step + GUARD, bins.size - 1.0)
            bins[np.int64(place)] += share[i] * probability[k]
