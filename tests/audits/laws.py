"""Hockey-stick divergences by other routes: closed forms, and densities written out and integrated."""

import math
from collections.abc import Callable

import numpy as np
from scipy.stats import norm

from halfmask.arrays import FloatArray


def laplace(epsilon: float, pure: float) -> float:
    """(1 - e^((epsilon - pure)/2))+."""
    return max(-math.expm1((epsilon - pure) / 2), 0.0)


def gaussian(epsilon: float, mu: float) -> float:
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), mu = d sqrt(n) / sigma for n reports."""
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon + norm.logcdf(-mu / 2 - epsilon / mu)))


def sine(theta: tuple[float, ...], change: float, epsilon: float) -> float:
    """E (1 - e^epsilon q/p)+ over the sine's own angle, where the spikes of the density are no spikes."""
    x = np.sin((np.arange(2**19) + 0.5) / 2**19 * np.pi - np.pi / 2)
    powers = 2 * np.arange(len(theta)) + 1
    terms = np.array(theta) ** powers

    def noise(z: FloatArray) -> FloatArray:
        return np.sum([t * z**k for t, k in zip(terms, powers, strict=True)], axis=0)

    def density(z: FloatArray) -> FloatArray:
        slope = np.sum([t * k * z ** (k - 1) for t, k in zip(terms, powers, strict=True)], axis=0)
        return 1 / (np.pi * slope * np.sqrt(1 - z**2))

    grid = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 2**19))
    moved = noise(x) - change
    inside = np.abs(moved) < terms.sum()
    back = np.clip(np.interp(moved[inside], noise(grid), grid), -1 + 1e-15, 1 - 1e-15)
    ratio = np.zeros_like(x)
    ratio[inside] = density(back) / density(x[inside])
    return float(np.mean(np.maximum(1 - math.exp(epsilon) * ratio, 0)))


def integrated(density: Callable[[FloatArray], FloatArray], change: float, epsilon: float, end: float) -> float:
    """The divergence of a density by the midpoint rule, from -end to end."""
    width = 2 * end / 2**19
    x = (np.arange(2**19) + 0.5) * width - end
    return float(np.sum(np.maximum(density(x) - math.exp(epsilon) * density(x - change), 0)) * width)


def staircase(x: FloatArray, epsilon: float, delta: float, gamma: float) -> FloatArray:
    """The density of Geng and Viswanath's law."""
    steps = np.abs(x) / delta
    level = np.floor(steps) + (steps - np.floor(steps) >= gamma)
    height = -math.expm1(-epsilon) / (2 * delta * (gamma + math.exp(-epsilon) * (1 - gamma)))
    return height * np.exp(-epsilon * level)
