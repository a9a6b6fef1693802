"""Local errors of many settings, in machine code: distribution, expected entropy, and the noise around it.

Arrays have a row for each law of z and run along the cells, so that the inner loops are plain sums over memory.
"""

import numba
import numpy as np

from halfmask.evaluation.analytic.expected_entropy import BEND, CHI, EXCESS, PHI, SCORE, address

NEGLIGIBLE = 1e-15


@numba.njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def _correlate(step, law, cells, p):  # type: ignore[no-untyped-def]
    """p[j] = sum_i step[i + j] law[i] for j < cells, four values of z at a time."""
    p[:] = 0.0
    nodes = law.size
    whole = nodes - nodes % 4
    for i in range(0, whole, 4):
        a, b, c, d = law[i], law[i + 1], law[i + 2], law[i + 3]
        if a != 0 or b != 0 or c != 0 or d != 0:
            for j in range(cells):
                p[j] += a * step[i + j] + b * step[i + j + 1] + c * step[i + j + 2] + d * step[i + j + 3]
    for i in range(whole, nodes):
        for j in range(cells):
            p[j] += law[i] * step[i + j]


@numba.njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def _dot(a, b, size):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(size):
        total += a[j] * b[j]
    return total


@numba.njit(nogil=True, cache=True)
def _distribution(cdf, share, first_bin, part, dense, bins, cells, cell, p):  # type: ignore[no-untyped-def]
    """p[c] = probabilities of the bins, then of the cells above them, under each law; returns how many there are.

    ``cell[c]`` keeps the probabilities of all cells, of which there are no more than the noise reaches.
    """
    step = np.zeros(cdf.size)
    reach = 0
    for y in range(cdf.size - 1):
        step[y] = cdf[y + 1] - cdf[y]
        if step[y] > NEGLIGIBLE:
            reach = y + 1
    held = min(cells, reach)
    for c in range(share.shape[0]):
        _correlate(step, share[c], held, cell[c])
        p[c, :bins] = 0.0
        p[c, 0] = _dot(cdf, share[c], share.shape[1])
        for j in range(min(dense, held)):
            for b in range(part.shape[1]):
                p[c, first_bin[j] + b] += part[j, b] * cell[c, j]
        for j in range(dense, held):
            p[c, bins + j - dense] = cell[c, j]
    return bins + max(held - dense, 0), held


@numba.njit(nogil=True, cache=True)
def entropies(  # type: ignore[no-untyped-def]
    cdf, share, inverse, first_bin, part, dense, bins, multiple, cell_error, n, keep, moments, out, noise
):
    """out[s, c] = expected plug-in entropy of n[c] errors under law c of z, and ``noise[s, c]`` as in `expansions`.

    ``keep[c]`` is the share of errors that are not 0 whatever the noise; the others are in the first bin. ``noise`` of
    no columns is left alone.
    """
    laws, cells = share.shape[0], multiple.size
    p, cell = np.empty((laws, bins + cells)), np.empty((laws, cells))
    lam, score = np.empty(bins + cells), np.empty(bins + cells)
    bits = lam.view(np.int64)
    gradient = np.empty(inverse.size)
    for s in range(cdf.shape[0]):
        size, held = _distribution(cdf[s], share, first_bin, part, dense, bins, cells, cell, p)
        for c in range(laws):
            row = p[c]
            for j in range(size):
                row[j] *= keep[c]
                lam[j] = row[j] * n[c] / (1.0 if j < bins else multiple[dense + j - bins])
            row[0] += 1 - keep[c]
            lam[0] = row[0] * n[c]
            total = variance = 0.0
            for j in range(size):
                k, f = address(bits[j])
                score[j] = 0.0
                if k >= 0:
                    phi = PHI[k] + f * (PHI[k + 1] - PHI[k])
                    chi = CHI[k] + f * (CHI[k + 1] - CHI[k])
                    total += row[j] * (phi - chi / n[c])
                    score[j] = SCORE[k] + f * (SCORE[k + 1] - SCORE[k])
                    variance += row[j] * (score[j] ** 2 + EXCESS[k] + f * (EXCESS[k + 1] - EXCESS[k]))
            out[s, c] = max(np.log2(n[c]) - total, 0.0)
            if noise.shape[2]:
                _noise(cdf[s], share[c], inverse, first_bin, part, dense, bins, cell_error, keep[c], moments[s],
                       cell[c], held, score, variance, gradient, noise[s, c])  # fmt: skip


