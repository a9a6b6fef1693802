"""Lattice noise: errors K h / z fall on few fractions where readings have few decimals, so they are counted one by one.

h is the noise's step. Which values z takes says `halfmask.evaluation.analytic.decimals`; where no step of the readings
shows, z is spread evenly in each bin. Every subset is counted by itself, because its own z make the fractions: six
users' means are six values.
"""

import numba
import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.analytic.decimals import Steps, multiples
from halfmask.evaluation.analytic.denominators import Denominators
from halfmask.evaluation.analytic.expected_entropy import CHI, EXCESS, PHI, SCORE, address
from halfmask.evaluation.metrics import GUARD, WIDTH
from halfmask.mechanisms.base import Mechanism
from halfmask.profiles.bins import bin_of, edge

MOST_BINS = 2**22  # of the histogram that have a place of their own; errors beyond them are found by a hash
MOST_PAIRS = 2**25
MOST_WORK = 4e9
ALONE = 64  # multiples in a bin that are told apart
PARTS = 16
FINE = 4 / WIDTH  # times the step: errors of larger z are closer together than the histogram's bins
NEGLIGIBLE = 1e-8


def few_fractions(z: Denominators, law: Mechanism, parameters: FloatArray) -> int | None:
    """How many fractions the errors of the widest setting fall on; None where noise is on no lattice, or they are too
    many to be counted. All settings are on one lattice.
    """
    steps = [law.lattice(tuple(setting)) for setting in parameters[:1].tolist()]
    if not all(steps):
        return None
    widest = parameters[int(np.argmax(law.moments(parameters)[:, 1]))]
    step, points = _points(law, widest)
    if points.sum() < 1 - 2 * NEGLIGIBLE:  # so many steps that the lattice no longer shows
        return None
    pairs = len(points) * len(single_values(z, step)[0])
    return pairs if pairs <= MOST_PAIRS else None


def countable(z: Denominators, law: Mechanism, parameters: FloatArray) -> bool:
    """Whether errors of lattice noise can be counted in every setting and subset."""
    pairs = few_fractions(z, law, parameters)
    return pairs is not None and pairs * len(parameters) * len(z.n) <= MOST_WORK


def counted(z: Denominators, keep: FloatArray, law: Mechanism, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Expected entropy (settings, subsets), and n times the variance of the entropy and its covariances with mean and
    mean square (settings, subsets, 3), as `fine.exactly` has them.
    """
    moments = law.moments(parameters)
    entropy, noise = np.empty((len(parameters), len(z.n))), np.empty((len(parameters), len(z.n), 3))
    for row, setting in enumerate(parameters):
        step, points = _points(law, setting)
        values, share = single_values(z, step)
        _count(1 / values, share, keep, z.n, step, points, moments[row], entropy[row], noise[row])
    return entropy, noise


def _points(law: Mechanism, setting: FloatArray) -> tuple[float, FloatArray]:
    """The noise's step, and P(|psi| = k step) for k = 0, 1, ..., but for a share `NEGLIGIBLE`; at most 2^20 of them."""
    step = law.lattice(tuple(setting.tolist())) or 1.0
    reach = step
    while reach < 2**20 * step and law.cdf(setting[None], np.array([reach]))[0, 0] < 1 - NEGLIGIBLE:
        reach *= 1.25
    half: FloatArray = (np.arange(float(int(reach / step) + 1)) + 0.5) * step
    return step, np.diff(law.cdf(setting[None], half)[0], prepend=0.0)


def single_values(z: Denominators, noise_step: float) -> tuple[FloatArray, FloatArray]:
    """Every z there is (V,), with its share in each subset (S, V): multiples of the readings' steps, and `PARTS` of a
    bin for readings on none; the sizes themselves where z says that they are the very values, or where they are too
    large for it to matter.
    """
    if z.steps is None:
        return z.size, z.share
    low = z.size < FINE * noise_step
    place, values, weight = _values_in(bin_of(z.size[low]), z.steps or ((0.0, 1.0),))
    share = z.share[:, low][:, place] * weight
    return np.append(values, z.size[~low]), np.concatenate([share, z.share[:, ~low]], axis=1)


def _values_in(bins: IntArray, steps: Steps) -> tuple[IntArray, FloatArray, FloatArray]:
    """Of every value in a bin: the bin's place, the value, and its share of the bin.

    A reading is as likely on one multiple of its step as on the next. Of steps with more than `ALONE` multiples in a
    bin, and of those on no step, it is in `PARTS`.
    """
    whole_bins = np.arange(len(bins))
    free, found = np.zeros(len(bins)), []
    width = edge(bins + 1) - edge(bins)
    for step, share in steps:
        if not step:
            free += share * width
            continue
        first, last = multiples(bins, step)
        count = np.maximum(last - first + 1, 0).astype(np.int64)
        free += np.where(count > ALONE, share * step * count, 0.0)
        count[count > ALONE] = 0
        place = np.repeat(whole_bins, count)
        within = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count)
        found.append((place, (first[place] + within) * step, np.full(len(place), share * step)))
    held = sum((np.bincount(place, weight, len(bins)) for place, _, weight in found), free)
    free = np.where(held > 0, free, 1.0)  # readings that no step explains
    parts = edge(bins[:, None] + (np.arange(PARTS) + 0.5) / PARTS)[free > 0]
    found.append((np.repeat(whole_bins[free > 0], PARTS), parts.ravel(), np.repeat(free[free > 0] / PARTS, PARTS)))
    place, values, weight = (np.concatenate(each) for each in zip(*found, strict=True))
    return place, values, weight / np.bincount(place, weight)[place]


