"""Entropies of many mixes at once, in machine code."""

import numba
import numpy as np

from halfmask.evaluation.analytic.expected_entropy import CHI, PHI, address
from halfmask.evaluation.metrics import GUARD, WIDTH


@numba.njit(nogil=True, cache=True)
def expected_entropies(counts, bins_held, n, out):  # type: ignore[no-untyped-def]
    """out[r] = expected plug-in entropy of n[r] errors, ``counts[r, j]`` of them expected in cell j.

    A cell holds ``bins_held[j]`` histogram bins of equal probability; see `expected_entropy` for the formula.
    """
    lam = np.empty(counts.shape[1])
    bits = lam.view(np.int64)
    for r in range(counts.shape[0]):
        if counts[r, 0] >= n[r] * (1 - 1e-12):  # all in one bin: no entropy, and no rounding of the tables either
            out[r] = 0.0
            continue
        total = 0.0
        for j in range(counts.shape[1]):
            lam[j] = max(counts[r, j], 0.0) / bins_held[j]
        for j in range(counts.shape[1]):
            k, f = address(bits[j])
            if k >= 0:
                phi = PHI[k] + f * (PHI[k + 1] - PHI[k])
                chi = CHI[k] + f * (CHI[k + 1] - CHI[k])
                total += counts[r, j] / n[r] * (phi - chi / n[r])
        out[r] = max(np.log2(n[r]) - total, 0.0)


@numba.njit(nogil=True, cache=True)
def error_summaries(errors, out):  # type: ignore[no-untyped-def]
    """out[r] = mean, standard deviation and plug-in entropy (bins of 0.001) of each row of errors."""
    size = errors.shape[1]
    for r in range(errors.shape[0]):
        total = squares = 0.0
        for error in errors[r]:
            total += error
            squares += error * error
        mean = total / size
        places = np.sort(np.floor(errors[r] / WIDTH + GUARD))
        crowd, run = 0.0, 1
        for t in range(1, size + 1):
            if t < size and places[t] == places[t - 1]:
                run += 1
            else:
                crowd += run * np.log2(run)
                run = 1
        out[r, 0] = mean
        out[r, 1] = np.sqrt(max(squares / size - mean * mean, 0.0))
        out[r, 2] = max(np.log2(size) - crowd / size, 0.0)
