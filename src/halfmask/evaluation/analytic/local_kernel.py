"""Local errors of many settings in compiled code: distribution, expected entropy, and its scatter.

Arrays have one row per law of z and run along the cells, so that inner loops are plain sums over memory. Correlations
with the noise's law are computed by `LogGrid`, before and after.
"""

import numba
import numpy as np

from halfmask.evaluation.analytic.expected_entropy import BEND, CHI, EXCESS, PHI, SCORE, address

NEGLIGIBLE = 1e-15
ALL = 1 - 1e-12  # of the errors in the first bin: there is no entropy, and no rounding of the tables either


@numba.njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def _dot(a, b, size):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(size):
        total += a[j] * b[j]
    return total


@numba.njit(nogil=True, cache=True)
def _held(cdf, cells):  # type: ignore[no-untyped-def]
    """Return the number of cells that the noise reaches."""
    for y in range(cdf.size - 1, 0, -1):
        if cdf[y] - cdf[y - 1] > NEGLIGIBLE:
            return min(cells, y)
    return 0


@numba.njit(nogil=True, cache=True)
def _spread(below, cell, held, first_bin, part, dense, bins, p):  # type: ignore[no-untyped-def]
    """Write the probabilities of the bins, then of the cells above them, to ``p``; ``below`` is the mass
    below all cells.
    """
    p[:bins] = 0.0
    p[0] = below
    for j in range(min(dense, held)):
        for b in range(part.shape[1]):
            p[first_bin[j] + b] += part[j, b] * cell[j]
    for j in range(dense, held):
        p[bins + j - dense] = cell[j]


@numba.njit(nogil=True, cache=True)
def entropies(  # type: ignore[no-untyped-def]
    cdf, below, cell, first_bin, part, dense, bins, multiple, cell_error, n, keep, out, noise, change
):
    """Write to out[s, c] the expected plug-in entropy of n[c] errors under law c of z.

    ``below``, ``cell``    probabilities [s, c] of errors below all cells, and of each cell
    ``keep``               share of errors [c] that are not always 0; the others are in the first bin
    ``noise``, ``change``  as in `expansions`; not written if ``noise`` has zero columns
    """
    laws, cells = cell.shape[1], multiple.size
    p, lam, score = np.empty(bins + cells), np.empty(bins + cells), np.empty(bins + cells)
    bits = lam.view(np.int64)
    for s in range(cdf.shape[0]):
        held = _held(cdf[s], cells)
        size = bins + max(held - dense, 0)
        for c in range(laws):
            for j in range(held):
                cell[s, c, j] = max(cell[s, c, j], 0.0)
            _spread(below[s, c], cell[s, c], held, first_bin, part, dense, bins, p)
            for j in range(size):
                p[j] *= keep[c]
                lam[j] = p[j] * n[c] / (1.0 if j < bins else multiple[dense + j - bins])
            p[0] += 1 - keep[c]
            lam[0] = p[0] * n[c]
            total = variance = 0.0
            for j in range(size):
                k, f = address(bits[j])
                score[j] = 0.0
                if k >= 0:
                    phi = PHI[k] + f * (PHI[k + 1] - PHI[k])
                    chi = CHI[k] + f * (CHI[k + 1] - CHI[k])
                    total += p[j] * (phi - chi / n[c])
                    score[j] = SCORE[k] + f * (SCORE[k + 1] - SCORE[k])
                    variance += p[j] * (score[j] ** 2 + EXCESS[k] + f * (EXCESS[k + 1] - EXCESS[k]))
            out[s, c] = max(np.log2(n[c]) - total, 0.0)
            if p[0] >= ALL:
                out[s, c] = variance = 0.0
                score[:] = 0.0
            if noise.shape[2]:
                _scores(cell[s, c], held, first_bin, part, dense, bins, cell_error, score, noise[s, c], change[s, c])
                noise[s, c, 0] = variance - (1 - keep[c]) * score[0] ** 2


@numba.njit(nogil=True, cache=True)
def expansions(  # type: ignore[no-untyped-def]
    cdf, below, cell, first_bin, part, dense, bins, multiple, cell_error, n, keep, values, slopes, bends, noise, change,
):  # fmt: skip
    """Write the entropy around one law of z (``cell[:, 0]``), to second order in the directions of the other laws.

    For each setting s and number of errors n[a], the results are ``values[s, a]``, ``slopes[s, a, c]`` and ``bends[s,
    a, c, d]``. For every other a, the inputs of `LogGrid.noise` are added. ``noise[s, a // 2]`` contains the mean
    square of the scores, and the mean products of score and error, and of score and squared error. ``change[s, a // 2,
    j]`` is the fall of the score from each cell to the next.
    """
    laws, cells = cell.shape[1], multiple.size
    p = np.empty((laws, bins + cells))
    slope, bent, lam = np.empty(bins + cells), np.empty(bins + cells), np.empty(bins + cells)
    bits = lam.view(np.int64)
    for s in range(cdf.shape[0]):
        held = _held(cdf[s], cells)
        size = bins + max(held - dense, 0)
        for j in range(held):
            cell[s, 0, j] = max(cell[s, 0, j], 0.0)
        for c in range(laws):
            _spread(below[s, c], cell[s, c], held, first_bin, part, dense, bins, p[c])
            for j in range(size):
                p[c, j] *= keep
        p[0, 0] += 1 - keep
        base = p[0]
        for a in range(n.size):
            for j in range(size):
                lam[j] = base[j] * n[a] / (1.0 if j < bins else multiple[dense + j - bins])
            total = variance = 0.0
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
            if base[0] >= ALL:
                values[s, a] = variance = 0.0
                slope[:] = bent[:] = 0.0
            if a % 2 == 0:
                _scores(cell[s, 0], held, first_bin, part, dense, bins, cell_error, slope, noise[s, a // 2],
                        change[s, a // 2])  # fmt: skip
                noise[s, a // 2, 0] = variance - (1 - keep) * slope[0] ** 2
            for c in range(1, laws):
                slopes[s, a, c - 1] = -_dot(slope, p[c], size)
                for j in range(size):
                    lam[j] = bent[j] * p[c, j]
                for d in range(1, c + 1):
                    bends[s, a, c - 1, d - 1] = bends[s, a, d - 1, c - 1] = -_dot(lam, p[d], size)


@numba.njit(nogil=True, cache=True)
def _scores(cell, held, first_bin, part, dense, bins, cell_error, score, noise, change):  # type: ignore[no-untyped-def]
    """Write the scores of the cells: their products with the errors, and their fall from each cell to the next."""
    first = second = 0.0
    before = score[0]
    for j in range(held):
        own = 0.0
        if j < dense:
            for b in range(part.shape[1]):
                own += part[j, b] * score[first_bin[j] + b]
        else:
            own = score[bins + j - dense]
        first += cell[j] * cell_error[j] * own
        second += cell[j] * cell_error[j] ** 2 * own
        change[j] = before - own
        before = own
    change[held:] = 0.0
    change[held] = before
    noise[1], noise[2] = first, second
