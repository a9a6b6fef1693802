"""Lattice noise in a system: errors that fall on few bins, in bins of their own.

The cells of a system (`halfmask.choice.system`) hold many bins each where errors are large, and take them as equally
likely. Errors of lattice noise, K h / z, are in few of them. Each such bin becomes a cell of its own, and what
continuous noise of others puts there goes along with it, so that a mix of both is counted rightly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np
from scipy.sparse import csr_matrix

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.analytic.denominators import Denominators
from halfmask.evaluation.analytic.lattice import MOST_WORK, lattice_points, numbered_bins, single_values
from halfmask.evaluation.metrics import WIDTH
from halfmask.mechanisms.setting import PrivacySetting

MOST_PAIRS = 2**24
MOST_NUMBERS = 30_000_000
"""Pairs of a value and a noise that are looked at, and numbers in a system's table; beyond them noise is continuous."""
POOLED = 8
"""Hands whose errors come together, about."""
SELDOM = 0.25
"""Errors expected in a bin, all hands together, below which it shares a cell."""
LEVELS = 4
"""Such cells for each doubling of the chance."""
FEW = 4
"""Hands in a row are added up this much faster than hands picked out, about."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """Where the errors of lattice noise fall: value v of z and k steps of noise into bin ``bins[place[v, k]]``.

    ``chance`` (K,) of the noise, ``share`` (U, V) of the values times each hand's errors, ``zeros`` (U,) errors that
    are 0 whatever the noise. The first bin is that of errors of 0.
    """

    bins: IntArray
    place: IntArray
    chance: FloatArray
    share: FloatArray
    zeros: FloatArray

    def expected(self, column: IntArray, columns: int) -> FloatArray:
        """Errors of each hand in each column, which the bins are dealt to."""
        out = np.zeros((columns, len(self.share)))
        _add_up(column, self.place, self.chance, np.ascontiguousarray(self.share.T), out)
        out[column[0]] += self.zeros
        return out.T

    def most(self) -> FloatArray:
        """The errors in each bin of the hand that has most of them, as if its values were everybody's."""
        out = np.zeros((len(self.bins), 1))
        _add_up(np.arange(len(self.bins)), self.place, self.chance, self.share.max(axis=0)[:, None], out)
        return np.asarray(out[:, 0])


@numba.njit(nogil=True, cache=True)
def _add_up(column, place, chance, share, out):  # type: ignore[no-untyped-def]
    # Hands lie side by side, so that they are added up several at a time; where few hold a value, one after the other.
    for v in range(share.shape[0]):
        holding = np.flatnonzero(share[v])
        for k in range(chance.size):
            into = out[column[place[v, k]]]
            if FEW * holding.size < share.shape[1]:
                for i in range(holding.size):
                    into[holding[i]] += share[v, holding[i]] * chance[k]
            else:
                for u in range(share.shape[1]):
                    into[u] += share[v, u] * chance[k]


def atoms(setting: PrivacySetting, z: Denominators) -> Atoms | None:
    """Where the errors of lattice noise fall; None for other noise, or where they are too many to be looked at."""
    law, parameters = setting.law, np.array(setting.parameters)
    if setting.kind != "additive" or law.lattice(setting.parameters) is None:
        return None
    step, chance = lattice_points(law, parameters)
    for cut in MOST_WORK:
        values, share, _ = single_values(z, step, cut)
        if len(values) * len(chance) <= MOST_PAIRS:
            place, bins = numbered_bins(1 / values, len(chance), step)
            return Atoms(bins, place, chance, share * ((1 - z.zero) * z.n)[:, None], z.zero * z.n)
    return None


def with_atoms(
    cells: FloatArray, bins_held: FloatArray, edges: FloatArray, dense: int, found: Sequence[Atoms | None]
) -> tuple[FloatArray, FloatArray]:
    """The table of a system (settings, hands, cells) with cells for the bins that lattice noise falls into.

    The first ``dense`` cells are single bins; the others lie between ``edges`` and hold ``bins_held`` bins each. Rows
    of settings with atoms are empty before. An OverflowError where the table would be too large.
    """
    held = [each for each in found if each is not None]
    if not held:
        return cells, bins_held
    extra, group, size = _groups(held, dense)
    if cells[..., 0].size * (cells.shape[2] + len(size)) > MOST_NUMBERS:
        raise OverflowError
    cell = dense + np.searchsorted(edges, (extra + 0.5) * WIDTH) - 1
    inside = (cell >= dense) & (cell < len(bins_held))  # errors beyond all cells have nothing but atoms
    taken = np.bincount(cell[inside], minlength=len(bins_held))
    pairs = (1 / bins_held[cell[inside]], (cell[inside], group[inside]))
    moved = csr_matrix(pairs, shape=(len(bins_held), len(size)))  # what continuous noise puts into these bins
    shared = (cells.reshape(-1, len(bins_held)) @ moved).reshape(*cells.shape[:2], len(size))
    whole = np.concatenate([cells * np.maximum(1 - taken / bins_held, 0), shared], axis=2)
    for number, each in enumerate(found):
        if each is not None:
            own = np.minimum(np.searchsorted(extra, each.bins), max(len(extra) - 1, 0))
            column = np.where(each.bins < dense, each.bins, cells.shape[2] + (group[own] if len(extra) else 0))
            whole[number] = each.expected(column, whole.shape[2])
    return whole, np.concatenate([np.maximum(bins_held - taken, 1e-9), size])


def _groups(held: Sequence[Atoms], dense: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Bins beyond the ``dense`` ones; for each the number of its cell; and how many bins each cell holds.

    Bins that hardly ever hold two errors make no difference to an entropy but by their number: they share cells with
    those of about the same chance.
    """
    extra = np.unique(np.concatenate([each.bins[each.bins >= dense] for each in held]))
    most = np.zeros(len(extra))
    for each in held:
        far = each.bins >= dense
        np.maximum.at(most, np.searchsorted(extra, each.bins[far]), POOLED * each.most()[far])
    seldom = most < SELDOM
    level = np.where(seldom, np.floor(LEVELS * np.log2(np.maximum(most, 1e-12))), np.arange(len(extra)) + 1.0)
    _, group, size = np.unique(level, return_inverse=True, return_counts=True)
    return extra, group, size.astype(float)
