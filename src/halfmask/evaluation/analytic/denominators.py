"""The divisor z of the local error: error = |psi| / z, with the same z for all settings of one kind of noise.

noise      error      z                              counted over
additive   relative   |s|                            non-zero readings
additive   scaled     the user's mean |s|            readings of users that have one
relative   relative   1                              non-zero readings
relative   scaled     the user's mean |s| / |s|      readings of users that have one; a zero reading has error 0
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.evaluation.analytic.reading_values import ALIKE, ReadingValues, anywhere, reading_values
from halfmask.evaluation.sampling import Subset
from halfmask.profiles.bins import bin_of, centre
from halfmask.profiles.profile import Counts, Profile
from halfmask.profiles.quality import typical_sizes

ErrorKind = Literal["relative", "scaled"]
NoiseKind = Literal["additive", "relative"]


@dataclass(frozen=True)
class Denominators:
    """The law of z in each of S subsets.

    ``size``     (K,) values of z, ascending
    ``share``    (S, K) probability of each value
    ``inverse``  (S, 4) mean of z^-k, k = 1..4
    ``n``        (S,) number of errors in the subset
    ``zero``     (S,) share of errors that are 0 for any noise
    ``values``   values that z may have in the bins that ``size`` represent; None if ``size`` are exact values
    ``steps``    (S, steps) share of z by the steps of ``values``
    """

    size: FloatArray
    share: FloatArray
    inverse: FloatArray
    n: FloatArray
    zero: FloatArray
    values: ReadingValues | None
    steps: FloatArray

    def of(self, some: slice) -> "Denominators":
        """Return the laws of some subsets."""
        share, inverse, n, zero, steps = (
            each[some] for each in (self.share, self.inverse, self.n, self.zero, self.steps)
        )
        return replace(self, share=share, inverse=inverse, n=n, zero=zero, steps=steps)

    def law(self, share: FloatArray, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return all values that z may have, and their probabilities if sizes and steps have these shares."""
        if self.values is None:
            return self.size, share
        return self.values.size, self.values.probabilities(share, steps)


def denominators(profile: Profile, subsets: list[Subset], noise: NoiseKind, error: ErrorKind) -> Denominators:
    """Return the laws of z in each subset, from the profile alone."""
    members = np.zeros((len(subsets), len(profile)))
    for index, subset in enumerate(subsets):
        members[index, subset.rows] = 1
    if noise == "additive" and error == "relative":
        rows = profile.rows
        if _constant(profile):
            return _own_means(profile, members)
        inverse = np.stack([rows[f"inverse{k}"] for k in (1, 2, 3, 4)], axis=1)
        size = dict(zip(profile.bin_index.tolist(), typical_sizes(profile), strict=True))
        law = _law(members, profile.histogram, size, inverse, np.zeros(len(profile)))
        values, table = reading_values(profile)
        steps = members @ table
        return replace(law, values=values, steps=steps / steps.sum(axis=1, keepdims=True))
    if noise == "additive" and not profile.buckets:
        return _own_means(profile, members)
    if noise == "additive":
        inverse = np.stack([profile.rows[f"scale{k}"] for k in (1, 2, 3, 4)], axis=1)
        bins = np.unique(profile.scales.bin)
        size = dict(zip(bins.tolist(), centre(bins), strict=True))
        return _law(members, profile.scales, size, inverse, np.zeros(len(profile)))
    if error == "relative":
        n = (profile.rows["readings"] - profile.rows["zeros"]).astype(float)
        ones = Counts.gather(np.arange(len(profile)), np.zeros(len(profile)), n)
        law = _law(members, ones, {0: 1.0}, np.repeat(n[:, None], 4, axis=1), np.zeros(len(profile)))
        return replace(law, values=None)
    return _relative_to_own_mean(profile, members)


