"""Lattice noise: errors K h / z fall on few fractions where readings have few decimals, so they are counted one by one.

h is the noise's step. Which values z takes says `halfmask.evaluation.analytic.decimals`; where no step of the readings
shows, z is spread evenly in each bin. Every subset is counted by itself, because its own z make the fractions: six
users' means are six values.
"""

from typing import NamedTuple

import numba
import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.analytic.decimals import values_in, with_means
from halfmask.evaluation.analytic.denominators import Denominators
from halfmask.evaluation.analytic.expected_entropy import CHI, EXCESS, PHI, SCORE, address
from halfmask.evaluation.metrics import GUARD, WIDTH
from halfmask.mechanisms.base import Mechanism
from halfmask.profiles.bins import bin_of

MOST_BINS = 2**22  # of the histogram that have a place of their own; errors beyond them are found by a hash
MOST_PAIRS = 2**26
NEGLIGIBLE = 1e-8


class Cut(NamedTuple):
    """How closely readings are looked at: the parts of a bin for readings on no step, and the z, in steps of the noise
    over the histogram's width, up to which single values count. Errors of larger z are closer together than its bins.
    """

    parts: int
    fine: float


MOST_WORK = {Cut(256, 4): 5e8, Cut(64, 4): 1e9, Cut(16, 4): 4e9, Cut(16, 1): 4e9, Cut(16, 1 / 4): 4e9}
"""Pairs of a value and a noise in all settings and subsets, for each cut, the closest first."""


def few_fractions(z: Denominators, law: Mechanism, parameters: FloatArray) -> Cut | None:
    """How closely errors of lattice noise can be counted, however many settings there are; None where not at all."""
    return next((cut for cut in MOST_WORK if cut.parts == 16 and _pairs(z, law, parameters, cut)), None)


def countable(z: Denominators, law: Mechanism, parameters: FloatArray) -> Cut | None:
    """How closely the errors of these settings, all on one lattice, are counted in every subset: the closer, the longer
    it takes. None where noise is on no lattice, or errors are too many to be counted.
    """
    for cut, most in MOST_WORK.items():
        pairs = _pairs(z, law, parameters, cut)
        if pairs is not None and pairs * len(parameters) * len(z.n) <= most:
            return cut
    return None


def _pairs(z: Denominators, law: Mechanism, parameters: FloatArray, cut: Cut) -> int | None:
    """How many fractions the errors of the widest setting fall on; None where they are too many, or on no lattice."""
    if law.lattice(tuple(parameters[0].tolist())) is None:
        return None
    widest = parameters[int(np.argmax(law.moments(parameters)[:, 1]))]
    step, points = lattice_points(law, widest)
    if points.sum() < 1 - 2 * NEGLIGIBLE:  # so many steps that the lattice no longer shows
        return None
    pairs = len(points) * len(single_values(z, step, cut)[0])
    return pairs if pairs <= MOST_PAIRS else None


