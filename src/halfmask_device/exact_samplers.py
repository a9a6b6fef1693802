"""Exact samplers in integers: Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020).

They only compare uniform integers, without logarithms, exponentials or floats. So the distributions are exact, without
rounding. The running time is random and depends on the result.
"""

from fractions import Fraction
from math import isqrt

from halfmask_device.random_bits import Bits


def bernoulli_exp(source: Bits, numerator: int, denominator: int) -> bool:
    """Return True with probability exp(-gamma), where gamma = numerator/denominator >= 0.

    For gamma <= 1, let K be the first k at which a coin with probability gamma/k fails. Then P(K > k) = gamma^k/k!, so
    P(K odd) = sum_k (-gamma)^k/k! = exp(-gamma). For a larger gamma, exp(-gamma) is a product of such factors.
    """
    while numerator > denominator:
        if not bernoulli_exp(source, 1, 1):
            return False
        numerator -= denominator
    k = 1
    while source.below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def geometric(source: Bits, numerator: int, denominator: int) -> int:
    """Draw G = 0, 1, ... with P(G >= k) = exp(-k numerator/denominator), both above 0.

    Let t = denominator and X = U + t V, with P(U = u) proportional to exp(-u/t) for 0 <= u < t and P(V >= v) = exp(-v).
    Then P(X >= x) = exp(-x/t), and G = floor(X/numerator).
    """
    while True:
        u = source.below(denominator)
        if bernoulli_exp(source, u, denominator):
            break
    v = 0
    while bernoulli_exp(source, 1, 1):
        v += 1
    return (u + denominator * v) // numerator


def discrete_laplace(source: Bits, scale: Fraction) -> int:
    """Draw K with P(K = k) proportional to exp(-|k|/scale), for scale > 0: `geometric` with a sign, without -0."""
    t, s = scale.as_integer_ratio()
    while True:
        size, negative = geometric(source, s, t), source.bits(1)
        if size or not negative:
            return -size if negative else size


def discrete_gaussian(source: Bits, variance: Fraction) -> int:
    """Draw K with P(K = k) proportional to exp(-k^2 / (2 variance)), for variance > 0.

    A discrete Laplace Y of scale t = floor(sigma) + 1, sigma = sqrt(variance), is accepted with probability exp(-(|Y| -
    variance/t)^2 / (2 variance)). The variance of K is below the parameter ``variance``, by very little if it exceeds
    1.
    """
    n, d = variance.as_integer_ratio()
    t = isqrt(n // d) + 1
    scale = Fraction(t)
    while True:
        y = discrete_laplace(source, scale)
        if bernoulli_exp(source, (abs(y) * t * d - n) ** 2, 2 * n * d * t * t):
            return y
