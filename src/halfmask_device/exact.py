"""Exact samplers in integers: Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020).

No logarithm, no exponential and no floating point: every probability below is that of comparing uniform integers, so
the laws hold exactly and not up to rounding. Their running time is random and depends on what is drawn.
"""

from fractions import Fraction
from math import isqrt

from halfmask_device.prf import Bits


def bernoulli_exp(source: Bits, numerator: int, denominator: int) -> bool:
    """True with probability exp(-numerator/denominator), for numerator >= 0 and denominator > 0.

    For gamma <= 1 let K be the first k at which a coin of chance gamma/k fails: P(K > k) = gamma^k/k!, so that
    P(K odd) = sum_k (-gamma)^k/k! = exp(-gamma). A larger gamma is a product of such factors.
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
    """G = 0, 1, ... with P(G >= k) = exp(-k numerator/denominator), both above 0.

    X = U + t V, with P(U = u) proportional to exp(-u/t) below t = denominator and P(V >= v) = exp(-v), has
    P(X >= x) = exp(-x/t); G = floor(X/numerator).
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
    """K with P(K = k) proportional to exp(-|k|/scale), for scale > 0: a signed `geometric`, with 0 counted once."""
    t, s = scale.as_integer_ratio()
    while True:
        size, negative = geometric(source, s, t), source.bits(1)
        if size or not negative:
            return -size if negative else size


def discrete_gaussian(source: Bits, variance: Fraction) -> int:
    """K with P(K = k) proportional to exp(-k^2 / (2 variance)), for variance > 0.

    A discrete Laplace Y of scale t = floor(sigma) + 1 is kept with chance exp(-(|Y| - variance/t)^2 / (2 variance)).
    ``variance`` is a parameter of the law; the variance of K is below it, by very little once it exceeds 1.
    """
    n, d = variance.as_integer_ratio()
    t = isqrt(n // d) + 1
    scale = Fraction(t)
    while True:
        y = discrete_laplace(source, scale)
        if bernoulli_exp(source, (abs(y) * t * d - n) ** 2, 2 * n * d * t * t):
            return y