@numba.njit(nogil=True, cache=True)
def _count(inverse, share, keep, n, step, probability, moments, entropy, noise):  # type: ignore[no-untyped-def]
    """One setting on all subsets: pairs of a value and a number of steps, by the bin of their error."""
    values, points = inverse.size, probability.size
    place = np.empty((values, points), np.int32)
    far = 0
    for i in range(values):
        within = min((MOST_BINS - GUARD) * WIDTH / max(step * inverse[i], 1e-300), 2.0**40)
        far += points - min(points, np.int64(within))
    slots = np.int64(1)
    while slots < 2 * far:
        slots *= 2
    number, bin_of_slot = np.full(MOST_BINS + slots, -1, np.int32), np.full(slots, -1, np.int64)
    number[0] = 0
    held = 1
    for i in range(values):
        for k in range(points):
            at = np.int64(min(k * (step * inverse[i] / WIDTH) + GUARD, 2.0**62))
            if at >= MOST_BINS:
                slot = ((at * 0x9E3779B97F4A7C1) >> 20) & (slots - 1)
                while bin_of_slot[slot] != at and bin_of_slot[slot] >= 0:
                    slot = (slot + 1) & (slots - 1)
                bin_of_slot[slot] = at
                at = MOST_BINS + slot
            if number[at] < 0:
                number[at] = held
                held += 1
            place[i, k] = number[at]
    p, score, lam = np.empty(held), np.empty(held), np.empty(1)
    bits = lam.view(np.int64)
    for u in range(n.size):
        p[:] = 0.0
        for i in range(values):
            if share[u, i] > 0:
                for k in range(points):
                    p[place[i, k]] += share[u, i] * probability[k]
        total = variance = 0.0
        for b in range(held):
            p[b] = keep[u] * p[b] + (1 - keep[u] if b == 0 else 0.0)
            lam[0] = n[u] * p[b]
            j, f = address(bits[0])
            score[b] = 0.0
            if j >= 0:
                phi, chi = PHI[j] + f * (PHI[j + 1] - PHI[j]), CHI[j] + f * (CHI[j + 1] - CHI[j])
                score[b] = SCORE[j] + f * (SCORE[j + 1] - SCORE[j])
                total += p[b] * (phi - chi / n[u])
                variance += p[b] * (score[b] ** 2 + EXCESS[j] + f * (EXCESS[j + 1] - EXCESS[j]))
        entropy[u] = max(np.log2(n[u]) - total, 0.0)
        explained = first = second = 0.0
        for i in range(values):
            if share[u, i] > 0:
                own = with_error = with_square = 0.0
                for k in range(points):
                    scored = probability[k] * score[place[i, k]]
                    error = k * step * inverse[i]
                    own += scored
                    with_error += error * scored
                    with_square += error * error * scored
                explained += share[u, i] * own * own
                first += share[u, i] * (with_error - inverse[i] * moments[0] * own)
                second += share[u, i] * (with_square - inverse[i] ** 2 * moments[1] * own)
        noise[u, 0] = max(variance - keep[u] * explained - (1 - keep[u]) * score[0] ** 2, 0.0)
        noise[u, 1] = -keep[u] * first
        noise[u, 2] = -keep[u] * second
