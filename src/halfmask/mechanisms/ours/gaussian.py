"""Normal noise and its relative form."""

import math

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.mechanism import Parameters, RelativeNoise, Source
from halfmask.mechanisms.privacy_loss import FURTHEST, LossCells
from halfmask.mechanisms.scaled_noise import ScaledNoise
from halfmask_device.laws.gaussian import MECHANISM

WIDEST = 12.0
"""Standard deviations beyond which a normal distribution has a mass of 4e-33."""
CELLS = 2**13
"""Largest number of cells of the privacy loss. On a finer lattice, neighbouring points share a cell."""
SUMMED = 2**15
"""Largest number of lattice steps per standard deviation for which probabilities are summed. On finer lattices they are
integrals of the continuous distribution.
"""


class Gaussian(ScaledNoise):
    """Normal noise: P(|psi| <= y) = erf(y / (sigma sqrt 2)). The sum of n draws is normal with variance n sigma^2."""

    form = MECHANISM
    unit_moments = (math.sqrt(2 / math.pi), 1.0, 2 * math.sqrt(2 / math.pi), 3.0)
    proven = True
    falling = True
    exact_sums = True
    fisher = 1.0

    def unit_cdf(self, z: FloatArray) -> FloatArray:
        from scipy.special import erf  # imported here because SciPy is slow to import

        return np.asarray(erf(z / math.sqrt(2)))

    def unit_sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        return rng.standard_normal(size)

    def fill(self, parameters: FloatArray, values: FloatArray, source: Source, out: FloatArray) -> None:
        from halfmask.mechanisms.draw_kernel import scaled  # imported here because numba is slow to import

        draws = source.generator.standard_normal(len(values))
        scaled(values, draws, float(parameters[0]), self.kind == "relative", out)

    def sample_sum(self, parameters: FloatArray, n: IntArray, rng: np.random.Generator) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(parameters[0] * (np.sqrt(n) * rng.standard_normal(len(n))))

    def quantile(self, parameters: FloatArray, u: FloatArray) -> FloatArray:
        from scipy.special import ndtri

        return np.asarray(parameters[0] * ndtri(u))

    def tail(self, parameters: Parameters, y: FloatArray) -> FloatArray:
        from scipy.special import ndtr

        with np.errstate(over="ignore"):
            return np.asarray(ndtr(-np.divide(y, parameters[0]))) if parameters[0] else np.zeros(np.shape(y))

    def loss_cells(self, parameters: Parameters, change: float) -> LossCells:
        """Return cells of the loss d (d/2 - x), for readings d standard deviations apart."""
        apart = min(change / parameters[0], FURTHEST)
        edges = np.linspace(-WIDEST, WIDEST, CELLS)
        high, low = (apart * (apart / 2 - x) for x in (edges[:-1], edges[1:]))
        return LossCells.of(*_normal(edges, apart), low, high)

    def lattice_loss_cells(self, parameters: Parameters, step: float, steps: int) -> LossCells:
        """Return cells of the loss (d^2 - 2 k d)/(2 s^2), with d = ``steps`` and s = sigma/step.

        For s above `SUMMED`, probabilities are those of the rounded normal, with a relative error below 1/(24 s^2) =
        4e-11.
        """
        scale = max(parameters[0] / step, 1 / FURTHEST)
        last = math.ceil(WIDEST * scale)
        first = np.unique(np.linspace(-last, last, min(2 * last + 1, CELLS)).round())
        until = np.append(first[1:] - 1, float(last))
        apart = steps / scale
        high, low = (apart * (apart - 2 * (k / scale)) / 2 for k in (first, until))
        if scale > SUMMED:
            return LossCells.of(*_normal((np.append(first, last + 1.0) - 0.5) / scale, apart), low, high)
        k = np.arange(-last, last + 1.0)
        weight = np.exp(-((k / scale) ** 2) / 2)
        weight /= weight.sum()
        starts = (first + last).astype(np.int64)
        p = np.add.reduceat(weight, starts)
        beyond = (k - np.repeat(first, np.diff(np.append(starts, len(k))))) / scale  # deviations from the first k
        grown = np.add.reduceat(weight * np.exp(np.minimum(apart * beyond, 700.0)), starts)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = high - np.log(grown / p)
        return LossCells.of(p, mean, low, high)

    def pmf(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:
        """Return P(K = k) = exp(-k^2/(2 s^2)) / Z, with s = sigma/step and Z the sum over all k."""
        s = parameters[0] / step
        if not s:
            return np.where(k == 0, 1.0, 0.0)
        return np.asarray(np.exp(-((k / s) ** 2) / 2) / _sum_of_weights(s)[0])

    def lattice_tail(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:
        """Return P(K >= k), with K as in `pmf`: a sum, or above 50 steps per sigma the integral from k - 1/2.

        The integral's relative error is at most 1e-4, in the far tail.
        """
        from scipy.special import ndtr

        s = parameters[0] / step
        if not s:
            return np.zeros(np.shape(k))
        if s > 50:
            return np.asarray(ndtr(-(k - 0.5) / s))
        chances = self.pmf(parameters, step, np.arange(math.ceil(40 * s) + 2))
        beyond = np.append(np.cumsum(chances[::-1])[::-1], 0.0)
        return np.asarray(beyond[np.minimum(np.asarray(k, np.int64), beyond.size - 1)])

    def lattice_variance(self, parameters: Parameters, step: float) -> float:
        s = parameters[0] / step
        return step**2 * _sum_of_weights(s)[1] if s else 0.0


def _sum_of_weights(s: float) -> tuple[float, float]:
    """Return Z, the sum over k of exp(-k^2/(2 s^2)), and the variance of k.

    For s >= 1 it uses Poisson's formula Z = s sqrt(2 pi) (1 + 2 exp(-2 pi^2 s^2) + ...), whose next term is below
    1e-34, and variance = s^3 Z'/Z.
    """
    if s >= 1:
        wave = math.exp(-2 * math.pi**2 * s * s)
        return s * math.sqrt(2 * math.pi) * (1 + 2 * wave), s * s - 8 * math.pi**2 * s**4 * wave / (1 + 2 * wave)
    k = np.arange(-40, 41)
    with np.errstate(over="ignore"):
        weights = np.exp(-((k / s) ** 2) / 2)
    return float(weights.sum()), float((k**2 * weights).sum() / weights.sum())


def _normal(edges: FloatArray, apart: float) -> tuple[FloatArray, FloatArray]:
    """Return the probability of each cell and its mean loss log p/q. In q the reading is shifted by ``apart``.

    All lengths are in standard deviations.
    """
    p, q = normal_masses(edges), normal_masses(edges - apart)
    with np.errstate(divide="ignore", invalid="ignore"):
        return p, np.log(p) - np.log(q)


def normal_masses(edges: FloatArray) -> FloatArray:
    """Return the standard normal probabilities between increasing edges, each computed from the nearer tail for
    accuracy.
    """
    tail = np.array([math.erfc(abs(x) / math.sqrt(2)) / 2 for x in edges.tolist()])
    crossing = (edges[:-1] < 0) & (edges[1:] >= 0)
    return np.where(crossing, 1 - tail[:-1] - tail[1:], np.abs(np.diff(tail)))


class RelativeGaussian(RelativeNoise, Gaussian):
    """Relative normal noise: m = s (1 + psi)."""

    name = "relative-gaussian"
