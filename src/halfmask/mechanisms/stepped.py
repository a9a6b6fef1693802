"""Noise built on a geometric number of steps: staircase and geometric (discrete Laplace)."""

import numpy as np

from halfmask.errors import SettingError
from halfmask.mechanisms.base import Floats, Integers, Noise, in_scales, signs

STIRLING = ((1,), (1, 1), (1, 3, 1), (1, 7, 6, 1))  # of the second kind: powers in falling factorials
FACTORIAL = (1, 2, 6, 24)
EXACT = 1e15  # steps from which one step more is below the rounding of the noise itself


def _geometric_moments(mean: Floats, step: Floats) -> Floats:
    """E(step G)^k, k = 1..4, shape (S, 4), for geometric G with E[step G] = ``mean``.

    E G(G-1)...(G-j+1) = j! (E G)^j, so E(step G)^k = sum_j S(k, j) j! mean^j step^(k-j). Each product is built factor
    by factor, so that it overflows to inf and never to NaN.
    """
    result = np.zeros((len(mean), 4))
    with np.errstate(over="ignore"):
        for k in range(1, 5):
            for j in range(1, k + 1):
                term = np.full(len(mean), float(STIRLING[k - 1][j - 1] * FACTORIAL[j - 1]))
                for factor in (mean,) * j + (step,) * (k - j):
                    term = term * factor
                result[:, k - 1] += term
    return result


