"""E|s - median(s | m)| of many settings, compiled with numba."""

import numpy as np
from numba import njit, prange

from halfmask.arrays import FloatArray


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _below(table: FloatArray, reach: float, x: float) -> float:
    """Return P(psi <= x) of symmetric noise, from a table of P(|psi| <= y) at equal steps of y up to ``reach``."""
    last = len(table) - 1
    place = abs(x) / reach * last
    if place >= last:
        size = 1.0
    else:
        k = int(place)
        size = table[k] + (place - k) * (table[k + 1] - table[k])
    return (1 + size) / 2 if x >= 0 else (1 - size) / 2


@njit(nogil=True, cache=True, parallel=True)  # type: ignore[untyped-decorator]
def median_errors(
    edges: FloatArray,
    share: FloatArray,
    tables: FloatArray,
    reach: FloatArray,
    readings: FloatArray,
    noises: FloatArray,
    out: FloatArray,
) -> None:
    """Write to out[j] the mean of E|s - median(s | m)| over reports m = reading + noise, under setting j.

    s is uniform within cells between ``edges``, of mass ``share``. So the posterior mass of a cell is exactly
    share/width (F(m - low) - F(m - high)); within the cell of the median it is taken as uniform.
    """
    cells = len(share)
    for j in prange(len(out)):
        weight = np.empty(cells)
        total = 0.0
        for i in range(len(readings)):
            m = readings[i] + noises[j, i]
            whole = 0.0
            high = _below(tables[j], reach[j], m - edges[0])
            for c in range(cells):
                low = _below(tables[j], reach[j], m - edges[c + 1])
                weight[c] = share[c] / (edges[c + 1] - edges[c]) * max(high - low, 0.0)
                whole += weight[c]
                high = low
            if whole <= 0:
                continue
            c, below = 0, 0.0
            while c < cells - 1 and below + weight[c] < whole / 2:
                below += weight[c]
                c += 1
            width = edges[c + 1] - edges[c]
            within = (whole / 2 - below) / weight[c] if weight[c] > 0 else 0.5
            median = edges[c] + within * width
            error = 0.0
            for k in range(cells):
                if k == c:
                    error += weight[k] * width * (within * within + (1 - within) * (1 - within)) / 2
                else:
                    error += weight[k] * abs((edges[k] + edges[k + 1]) / 2 - median)
            total += error / whole
        out[j] = total / len(readings)