def _law(
    members: FloatArray, counts: Counts, size: dict[int, float], inverse: FloatArray, zero: FloatArray
) -> Denominators:
    first = counts.bin.min() if len(counts.bin) else 0
    used = np.zeros(int(counts.bin.max() - first) + 1 if len(counts.bin) else 0, bool)
    used[counts.bin - first] = True
    bins = first + np.flatnonzero(used)
    table = np.zeros((members.shape[1], len(bins)))
    table[counts.row, (np.cumsum(used) - 1)[counts.bin - first]] = counts.count
    share = members @ table
    total = share.sum(axis=1)
    if not counts.count.any():
        raise OptionError("no reading counts as other than zero: there is no local error to measure", kind="all-zero")
    if not (total > 0).all():
        raise OptionError("a subset has no non-zero reading: there is no local error to measure; use larger `sizes`")
    zeros = members @ zero
    with np.errstate(over="ignore"):
        moments = (members @ inverse) / total[:, None]
    return Denominators(
        size=np.array([size[b] for b in bins.tolist()]),
        share=share / total[:, None],
        inverse=moments,
        n=total + zeros,
        zero=zeros / (total + zeros),
        values=anywhere(bins),
        steps=np.ones((len(members), 1)),
    )


def _constant(profile: Profile) -> bool:
    """Return whether the readings of each user are all equal. The product of the means of |s| and 1/|s| is then 1."""
    rows, readings = profile.rows, np.maximum(profile.rows["readings"], 1)
    product = rows["sum_abs"] / readings * (rows["inverse1"] / readings)
    return not profile.buckets and not rows["zeros"].any() and bool((product < 1 + ALIKE).all())


def _own_means(profile: Profile, members: FloatArray) -> Denominators:
    """Return the law of z = mean |s| of each user, with one value per different mean."""
    readings, sizes = profile.rows["readings"], profile.rows["sum_abs"]
    users = np.flatnonzero(sizes > 0)
    size, place = np.unique(sizes[users] / readings[users], return_inverse=True)
    counts = Counts.gather(users, place, readings[users])
    inverse = np.stack([profile.rows[f"scale{k}"] for k in (1, 2, 3, 4)], axis=1)
    law = _law(members, counts, dict(enumerate(size.tolist())), inverse, np.zeros(len(profile)))
    return replace(law, values=None)


def _relative_to_own_mean(profile: Profile, members: FloatArray) -> Denominators:
    """Return the law of z = mean |s| / |s|: each user's histogram, inverted and shifted by the user's mean."""
    if profile.buckets:
        raise OptionError("relative noise with `error=scaled` needs single users: use `buckets=0` or `method=direct`")
    readings, sizes = profile.rows["readings"], profile.rows["sum_abs"]
    mean = np.where(sizes > 0, sizes / np.maximum(readings, 1), 1.0)
    histogram = profile.histogram
    place = np.searchsorted(profile.bin_index, histogram.bin)
    typical = mean[histogram.row] / typical_sizes(profile)[place]
    shifted: IntArray = bin_of(typical)
    third: FloatArray = np.bincount(histogram.row, histogram.count * typical**-3.0, len(profile)).astype(float)
    inverse = _own_powers(profile, mean, third)
    bins, at = np.unique(shifted, return_inverse=True)
    middle = np.bincount(at, histogram.count * typical) / np.bincount(at, histogram.count)
    size = dict(zip(bins.tolist(), middle.tolist(), strict=True))
    zero = np.where(sizes > 0, profile.rows["zeros"], 0).astype(float)
    counts = Counts.gather(histogram.row, shifted, histogram.count)
    return _law(members, counts, size, inverse, zero)


def _own_powers(profile: Profile, mean: FloatArray, third: FloatArray) -> FloatArray:
    """Return each user's sums of (|s| / mean)^k, k = 1..4, from the sums of s^k.

    If signs are mixed, the sum for |s|^3 is not known exactly; ``third``, computed from the bins, is used instead.
    """
    _, _, second, cubes, fourth = np.moveaxis(profile.cells.sum(axis=1), -1, 0)
    one_sign = (profile.rows["negatives"] == 0) | (
        profile.rows["negatives"] + profile.rows["zeros"] == profile.rows["readings"]
    )
    first = np.where(profile.rows["sum_abs"] > 0, profile.rows["readings"], 0)
    return np.stack(
        [first, second / mean**2, np.where(one_sign, np.abs(cubes) / mean**3, third), fourth / mean**4], axis=1
    )
