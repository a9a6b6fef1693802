"""Exact k-means in one dimension, compiled with numba."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from halfmask.arrays import FloatArray


@njit(nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def centroids(values: FloatArray, weights: FloatArray, k: int) -> FloatArray:
    """Return the centroid of each value's cluster, for the best division into k clusters.

    ``values``   distinct and increasing
    ``weights``  weight of each value
    ``k``        number of clusters, less than the number of values

    The algorithm is dynamic programming: best[j] is the least cost of the first j values in c clusters. The start of
    the last cluster never decreases as j grows, so each c takes O(n log n) by divide and conquer. Costs are differences
    of prefix sums, so values should be centred. Clusters narrower than 1e-8 of the range are separated only roughly.
    """
    n = values.size
    weight, first, second = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    for i in range(n):
        weight[i + 1] = weight[i] + weights[i]
        first[i + 1] = first[i] + weights[i] * values[i]
        second[i + 1] = second[i] + weights[i] * values[i] ** 2
    start = np.zeros((k + 1, n + 1), np.int32)
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    for c in range(1, k + 1):
        best = _add_cluster(best, weight, first, second, start[c], c)
    result = np.empty(n)
    end = n
    for c in range(k, 0, -1):
        begin = start[c, end]
        result[begin:end] = (first[end] - first[begin]) / (weight[end] - weight[begin])
        end = begin
    return result


@njit(nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _add_cluster(
    best: FloatArray, weight: FloatArray, first: FloatArray, second: FloatArray, start: NDArray[np.int32], c: int
) -> FloatArray:
    """Return the least costs with c clusters, from those with c - 1 (``best``). Write the last clusters' starts to
    ``start``.
    """
    n = best.size - 1
    result = np.full(n + 1, np.inf)
    stack = [(c, n, c - 1, n - 1)]  # ends low..high, whose last cluster starts between from_ and to
    while stack:
        low, high, from_, to = stack.pop()
        if low > high:
            continue
        end = (low + high) // 2
        choice = from_
        for begin in range(from_, min(to, end - 1) + 1):
            mass = weight[end] - weight[begin]
            total = first[end] - first[begin]
            cost = best[begin] + max(second[end] - second[begin] - total * total / mass, 0.0)
            if cost < result[end]:
                result[end] = cost
                choice = begin
        start[end] = choice
        stack.append((low, end - 1, from_, choice))
        stack.append((end + 1, high, choice, to))
    return result
