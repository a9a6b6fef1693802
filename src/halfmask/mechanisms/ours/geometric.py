"""Geometric noise: discrete Laplace noise on the lattice of the setting."""

import math

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import SettingError
from halfmask.mechanisms.geometric_moments import geometric_moments
from halfmask.mechanisms.mechanism import Noise, Parameters, in_scales, signs, whole_steps
from halfmask.mechanisms.ours.laplace import Laplace
from halfmask.mechanisms.privacy_loss import LossCells
from halfmask_device.laws.geometric import MECHANISM

EXACT = 1e15  # number of steps from which one more step is below the rounding of the noise itself
POINTS = 2**18  # largest number of lattice points that `corners` lists on each side of 0


class Geometric(Noise):
    """Discrete Laplace noise: psi = step K with P(K = k) = (1 - a)/(1 + a) a^|k| and a = exp(-step/b).

    K is the difference of two geometric numbers, so a sum of n draws is the difference of two negative binomials. b = 0
    means no noise. As step/b tends to 0, the distribution tends to that of laplace:b.
    """

    form = MECHANISM
    proven = True
    falling = True

    def cdf(self, parameters: FloatArray, y: FloatArray) -> FloatArray:
        """Return P(|K| <= m) = 1 - 2 a^(m+1) / (1 + a), with m = floor(y/step) and a = exp(-step/b).

        A y below a lattice point by less than a relative 1e-12 counts as that point.
        """
        rate = _rate(parameters)[:, None]
        steps = in_scales(y, parameters[:, 1:2])
        with np.errstate(over="ignore", invalid="ignore"):
            exponent = rate * (np.floor(steps * (1 + 1e-12)) + 1)
        beyond = np.exp(-np.where(steps < EXACT, exponent, in_scales(y, parameters[:, :1])))
        return np.where(np.asarray(y) < 0, 0.0, 1 - 2 * beyond / (1 + np.exp(-rate)))

    def moments(self, parameters: FloatArray) -> FloatArray:
        """Return step^k E|K|^k = step^k 2/(1 + a) E G^k, with G geometric, P(G >= k) = a^k and a = exp(-step/b)."""
        b, step = parameters.T
        rate = _rate(parameters)
        with np.errstate(over="ignore"):
            return np.asarray(geometric_moments(_mean(b, rate), step) * (2 / (1 + np.exp(-rate)))[:, None])

    def support(self, parameters: FloatArray) -> FloatArray:
        return np.where(parameters[:, 0] > 0, np.inf, 0.0)

    def sample(self, parameters: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of step K. |K| is 0 with probability (1 - a)/(1 + a), a = exp(-step/b), and else 1 + a geometric
        number.
        """
        b, step = map(float, parameters)
        rate = float(_rate(parameters[None])[0])
        moved = rng.random(size) < 2 * np.exp(-rate) / (1 + np.exp(-rate))
        with np.errstate(over="ignore"):
            distance = b * rng.standard_exponential(size)
            steps = distance / step
            psi = np.where(steps < EXACT, step * (1 + np.floor(steps)), distance)
        return np.where(moved, psi, 0.0) * signs(size, rng)

    def sample_sum(self, parameters: FloatArray, n: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return differences of two negative binomials, each drawn as a Poisson number with a gamma mean."""
        return self._negative_binomial(parameters, n, rng) - self._negative_binomial(parameters, n, rng)

    @staticmethod
    def _negative_binomial(parameters: FloatArray, n: IntArray, rng: np.random.Generator) -> FloatArray:
        b, step = parameters
        with np.errstate(over="ignore"):
            mean = rng.standard_gamma(n) * _mean(b, _rate(parameters[None])[0])
            steps = mean / step
            return np.where(steps < EXACT, step * rng.poisson(np.minimum(steps, EXACT)), mean)

    def quantile(self, parameters: FloatArray, u: FloatArray) -> FloatArray:
        """Return step K, where |K| is the least m with P(|K| <= m) >= |2u - 1|."""
        b, step = parameters
        centred = 2 * u - 1
        beyond = (1 - np.abs(centred)) * (1 + np.exp(-step / b)) / 2
        steps = np.maximum(np.ceil(-np.log(beyond) * b / step) - 1, 0)
        return np.asarray(np.sign(centred) * step * steps)

    def pure_epsilon(self, parameters: Parameters, change: float) -> float | None:
        """Return change/b. The change is rounded up to the lattice, because readings lie on it."""
        b, step = parameters
        epsilon = whole_steps(change, step) * step / b if b else math.inf
        return epsilon if math.isfinite(epsilon) else None

    def epsilon_width(self, parameters: Parameters) -> float | None:
        return parameters[1]

    def lattice(self, parameters: Parameters) -> float | None:
        return parameters[1]

    def corners(self, parameters: Parameters, end: float) -> tuple[FloatArray, bool]:
        """Return the points half-way between lattice points, at most `POINTS` of them."""
        step = parameters[1]
        return (np.arange(float(min(POINTS, math.ceil(end / step) + 1))) + 0.5) * step, True

    def grown(self, parameters: FloatArray, factor: float) -> FloatArray:
        """Multiply b and the step by the factor."""
        return parameters * factor

    def pmf(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:
        return self._discrete.pmf(self._on(parameters, step), step, k)

    def lattice_tail(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:
        return self._discrete.lattice_tail(self._on(parameters, step), step, k)

    def lattice_variance(self, parameters: Parameters, step: float) -> float:
        return self._discrete.lattice_variance(self._on(parameters, step), step)

    def lattice_loss_cells(self, parameters: Parameters, step: float, steps: int) -> LossCells:
        return self._discrete.lattice_loss_cells(parameters, step, steps)

    _discrete = Laplace()

    def _on(self, parameters: Parameters, step: float) -> Parameters:
        """Return (b,). Raise a SettingError unless the published lattice has the setting's step."""
        if not math.isclose(parameters[1], step, rel_tol=1e-12):
            raise SettingError(
                f"geometric: its step is {parameters[1]:g}, the lattice's {step:g}; unless they are equal reports "
                "tell the rest of the reading: take a lattice of that step, or laplace:b",
                kind="step",
            )
        return parameters[:1]


def _rate(parameters: FloatArray) -> FloatArray:
    """Return step / b; inf if b = 0."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(parameters[:, 1] / parameters[:, 0])


def _mean(b: FloatArray, rate: FloatArray) -> FloatArray:
    """Return the mean of step G, b rate / (exp(rate) - 1) with rate = step/b. As the step tends to 0, it tends to b."""
    with np.errstate(over="ignore", invalid="ignore"):
        shrink = np.where(rate > 0, rate / np.expm1(rate), 1.0)
    return b * np.where(rate > 700, 0.0, shrink)