@numba.njit(nogil=True, cache=True)
def expansions(  # type: ignore[no-untyped-def]
    cdf, share, inverse, first_bin, part, dense, bins, multiple, cell_error, n, keep, moments, values, slopes, bends,
    gradient, noise,
):  # fmt: skip
    """Entropy around one law of z (row 0 of ``share``), to second order in the directions of the other rows.

    For each setting s and each number of errors n[a]: ``values[s, a]``, ``slopes[s, a, c]`` and ``bends[s, a, c, d]``;
    of every other one also ``noise[s, a // 2]`` = (n Var H, n Cov(H, mean error), n Cov(H, mean squared error)) given
    the readings, and for the middle one ``gradient[s, i]``, the slope in every grid value of z.
    """
    laws, cells, middle = share.shape[0], multiple.size, n.size // 2
    p, cell = np.empty((laws, bins + cells)), np.empty((laws, cells))
    slope, bent, spare = np.empty(bins + cells), np.empty(bins + cells), np.empty(inverse.size)
    lam = np.empty(bins + cells)
    bits = lam.view(np.int64)
    for s in range(cdf.shape[0]):
        size, held = _distribution(cdf[s], share, first_bin, part, dense, bins, cells, cell, p)
        for c in range(laws):
            for j in range(size):
                p[c, j] *= keep
        p[0, 0] += 1 - keep
        base = p[0]
        for a in range(n.size):
            variance = 0.0
            for j in range(size):
                lam[j] = base[j] * n[a] / (1.0 if j < bins else multiple[dense + j - bins])
            total = 0.0
            for j in range(size):
                k, f = address(bits[j])
                slope[j] = bent[j] = 0.0
                if k >= 0:
                    phi = PHI[k] + f * (PHI[k + 1] - PHI[k])
                    chi = CHI[k] + f * (CHI[k + 1] - CHI[k])
                    slope[j] = SCORE[k] + f * (SCORE[k + 1] - SCORE[k])
                    bent[j] = (BEND[k] + f * (BEND[k + 1] - BEND[k])) / base[j]
                    total += base[j] * (phi - chi / n[a])
                    variance += base[j] * (slope[j] ** 2 + EXCESS[k] + f * (EXCESS[k + 1] - EXCESS[k]))
            values[s, a] = np.log2(n[a]) - total
            if a % 2 == 0:
                _noise(cdf[s], share[0], inverse, first_bin, part, dense, bins, cell_error, keep, moments[s], cell[0],
                       held, slope, variance, gradient[s] if a == middle else spare, noise[s, a // 2])  # fmt: skip
            for c in range(1, laws):
                slopes[s, a, c - 1] = -_dot(slope, p[c], size)
                for j in range(size):
                    lam[j] = bent[j] * p[c, j]
                for d in range(1, c + 1):
                    bends[s, a, c - 1, d - 1] = bends[s, a, d - 1, c - 1] = -_dot(lam, p[d], size)


@numba.njit(nogil=True, cache=True)
def _noise(  # type: ignore[no-untyped-def]
    cdf, share, inverse, first_bin, part, dense, bins, cell_error, keep, moments, cell, held, score, variance,
    gradient, noise,
):  # fmt: skip
    """Slope of the entropy in each grid value of z, and its covariance with the two moments given the readings."""
    of_cell = np.empty(held)
    first = second = 0.0
    for j in range(held):
        if j < dense:
            of_cell[j] = 0.0
            for b in range(part.shape[1]):
                of_cell[j] += part[j, b] * score[first_bin[j] + b]
        else:
            of_cell[j] = score[bins + j - dense]
        first += cell[j] * cell_error[j] * of_cell[j]
        second += cell[j] * cell_error[j] ** 2 * of_cell[j]
    # sum_j (F(i+j+1) - F(i+j)) score_j, summed by parts
    change = np.empty(held + 1)
    change[0] = score[0] - of_cell[0] if held else score[0]
    for j in range(1, held):
        change[j] = of_cell[j - 1] - of_cell[j]
    if held:
        change[held] = of_cell[held - 1]
    explained = 0.0
    for i in range(share.size):
        mean = _dot(change, cdf[i:], held + 1)
        gradient[i] = -mean
        explained += share[i] * mean * mean
        first -= share[i] * inverse[i] * moments[0] * mean
        second -= share[i] * inverse[i] ** 2 * moments[1] * mean
    noise[0] = max(variance - keep * explained - (1 - keep) * score[0] ** 2, 0.0)
    noise[1] = -keep * first
    noise[2] = -keep * second
