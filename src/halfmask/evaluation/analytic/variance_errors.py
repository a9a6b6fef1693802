"""Global errors of the variance as aggregate, from a period's number of readings and sums of s^k, k = 1..4.

With x_i = s_i - mean, additive noise changes a period's variance, corrected for sigma^2, by

    (2/n) sum x_i psi_i + (1/n) sum psi_i^2 - (mean psi)^2 - sigma^2

This is normal only if many readings contribute. Few readings, or a few far from the mean, make it skewed and
heavy-tailed. A period's readings are therefore replaced by three values with the same first four moments: the mean, and
one value on each side of it (`Nodes`), each representing a whole number of readings. If a value represents few
readings, their noises are drawn one by one; sums over many are normal. The only approximation is that far readings on
one side are treated as equal.

For relative noise, m = s (1 + psi), the estimate (V(m) - sigma^2 mean(m)^2) / (1 + sigma^2) is treated in the same way.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.aggregates import own_variance
from halfmask.evaluation.analytic.error_summaries import linear_summaries
from halfmask.evaluation.analytic.noise_sums import MOST_DRAWN, enough
from halfmask.mechanisms.mechanism import Mechanism
from halfmask.mechanisms.scaled_noise import ScaledNoise

MANY_OF_SCALED = 256  # drawn once for all scales, so more can be afforded


@dataclass(frozen=True)
class Nodes:
    """Readings of T periods as three values each.

    ``value``, ``count``  (3, T) values and how many readings each represents; the middle value is ``mean``
    ``lost``              (2, T) factors for relative noise that compensate the rounding of counts, in the deviations of
                          sum (s^2 - mean s) psi and of sum s^2 psi^2
    """

    n: FloatArray
    mean: FloatArray
    value: FloatArray
    count: IntArray
    lost: FloatArray

    @classmethod
    def of(cls, sums: FloatArray) -> "Nodes":
        """Return the nodes for sums (T, 5) of periods with a reading.

        The three-point law on x1 < 0 < x2 and 0 with variance V and central moments m3, m4 has x1 + x2 = m3/V and x1 x2
        = (m3/V)^2 - m4/V. Its weights are probabilities because of Pearson's inequality m4/V^2 >= 1 + m3^2/V^3. They
        are rounded to whole numbers of readings, at least one on each side, and x1, x2 are rescaled to keep mean and
        variance. If readings are equal, or there is one, all are at the mean.
        """
        n, s1, s2, s3, s4 = np.moveaxis(sums, -1, 0)
        mean = s1 / n
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            variance = own_variance(s2 / n - mean**2, mean)
            skew = (s3 / n - 3 * mean * s2 / n + 2 * mean**3) / variance
            fourth = (s4 / n - 4 * mean * s3 / n + 6 * mean**2 * s2 / n - 3 * mean**4) / variance
            known = np.isfinite(skew) & np.isfinite(fourth)
            skew = np.where(known, skew, 0.0)
            fourth = np.where(known, np.maximum(fourth, variance + skew**2), variance)
            width = np.sqrt(skew**2 + 4 * (fourth - skew**2))
            above, below = (width + skew) / 2, (width - skew) / 2
            share = np.stack([variance / (width * below), variance / (width * above)])
        low, high = np.maximum(np.round(n * np.nan_to_num(share, nan=0.5, posinf=0.5)), 1)
        excess = np.maximum(low + high - n, 0)
        low, high = np.where(low >= high, low - excess, low), np.where(low >= high, high, high - excess)
        low, high = np.maximum(low, 1), np.maximum(high, 1)
        up = np.sqrt(n * variance * low / (high * (low + high)))
        value = np.stack([mean - up * high / low, mean, mean + up])
        low, high = np.where(variance > 0, low, 0), np.where(variance > 0, high, 0)
        count = np.stack([low, n - low - high, high]).astype(np.int64)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            exact = np.stack([s4 - 2 * mean * s3 + mean**2 * s2, s4])
            here = np.stack([count * (value**2 - mean * value) ** 2, count * value**4]).sum(axis=1)
            lost = np.sqrt(np.nan_to_num(exact / here, nan=1.0, posinf=1.0, neginf=1.0).clip(0.1, 10))
        return cls(n, mean, value, count, lost)

    def terms(self, first: FloatArray, square: FloatArray, variance: FloatArray | float, relative: bool) -> FloatArray:
        """Return the coefficients (4, T) of b^1..b^4 in the change of the variance for noise b psi.

        ``first``, ``square``  sums (3, T) of psi and psi^2 over the readings of each value

        For relative noise, the result must be divided by 1 + b^2 ``variance``.
        """
        n = self.n
        if not relative:
            shift = first.sum(axis=0) / n
            out = [2 * ((self.value - self.mean) * first).sum(axis=0) / n, square.sum(axis=0) / n - shift**2 - variance]
            return np.stack([*out, np.zeros(len(n)), np.zeros(len(n))])
        shift = (self.value * first).sum(axis=0) / n
        apart, around = self.lost
        return np.stack(
            [
                apart * 2 * ((self.value**2 - self.mean * self.value) * first).sum(axis=0) / n,
                around * (self.value**2 * (square - variance * self.count)).sum(axis=0) / n - shift**2,
                -2 * variance * self.mean * shift,
                -variance * shift**2,
            ]
        )


def variance_summaries(
    law: Mechanism,
    parameters: FloatArray,
    moments: FloatArray,
    sums: FloatArray,
    divisor: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return mean, standard deviation and entropy of the errors of periods with these sums: (settings, 3)."""
    nodes, relative = Nodes.of(sums), law.kind == "relative"
    normal = rng.standard_normal((2, *nodes.count.shape))
    state = rng.bit_generator.state
    if isinstance(law, ScaledNoise):
        unit = law.moments(np.ones((1, 1)))[0]
        first, square = node_sums(nodes.count, normal, unit, MANY_OF_SCALED, law, np.ones(1), rng)
        terms = nodes.terms(first, square, unit[1], relative) / divisor
        b = parameters[:, :1]
        with np.errstate(over="ignore", invalid="ignore"):
            powers = b ** np.arange(1, 5) / (1 + b**2 * unit[1] if relative else 1.0)
            return np.asarray(linear_summaries(terms, powers))
    out = np.empty((len(parameters), 3))
    for row, (setting, own) in enumerate(zip(parameters, moments, strict=True)):
        rng.bit_generator.state = state  # the same chances for every setting
        first, square = node_sums(nodes.count, normal, own, few_enough(own), law, setting, rng)
        terms = nodes.terms(first, square, own[1], relative) / divisor
        out[row] = linear_summaries(terms, np.full((1, 4), 1 / (1 + own[1] if relative else 1.0)))[0]
    return out


def few_enough(moments: FloatArray) -> float:
    """Return the number of draws of this noise below which each is drawn."""
    return min(float(enough(moments[None])[0]), MOST_DRAWN)


def node_sums(
    count: IntArray,
    normal: FloatArray,
    moments: FloatArray,
    many: float,
    law: Mechanism,
    setting: FloatArray,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return sums of psi and of psi^2 over ``count`` draws each: drawn if there are fewer than ``many``,
    else normal.
    """
    _, variance, _, fourth = moments
    with np.errstate(over="ignore", invalid="ignore"):
        first = np.sqrt(count * variance) * normal[0]
        square = count * variance + np.sqrt(count * max(fourth - variance**2, 0.0)) * normal[1]
    few = (count < many) & (count > 0)
    sizes = count[few]
    if len(sizes):
        psi = law.sample(setting, int(sizes.sum()), rng)
        starts = np.cumsum(sizes) - sizes
        with np.errstate(over="ignore", invalid="ignore"):
            first[few], square[few] = np.add.reduceat(psi, starts), np.add.reduceat(psi**2, starts)
    return first, square