def counted(z: Denominators, keep: FloatArray, law: Mechanism, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Expected entropy (settings, subsets), and n times the variance of the entropy and its covariances with mean and
    mean square (settings, subsets, 3), as `fine.exactly` has them.
    """
    cut = countable(z, law, parameters) or few_fractions(z, law, parameters) or list(MOST_WORK)[-1]
    moments = law.moments(parameters)
    entropy, noise = np.empty((len(parameters), len(z.n))), np.empty((len(parameters), len(z.n), 3))
    step, _ = lattice_points(law, parameters[0])
    values, share, bins = single_values(z, step, cut)
    order = np.argsort(bins, kind="stable")
    values, share, bins = values[order], share[:, order], bins[order]
    for row, setting in enumerate(parameters):
        _, points = lattice_points(law, setting)
        _count(1 / values, share, bins, keep, z.n, step, points, moments[row], entropy[row], noise[row])
    return entropy, noise


def lattice_points(law: Mechanism, setting: FloatArray) -> tuple[float, FloatArray]:
    """The noise's step, and P(|psi| = k step) for k = 0, 1, ..., but for a share `NEGLIGIBLE`; at most 2^20 of them."""
    step = law.lattice(tuple(setting.tolist())) or 1.0
    reach = step
    while reach < 2**20 * step and law.cdf(setting[None], np.array([reach]))[0, 0] < 1 - NEGLIGIBLE:
        reach *= 1.25
    half: FloatArray = (np.arange(float(int(reach / step) + 1)) + 0.5) * step
    return step, np.diff(law.cdf(setting[None], half)[0], prepend=0.0)


def single_values(z: Denominators, noise_step: float, cut: Cut) -> tuple[FloatArray, FloatArray, IntArray]:
    """Every z there is (V,), with its share in each subset (S, V): multiples of the readings' steps, and parts of a bin
    for readings on none; the sizes themselves where z says that they are the very values, or where they are too large
    for it to matter. And the place in ``z.size`` that each is of (V,): how many readings are there is known.
    """
    if z.steps is None:
        return z.size, z.share, np.arange(len(z.size))
    low = z.size < cut.fine / WIDTH * noise_step
    place, values, weight = values_in(bin_of(z.size[low]), z.steps, cut.parts)
    if z.steps:
        weight = with_means(place, values, weight, z.size[low])
    share = z.share[:, low][:, place] * weight
    return (
        np.append(values, z.size[~low]),
        np.concatenate([share, z.share[:, ~low]], axis=1),
        np.append(np.flatnonzero(low)[place], np.flatnonzero(~low)),
    )


@numba.njit(nogil=True, cache=True)
def numbered_bins(inverse, points, step):  # type: ignore[no-untyped-def]
    """The bin of the error of each value (V,) and number of steps below ``points``, as a number in order of first sight
    (V, points); and the bins of the histogram that were seen. The first is that of errors of 0.
    """
    values = inverse.size
    place = np.empty((values, points), np.int32)
    far = 0
    for i in range(values):
        within = min((MOST_BINS - GUARD) * WIDTH / max(step * inverse[i], 1e-300), 2.0**40)
        far += points - min(points, np.int64(within))
    slots = np.int64(1)
    while slots < 2 * far:
        slots *= 2
    number, bin_of_slot = np.full(MOST_BINS + slots, -1, np.int32), np.full(slots, -1, np.int64)
    seen = np.empty(1024, np.int64)
    seen[0] = number[0] = 0
    held = 1
    for i in range(values):
        for k in range(points):
            at = bin_ = np.int64(min(k * (step * inverse[i] / WIDTH) + GUARD, 2.0**62))
            if at >= MOST_BINS:
                slot = ((at * 0x9E3779B97F4A7C1) >> 20) & (slots - 1)
                while bin_of_slot[slot] != at and bin_of_slot[slot] >= 0:
                    slot = (slot + 1) & (slots - 1)
                bin_of_slot[slot] = at
                at = MOST_BINS + slot
            if number[at] < 0:
                if held == seen.size:
                    seen = np.concatenate((seen, np.empty(held, np.int64)))
                number[at], seen[held] = held, bin_
                held += 1
            place[i, k] = number[at]
    return place, seen[:held]


@numba.njit(nogil=True, cache=True)
def _count(inverse, share, bins, keep, n, step, probability, moments, entropy, noise):  # type: ignore[no-untyped-def]
    """One setting on all subsets: pairs of a value and a number of steps, by the bin of their error.

    Readings are as they are, and only the noise is random: errors in a bin of the histogram are a sum over readings of
    chances q that differ, so chi / n of `expected_entropy` is multiplied by mean(q^2) / p^2, p = mean(q). ``bins`` are
    the profile's bins of the values, which come one after the other; of a reading no more is known, and q is the bin's.
    """
    values, points = inverse.size, probability.size
    place, seen = numbered_bins(inverse, points, step)
    held = seen.size
    p, squares, of_bin, score, lam = np.empty(held), np.empty(held), np.empty(held), np.empty(held), np.empty(1)
    touched = np.empty(held, np.int64)
    bits = lam.view(np.int64)
    for u in range(n.size):
        p[:] = squares[:] = of_bin[:] = 0.0
        i = 0
        while i < values:
            start, readings, met = i, 0.0, 0
            while i < values and bins[i] == bins[start]:
                readings += share[u, i]
                for k in range(points if share[u, i] > 0 else 0):
                    part, b = share[u, i] * probability[k], place[i, k]
                    if part > 0 and of_bin[b] == 0:
                        touched[met] = b
                        met += 1
                    of_bin[b] += part
                i += 1
            for m in range(met):
                b = touched[m]
                p[b] += of_bin[b]
                squares[b] += of_bin[b] ** 2 / readings
                of_bin[b] = 0.0
        total = variance = 0.0
        for b in range(held):
            always = 1 - keep[u] if b == 0 else 0.0
            p[b], squares[b] = keep[u] * p[b] + always, keep[u] * squares[b] + always
            lam[0] = n[u] * p[b]
            j, f = address(bits[0])
            score[b] = 0.0
            if j >= 0:
                phi, chi = PHI[j] + f * (PHI[j + 1] - PHI[j]), CHI[j] + f * (CHI[j + 1] - CHI[j])
                score[b] = SCORE[j] + f * (SCORE[j + 1] - SCORE[j])
                total += p[b] * phi - squares[b] / p[b] * chi / n[u]
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
