"""The grid on which errors are distributed: logarithmic cells, and the 0.001-wide bins of the entropy below them.

With log|psi| and log z on the same spacing of 1/B octave, P(error in cell j) = sum_i share_i [F(i+j+1) - F(i+j)]:
a cross-correlation of the noise's law with that of z. Small errors are narrower than a bin, so cells up to `DENSE`
bins' width are spread over the bins they cover; above, a cell holds ``multiple`` bins of nearly equal probability.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.analytic.denominators import Denominators

BIN_WIDTH = 0.001
DENSE = 8  # cells wider than this many bins are not spread but counted as so many equal bins
OCTAVES_OF_Z = 60  # smaller z than the largest by more than this: their errors are in bins of their own anyway
OCTAVES_OF_ERROR = 64


@dataclass(frozen=True)
class LogGrid:
    """Everything about the grid that no setting changes.

    ``y``          (Y,) edges of |psi|
    ``share``      (C, I) probability of each grid value of z, a row for each law of z
    ``inverse``    (I,) 1/z on the grid
    ``cell_error`` (J,) middle error of each cell
    ``first_bin``, ``part``: cell j spreads over the bins ``first_bin[j]``, +1, ... with the shares ``part[j]``
    ``dense``      cells 0..dense-1 are spread, the others hold ``multiple[j]`` bins each
    """

    per_octave: int
    y: FloatArray
    share: FloatArray
    inverse: FloatArray
    cell_error: FloatArray
    first_bin: IntArray
    part: FloatArray
    dense: int
    bins: int
    multiple: FloatArray


def make_grid(z: Denominators, share: FloatArray, largest_noise: float, per_octave: int) -> LogGrid:
    """The grid for noise up to ``largest_noise``; ``share`` (C, K) has a law of z in each row."""
    position = per_octave * np.log2(np.maximum(z.size, z.size[-1] * 2.0**-OCTAVES_OF_Z))
    low = int(np.floor(position[0]))
    nodes = int(np.floor(position[-1])) + 2 - low
    gridded = np.zeros((nodes, len(share)))
    below = np.floor(position).astype(int)
    above_share = position - below
    np.add.at(gridded, below - low, ((1 - above_share) * share).T)
    np.add.at(gridded, below - low + 1, (above_share * share).T)
    smallest_error = int(np.floor(per_octave * np.log2(BIN_WIDTH / 2)))
    largest = np.log2(max(largest_noise, 1e-300)) - low / per_octave
    top = int(np.ceil(per_octave * min(largest, OCTAVES_OF_ERROR + np.log2(BIN_WIDTH))))
    cells = max(top - smallest_error, 1)
    edges = np.exp2((smallest_error + np.arange(cells + 1)) / per_octave)
    dense = int(np.searchsorted(np.diff(edges), DENSE * BIN_WIDTH))
    first_bin, part = _spread(edges[: dense + 1])
    offset = np.arange(cells + nodes) + low + smallest_error
    return LogGrid(
        per_octave=per_octave,
        y=np.exp2(np.clip(offset / per_octave, -1000, 1000)),
        share=np.ascontiguousarray(gridded.T),
        inverse=np.exp2(-(low + np.arange(nodes)) / per_octave),
        cell_error=(edges[1:] + edges[:-1]) / 2,
        first_bin=first_bin,
        part=part,
        dense=dense,
        bins=int(first_bin.max(initial=0)) + part.shape[1] + 1,
        multiple=np.diff(edges) / BIN_WIDTH,
    )


def _spread(edges: FloatArray) -> tuple[IntArray, FloatArray]:
    """How a cell of even density divides over the bins it covers."""
    low, high = edges[:-1] / BIN_WIDTH, edges[1:] / BIN_WIDTH
    first = np.floor(low).astype(np.int64)
    reach = int((np.ceil(high) - first).max(initial=1))
    bins = first[:, None] + np.arange(reach)
    covered = np.clip(np.minimum(high[:, None], bins + 1) - np.maximum(low[:, None], bins), 0, None)
    return first, covered / (high - low)[:, None]
