"""The inverse of the sine mechanism's polynomial, for many settings and values, compiled with numba.

P(x) = sum_k (theta_k x)^(2k+1) with theta >= 0 is increasing and convex for x >= 0. From a point right of the root,
Newton's method therefore decreases to the root and never passes it. From a point left of the root, the first step
leads to its right, and not far if P at that point is at least y/2. So no bracket is needed.
"""

import numpy as np
from numba import njit

from halfmask.arrays import FloatArray

HUGE = 1e300  # for larger y, P' may overflow, so `_root_from_scratch` is used
CLOSE = 3e-6  # relative step whose third-order error is below rounding
TINY = 1e-250  # for smaller y, 1/P' may overflow, so `_root_from_scratch` is used


@njit(nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _root_from_scratch(theta: FloatArray, y: float) -> float:
    """Return the root x of sum_k (theta_k x)^(2k+1) = y for one y > 0 and any theta, without overflow.

    Each term alone gives an upper bound x <= y^(1/(2k+1)) / theta_k. With w = x / (least bound), the equation is
    sum_k b_k w^(2k+1) = 1, where 0 <= b_k <= 1 and one b_k is 1. So Newton's method starts at w = 1, right of the root.
    """
    bound = np.inf
    for k in range(theta.size):
        if theta[k] > 0:
            bound = min(bound, y ** (1 / (2 * k + 1)) / theta[k])
    if bound == 0:  # the root itself is below the least float
        return 0.0
    terms = np.zeros(theta.size)
    for k in range(theta.size):
        if theta[k] > 0:
            terms[k] = (bound / (y ** (1 / (2 * k + 1)) / theta[k])) ** (2 * k + 1)
    root: float = bound * _newton(terms, theta.size, 1.0, 1.0)
    return root


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})  # type: ignore[untyped-decorator]
def _newton(terms: FloatArray, count: int, y: float, x: float) -> float:
    """Return the root of sum_k terms_k x^(2k+1) = y, from a first guess x > 0.

    A guess g with P(g) <= 2^(2 count) y needs about 3 count steps; the loop allows far more. Near the root, Chebyshev's
    correction, step (1 + step P''/(2P')), makes the last step accurate to third order.
    """
    for _ in range(50 + 20 * count):
        square = x * x
        ratio = terms[count - 1]  # R(x^2) = P(x) / x, and below R' and R''/2 with respect to x^2
        first = 0.0
        second = 0.0
        for k in range(count - 2, -1, -1):
            second = second * square + first
            first = first * square + ratio
            ratio = ratio * square + terms[k]
        inverse = 1 / (ratio + 2 * square * first)
        step = (ratio * x - y) * inverse
        if abs(step) <= CLOSE * x:
            return float(x - step * (1 + step * x * (3 * first + 4 * square * second) * inverse))
        x -= step
    return x


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})  # type: ignore[untyped-decorator]
def sine_roots(theta: FloatArray, terms: FloatArray, support: FloatArray, y: FloatArray, out: FloatArray) -> None:
    """Write the roots P^-1(y), clipped to 0..1, to out[s, j] for each row of theta (S, K) and y (1 or S, J).

    ``terms``    theta_k^(2k+1)
    ``support``  the sum of the terms, P(1); if y is at least this, the result is 1

    If successive y differ by less than a factor of two, Newton's method starts from an extrapolation of the previous
    roots. In any other order of y, the result is the same, only slower.
    """
    settings, count = theta.shape
    for s in range(settings):
        most = support[s]
        own = terms[s].copy()
        last = count
        while last > 1 and own[last - 1] == 0:
            last -= 1
        row = y[s] if y.shape[0] > 1 else y[0]
        before = 0.0
        x = 0.0
        slope = bend = twist = 0.0
        for j in range(row.size):
            value = row[j]
            if value >= most:
                out[s, j] = 1.0 if value >= 0 else 0.0  # support is 0 if there is no noise
                continue
            if value <= 0:
                out[s, j] = 0.0
                continue
            if TINY < before <= value <= 2 * before and x > TINY and most < HUGE:
                root = _newton(own, last, value, min(max(x + slope + bend + twist, x), 1.0))
                rise = root - x
                turn = rise - slope
                slope, bend, twist = rise, turn, turn - bend
            else:
                root = _root_from_scratch(theta[s], value)
                slope = bend = twist = 0.0
            x = root
            before = value
            out[s, j] = min(x, 1.0)
