"""Laplace noise, one of the paper's two mechanisms, and its relative form."""

import math

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.mechanism import Parameters, RelativeNoise, Source
from halfmask.mechanisms.privacy_loss import FURTHEST, LossCells
from halfmask.mechanisms.scaled_noise import ScaledNoise
from halfmask_device.laws.laplace import MECHANISM

LONGEST = 80.0
"""Scales b beyond which a Laplace distribution has a mass of 2e-35."""
CELLS = 2**13
"""Largest number of cells of the privacy loss. On a finer lattice, neighbouring points share a cell."""


class Laplace(ScaledNoise):
    """Laplace noise: P(|psi| <= y) = 1 - exp(-y/b), E|psi|^k = k! b^k. A sum of n draws is b (Gamma(n) - Gamma'(n))."""

    form = MECHANISM
    unit_moments = (1.0, 2.0, 6.0, 24.0)
    proven = True
    falling = True
    exact_sums = True
    fisher = 2.0
    steepest = 1.0

    def unit_cdf(self, z: FloatArray) -> FloatArray:
        return np.asarray(-np.expm1(-z))

    def unit_sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        return rng.laplace(size=size)

    def fill(self, parameters: FloatArray, values: FloatArray, source: Source, out: FloatArray) -> None:
        from halfmask.mechanisms.draw_kernel import laplace  # imported here because numba is slow to import

        laplace(values, source.words, float(parameters[0]), self.kind == "relative", out)

    def sample_sum(self, parameters: FloatArray, n: IntArray, rng: np.random.Generator) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(parameters[0] * (rng.standard_gamma(n) - rng.standard_gamma(n)))

    def standard_sums(self, n: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return (Gamma(n) - Gamma'(n)) / sqrt(2n), with two independent gamma variables.

        n need not be an integer: for some n, this has the variance and kurtosis of a sum of unequal noises s psi.
        """
        unit = rng.standard_gamma(n) - rng.standard_gamma(n)
        return np.divide(unit, np.sqrt(2 * n), out=np.zeros(len(n)), where=n > 0)

    def quantile(self, parameters: FloatArray, u: FloatArray) -> FloatArray:
        centred = u - 0.5
        return np.asarray(-parameters[0] * np.sign(centred) * np.log(1 - 2 * np.abs(centred)))

    def tail(self, parameters: Parameters, y: FloatArray) -> FloatArray:
        """Return P(psi > y) = exp(-y/b)/2."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(np.exp(-np.divide(y, parameters[0])) / 2) if parameters[0] else np.zeros(np.shape(y))

    def loss_cells(self, parameters: Parameters, change: float) -> LossCells:
        """Return cells of the loss |x - d| - |x| of noise x, for readings d apart, in units of b.

        The loss is d for x <= 0, -d for x >= d, and linear between. P(x <= 0) = 1/2 and P(x > y) = e^-y/2. The mean
        loss of a cell between 0 and d is the middle of its ends.
        """
        apart = min(change / parameters[0], FURTHEST)
        edges = np.linspace(0, min(apart, LONGEST), CELLS)
        p = np.concatenate([[1.0], np.exp(-edges[:-1]) * -np.expm1(-np.diff(edges)), np.exp(-edges[-1:])]) / 2
        high = apart - 2 * np.append(0.0, edges)
        return _between(p, np.concatenate([high[:1], high[2:], [-apart]]), high)

    def lattice_loss_cells(self, parameters: Parameters, step: float, steps: int) -> LossCells:
        """Return cells of the loss x (|k - d| - |k|), with x = step/b and d = ``steps``: constant for k <= 0 and for k
        >= d.

        With a = e^-x, P(k <= 0) = 1/(1 + a) and P(k >= m) = a^m/(1 + a) for m >= 1. The mean loss of neighbours that
        share a cell is the middle of its ends.
        """
        rate = min(step / parameters[0], FURTHEST)
        last = steps if steps * rate < LONGEST else math.ceil(LONGEST / rate) + 1
        edges = np.unique(np.linspace(1, last, min(last, CELLS)).round())  # the first k of each cell after k <= 0
        first, until = np.append(0.0, edges), np.append(edges - 1, float(steps))
        with np.errstate(over="ignore"):
            within = np.append(-np.expm1(-rate * np.diff(edges)), 1.0)
            p = np.append(1.0, np.exp(-rate * edges) * within) / (1 + math.exp(-rate))
            high, low = rate * (steps - 2 * first), rate * (steps - 2 * until)
        low[0] = high[0]
        return _between(p, low, high)

    def pmf(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:
        """Return tanh(x/2) exp(-|k| x) with x = step/b: the discrete distribution with the same epsilon."""
        x = step / parameters[0] if parameters[0] else math.inf
        if x == math.inf:
            return np.where(k == 0, 1.0, 0.0)
        return np.asarray(math.tanh(x / 2) * np.exp(-np.abs(k) * x))

    def lattice_tail(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:
        """Return P(K >= k) = exp(-k x) / (1 + exp(-x)) with x = step/b."""
        x = step / parameters[0] if parameters[0] else math.inf
        return np.asarray(np.exp(-k * x) / (1 + math.exp(-x)))

    def lattice_variance(self, parameters: Parameters, step: float) -> float:
        """Return step^2 / (2 sinh^2(x/2)) with x = step/b."""
        x = step / parameters[0] if parameters[0] else math.inf
        return float(step**2 / (2 * math.sinh(x / 2) ** 2)) if x < 700 else 0.0


def _between(p: FloatArray, low: FloatArray, high: FloatArray) -> LossCells:
    """Return cells whose mean loss is the middle of their ends. In the last cell all losses are equal."""
    mean = low / 2 + high / 2
    mean[-1] = high[-1]
    held = p > 0
    return LossCells(p[held], mean[held], low[held], high[held])


class RelativeLaplace(RelativeNoise, Laplace):
    """Relative Laplace noise: m = s (1 + psi)."""

    name = "relative-laplace"
