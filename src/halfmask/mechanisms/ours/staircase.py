"""Staircase noise, the optimal noise with pure epsilon for one number."""

import math

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.geometric_moments import geometric_moments
from halfmask.mechanisms.mechanism import Noise, Parameters, Shape, in_scales, signs, whole_steps
from halfmask_device.laws.staircase import MECHANISM

STAIRS = 2**13
LEAST_EPSILON, MOST_EPSILON, CLOSE, TRIED = 1e-9, 700.0, 1e-6, 500
OCTAVES = (0.0, -0.15, -1.0, 1.0, 2.0, 3.5, 5.0, 6.5)
"""Step widths to try first, as log2 of width/change.

If the guarantee's delta is small, width = change is best. If delta exceeds epsilon, a much larger width is best.
"""
SHARES = (0.4, 0.1, 0.7, 1.0)
LEAST_SHARE = 1e-3


def _mean_steps(step: FloatArray, rate: FloatArray) -> FloatArray:
    """Return step / (exp(rate) - 1), the mean of step G for geometric G with P(G >= k) = exp(-rate k)."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        mean = step / np.expm1(rate)
    return np.where(step == 0, 0.0, mean)


class Staircase(Noise):
    """Staircase noise of Geng and Viswanath, with their parameters: epsilon, sensitivity delta, shape gamma.

    |psi| = delta (G + V), with G geometric, P(G >= k) = exp(-k epsilon), and V in [0, 1). In each step of width delta,
    the density on the first part (a share gamma) is exp(epsilon) times the density on the rest. delta = 0 means no
    noise. gamma = 1/(1 + exp(epsilon/2)) minimizes E|psi|.
    """

    form = MECHANISM
    proven = True
    falling = True
    unit_parameters = (1.0, 1.0, 0.3775406687981454)
    shapes = tuple((octaves, share) for octaves in OCTAVES for share in SHARES)

    def cdf(self, parameters: FloatArray, y: FloatArray) -> FloatArray:
        """Return 1 - exp(-g epsilon) (1 - (1 - exp(-epsilon)) P(V <= v)), where y = delta (g + v) with integer g and 0
        <= v < 1.
        """
        epsilon, delta, gamma = (parameters[:, i : i + 1] for i in range(3))
        steps = in_scales(y, delta)
        whole = np.floor(steps)
        part = np.where(np.isfinite(steps), steps, 0.0) - np.where(np.isfinite(whole), whole, 0.0)
        decay = _decay(epsilon)
        within = (np.minimum(part, gamma) + decay * np.maximum(part - gamma, 0)) / (gamma + decay * (1 - gamma))
        with np.errstate(over="ignore"):
            rate = whole * epsilon
        result: FloatArray = -np.expm1(-rate) - np.exp(-rate) * np.expm1(-epsilon) * within
        return np.minimum(result, 1.0)

    def moments(self, parameters: FloatArray) -> FloatArray:
        """Return E|psi|^k = sum_j C(k, j) E(delta G)^(k-j) E(delta V)^j."""
        epsilon, delta, gamma = parameters.T
        steps = geometric_moments(_mean_steps(delta, epsilon), delta)
        first = gamma / (gamma + _decay(epsilon) * (1 - gamma))
        result = np.zeros((len(parameters), 4))
        with np.errstate(over="ignore"):
            for k, choose in enumerate(((1, 1), (1, 2, 1), (1, 3, 3, 1), (1, 4, 6, 4, 1)), start=1):
                for j, ways in enumerate(choose):
                    upper = sum(gamma**i for i in range(j + 1))  # (1 - gamma^(j+1)) / (1 - gamma)
                    term = ways * (first * gamma**j + (1 - first) * upper) / (j + 1)
                    term = term * steps[:, k - j - 1] if j < k else term
                    for _ in range(j):
                        term = term * delta
                    result[:, k - 1] += np.where(delta > 0, term, 0.0)
        return result

    def support(self, parameters: FloatArray) -> FloatArray:
        return np.where(parameters[:, 1] > 0, np.inf, 0.0)

    def sample(self, parameters: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        epsilon, delta, gamma = map(float, parameters)
        first = gamma / (gamma + float(_decay(parameters[:1])[0]) * (1 - gamma))
        place = rng.random(size)
        low = rng.random(size) < first
        if delta == 0:
            return np.zeros(size)
        with np.errstate(over="ignore"):
            whole = np.floor(rng.standard_exponential(size) / epsilon)
            size_of = delta * (whole + np.where(low, gamma * place, gamma + (1 - gamma) * place))
        return signs(size, rng) * size_of

    def pure_epsilon(self, parameters: Parameters, change: float) -> float | None:
        """Return epsilon ceil(change/delta): the density falls by a factor of exp(-epsilon) per step of width delta."""
        own, width, _ = parameters
        epsilon = own * whole_steps(change, width) if width else math.inf
        return epsilon if math.isfinite(epsilon) else None

    def epsilon_width(self, parameters: Parameters) -> float | None:
        return parameters[1]

    def shaped(self, deviation: float, change: float, shape: Shape) -> Parameters:
        """Return the parameters for ``shape`` = (octaves, share).

        The width of the steps is ``change * 2^octaves``. gamma is ``share`` times its largest value: 1 or, if smaller,
        sqrt(3) deviation / width, for which uniform noise on the first part alone has this deviation. Epsilon is found
        by a search, because E psi^2 falls as epsilon grows.
        """
        octaves, share = shape
        width = change * 2**octaves
        gamma = min(max(share, LEAST_SHARE), 1.0) * min(1.0, math.sqrt(3) * deviation / width)
        low, high = LEAST_EPSILON, MOST_EPSILON
        while high - low > CLOSE * low:
            tried = np.geomspace(low, high, TRIED)
            rows = np.column_stack([tried, np.full(TRIED, width), np.full(TRIED, gamma)])
            loud = np.count_nonzero(self.moments(rows)[1:-1, 1] > deviation**2)
            low, high = tried[loud : loud + 2].tolist()
        return low, width, gamma

    def corners(self, parameters: Parameters, end: float) -> tuple[FloatArray, bool]:
        """Return both ends of the first part of each step, for at most `STAIRS` steps."""
        _, width, gamma = parameters
        whole = np.arange(float(min(STAIRS, math.ceil(end / width) + 1)))
        return np.asarray(np.concatenate([whole, whole + gamma]) * width), True

    def grown(self, parameters: FloatArray, factor: float) -> FloatArray:
        return np.asarray(parameters * np.array([1.0, factor, 1.0]))


def _decay(epsilon: FloatArray) -> FloatArray:
    """Return exp(-epsilon), at least 1e-300, so that gamma = 0 remains valid if exp(-epsilon) underflows."""
    return np.maximum(np.exp(-epsilon), 1e-300)
