"""The grid of the distribution of errors: logarithmic cells, and the bins of width 0.001 that the entropy counts.

With log|psi| and log z on the same spacing of 1/B octave, P(error in cell j) = sum_i share_i [F(i+j+1) - F(i+j)], a
cross-correlation of the noise's law with that of z. Cells of small errors are narrower than a bin. Cells up to a width
of `DENSE` bins are therefore spread over the bins they cover; wider ones contain ``multiple`` bins of nearly equal
probability.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.analytic.denominators import Denominators
from halfmask.mechanisms.mechanism import Mechanism

BIN_WIDTH = 0.001
DENSE = 8  # cells wider than this many bins are not spread but counted as so many equal bins
OCTAVES_OF_Z = 60  # smaller z than the largest by more than this: their errors are in bins of their own anyway
OCTAVES_OF_ERROR = 64
TAIL = 1e-13
AT_ONCE = 2**17  # numbers in a transform


@dataclass(frozen=True)
class LogGrid:
    """The parts of the grid that do not depend on the setting.

    ``y``                    (Y,) edges of |psi|
    ``share``                (C, I) probability of each grid value of z, one row per law of z
    ``inverse``              (I,) 1/z on the grid
    ``cell_error``           (J,) middle error of each cell
    ``first_bin``, ``part``  cell j is spread over the bins ``first_bin[j]``, +1, ... with the shares ``part[j]``
    ``dense``                cells below this index are spread
    ``multiple``             (J,) number of bins in each of the other cells
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

    def batches(self, settings: int, rows: int) -> Iterator[slice]:
        """Yield the settings in batches small enough for transforms with this number of rows each."""
        most = max(AT_ONCE // (rows * len(self.y)), 1)
        for first in range(0, settings, most):
            yield slice(first, min(first + most, settings))

    @cached_property
    def _size(self) -> int:
        """Length of the transforms, at least the number of edges, so that correlations do not wrap around."""
        return int(next_fast_len(len(self.y), real=True))

    @cached_property
    def _transform(self) -> npt.NDArray[np.complex128]:
        return np.asarray(np.conj(rfft(self.share, self._size)))

    def cells(self, cdf: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities of errors below all cells (S, C), and of each cell (S, C, J), for each setting and
        law of z.

        ``cdf`` (S, Y) is each setting's distribution function of |psi|. P(cell j) = sum_i share_i [F(i+j+1) - F(i+j)].
        """
        step = rfft(np.diff(cdf, axis=1), self._size)[:, None]
        found: FloatArray = irfft(step * self._transform, self._size)[..., : len(self.multiple)]
        below = np.einsum("si,ci->sc", cdf[:, : self.share.shape[1]], self.share)  # whose sums no company changes
        return below, np.ascontiguousarray(found)

    def noise(
        self, cdf: FloatArray, share: FloatArray, keep: FloatArray | float, moments: FloatArray, noise: FloatArray,
        change: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:  # fmt: skip
        """Return the scatter of the entropy for fixed readings, (S, R, 3), and its gradient in the grid values of z,
        (S, R, I).

        The scatter is n Var H, n Cov(H, mean error), n Cov(H, mean squared error), for R laws of z. ``noise`` and
        ``change`` come from the compiled code. The mean score of an error of a reading z_i is sum_j (F(i+j+1) - F(i+j))
        score_j, summed by parts.
        """
        product = rfft(cdf, self._size)[:, None] * np.conj(rfft(change, self._size))
        mean: FloatArray = irfft(product, self._size)[..., : len(self.inverse)]
        m1, m2 = moments[:, 0, None], moments[:, 1, None]
        variance = noise[..., 0] - keep * _under(share, mean**2)
        first = noise[..., 1] - m1 * _under(share * self.inverse, mean)
        second = noise[..., 2] - m2 * _under(share * self.inverse**2, mean)
        return np.stack([np.maximum(variance, 0), -keep * first, -keep * second], axis=-1), -mean


def _under(share: FloatArray, values: FloatArray) -> FloatArray:
    """Return sums over the last axis of (S, R, I), weighted by each row's law of z, or by one law for all rows."""
    return np.asarray(values @ share[0] if len(share) == 1 else np.einsum("sri,ri->sr", values, share))


def make_grid(z: Denominators, share: FloatArray, largest_noise: float, per_octave: int) -> LogGrid:
    """Return the grid for noise up to ``largest_noise``; ``share`` (C, K) contains one law of z per row."""
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
    """Return, for each cell, the first bin it covers, and the shares of an even density in this and the next bins."""
    low, high = edges[:-1] / BIN_WIDTH, edges[1:] / BIN_WIDTH
    first = np.floor(low).astype(np.int64)
    reach = int((np.ceil(high) - first).max(initial=1))
    bins = first[:, None] + np.arange(reach)
    covered = np.clip(np.minimum(high[:, None], bins + 1) - np.maximum(low[:, None], bins), 0, None)
    return first, covered / (high - low)[:, None]


def largest_noise(law: Mechanism, parameters: FloatArray) -> float:
    """Return a value that the noise of these settings almost never exceeds."""
    support = law.support(parameters)
    bounded = support[np.isfinite(support)]
    largest = float(bounded.max(initial=0.0))
    for row in parameters[~np.isfinite(support)]:
        reach = max(float(law.moments(row[None])[0, 0]), 1e-300)
        while reach < 1e300 and law.cdf(row[None], np.array([reach]))[0, 0] < 1 - TAIL:
            reach *= 2
        largest = max(largest, reach)
    return largest