def _mean_steps(step: Floats, rate: Floats) -> Floats:
    """step / (exp(rate) - 1): the mean of step G where P(G >= k) = exp(-rate k)."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        mean = step / np.expm1(rate)
    return np.where(step == 0, 0.0, mean)


class Staircase(Noise):
    """The staircase law of Geng and Viswanath, with their parameters: epsilon, sensitivity delta, shape gamma.

    |psi| = delta (G + V): G is geometric, P(G >= k) = exp(-k epsilon); within its step of width delta the density
    is exp(epsilon) times higher on the first part gamma than on the rest. delta = 0 means no noise;
    gamma = 1/(1 + exp(epsilon/2)) is their best for E|psi|.
    """

    name = "staircase"
    parameter_names = ("epsilon", "delta", "gamma")

    def check(self, parameters: tuple[float, ...]) -> None:
        super().check(parameters)
        epsilon, _, gamma = parameters
        if epsilon == 0:
            raise SettingError("staircase: epsilon is 0, which asks for endless noise; it must be above 0")
        if gamma > 1:
            raise SettingError(f"staircase: gamma is {gamma:g}; it is a share, between 0 and 1")

    def cdf(self, parameters: Floats, y: Floats) -> Floats:
        """1 - exp(-g epsilon) (1 - (1 - exp(-epsilon)) P(V <= v)) for y = delta (g + v), g whole and 0 <= v < 1."""
        epsilon, delta, gamma = (parameters[:, i : i + 1] for i in range(3))
        steps = in_scales(y, delta)
        whole = np.floor(steps)
        part = np.where(np.isfinite(steps), steps, 0.0) - np.where(np.isfinite(whole), whole, 0.0)
        decay = _decay(epsilon)
        within = (np.minimum(part, gamma) + decay * np.maximum(part - gamma, 0)) / (gamma + decay * (1 - gamma))
        with np.errstate(over="ignore"):
            rate = whole * epsilon
        result: Floats = -np.expm1(-rate) - np.exp(-rate) * np.expm1(-epsilon) * within
        return np.minimum(result, 1.0)

    def moments(self, parameters: Floats) -> Floats:
        """E|psi|^k = sum_j C(k, j) E(delta G)^(k-j) E(delta V)^j."""
        epsilon, delta, gamma = parameters.T
        steps = _geometric_moments(_mean_steps(delta, epsilon), delta)
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

    def support(self, parameters: Floats) -> Floats:
        return np.where(parameters[:, 1] > 0, np.inf, 0.0)

    def sample(self, parameters: Floats, size: int, rng: np.random.Generator) -> Floats:
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


def _decay(epsilon: Floats) -> Floats:
    """exp(-epsilon), kept above 0 so that gamma = 0 leaves a law even where it underflows."""
    return np.maximum(np.exp(-epsilon), 1e-300)


class Geometric(Noise):
    """Discrete Laplace on a lattice: psi = step K, P(K = k) = (1 - a)/(1 + a) a^|k|, a = exp(-step/b).

    K is the difference of two geometric numbers, so the sum of n is the difference of two negative binomials.
    b = 0 means no noise. As step/b goes to 0 the law goes to laplace:b.
    """

    name = "geometric"
    parameter_names = ("b", "step")

    def check(self, parameters: tuple[float, ...]) -> None:
        super().check(parameters)
        if parameters[1] == 0:
            raise SettingError("geometric: step is 0, but a lattice needs a step above 0; for none write laplace:b")

    def cdf(self, parameters: Floats, y: Floats) -> Floats:
        """P(|K| <= m) = 1 - 2 a^(m+1) / (1 + a) with m = floor(y/step); y within 1e-12 of a lattice point is on it."""
        rate = _rate(parameters)[:, None]
        steps = in_scales(y, parameters[:, 1:2])
        with np.errstate(over="ignore", invalid="ignore"):
            exponent = rate * (np.floor(steps * (1 + 1e-12)) + 1)
        beyond = np.exp(-np.where(steps < EXACT, exponent, in_scales(y, parameters[:, :1])))
        return np.where(np.asarray(y) < 0, 0.0, 1 - 2 * beyond / (1 + np.exp(-rate)))

    def moments(self, parameters: Floats) -> Floats:
        """E|K|^k = 2/(1 + a) E G^k, G geometric with P(G >= k) = a^k."""
        b, step = parameters.T
        rate = _rate(parameters)
        with np.errstate(over="ignore"):
            result: Floats = _geometric_moments(_mean(b, rate), step) * (2 / (1 + np.exp(-rate)))[:, None]
        return result

    def support(self, parameters: Floats) -> Floats:
        return np.where(parameters[:, 0] > 0, np.inf, 0.0)

    def sample(self, parameters: Floats, size: int, rng: np.random.Generator) -> Floats:
        """|K| is 0 with probability (1 - a)/(1 + a), else 1 + G."""
        b, step = map(float, parameters)
        rate = float(_rate(parameters[None])[0])
        moved = rng.random(size) < 2 * np.exp(-rate) / (1 + np.exp(-rate))
        with np.errstate(over="ignore"):
            distance = b * rng.standard_exponential(size)
            steps = distance / step
            psi = np.where(steps < EXACT, step * (1 + np.floor(steps)), distance)
        return np.where(moved, psi, 0.0) * signs(size, rng)

    def sample_sum(self, parameters: Floats, n: Integers, rng: np.random.Generator) -> Floats:
        """Each negative binomial is a Poisson number with a gamma mean."""
        return self._negative_binomial(parameters, n, rng) - self._negative_binomial(parameters, n, rng)

    @staticmethod
    def _negative_binomial(parameters: Floats, n: Integers, rng: np.random.Generator) -> Floats:
        b, step = parameters
        with np.errstate(over="ignore"):
            mean = rng.standard_gamma(n) * _mean(b, _rate(parameters[None])[0])
            steps = mean / step
            return np.where(steps < EXACT, step * rng.poisson(np.minimum(steps, EXACT)), mean)


def _rate(parameters: Floats) -> Floats:
    """step / b, inf where b = 0."""
    with np.errstate(divide="ignore", over="ignore"):
        rate: Floats = parameters[:, 1] / parameters[:, 0]
    return rate


def _mean(b: Floats, rate: Floats) -> Floats:
    """b rate / (exp(rate) - 1): the mean of step G, which tends to b as the step goes to 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        shrink = np.where(rate > 0, rate / np.expm1(rate), 1.0)
    return b * np.where(rate > 700, 0.0, shrink)
