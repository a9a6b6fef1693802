"""What a report says about the reading behind it: the channel from cells of readings to cells of reports.

Readings are divided into cells b with about equally many known readings, reports into cells c. The channel is

    A[b, c] = P(report in c | reading in b) = mean over known s in b of F(end of c - s) - F(start of c - s),

with F the noise's distribution function. If a report has no additive law (relative noise, rules, clips), A is counted
on known readings that the attacker masks himself.

What attacks need follows from A and the shares p of the cells, such as the posterior mean of any g(s) given a report:

    E[g | c] = sum_b p_b A[b, c] g_b / sum_b p_b A[b, c].
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.masked_series import masked_series, noise_cdf
from halfmask.protection.evidence import Evidence, some_of

Float32 = npt.NDArray[np.float32]
Cells = npt.NDArray[np.int16]

READING_CELLS, REPORT_CELLS = 60, 100
FEWEST_A_CELL = 32
"""Known readings, or reports, per cell at least."""
POINTS = 5
"""Readings per cell that stand for all of it."""
SAMPLE = 2**15
"""Reports from which their cells are taken."""
MISSING = -1
BLURRED, BLUR = 0.3, 1.5
"""Weight and width, in cells, of the blur with which unmasked reports are read."""
MANY = 2**15
"""Reports from which their cells are looked up."""
BITS = 18
"""Leading bits of a report that is looked up: sign, exponent, and 9 bits of the mantissa."""
MOST_ROWS = 64
"""Users whose known readings are masked to count a channel."""


@dataclass(frozen=True, eq=False)
class ReadingCells:
    """Cells of readings.

    ``cuts``    (cells - 1,) largest reading of each cell but the last
    ``points``  (cells, `POINTS`) known readings of each cell, evenly spaced in rank
    ``share``   (cells,) shares of the known readings
    """

    cuts: FloatArray
    points: FloatArray
    share: FloatArray

    def of(self, values: FloatArray) -> Cells:
        """Return the cell of each value; `MISSING` for NaN."""
        return cell_numbers(values, self.cuts)

    @cached_property
    def centre(self) -> FloatArray:
        """The mean of the points of each cell."""
        return np.asarray(self.points.mean(axis=1))

    @cached_property
    def normal_scores(self) -> FloatArray:
        """The normal quantile at the middle of each cell's share: a scale on which readings are not skewed."""
        from scipy.special import ndtri  # here, because SciPy takes long to import

        return np.asarray(ndtri(np.cumsum(self.share) - self.share / 2))


@dataclass(frozen=True, eq=False)
class ReportChannel:
    """The channel, and the cells of reports that it leads to.

    ``cuts``     ends between cells of reports
    ``matrix``   (reading cells, report cells) A
    ``share``    shares p of the cells of readings
    """

    cuts: FloatArray
    matrix: FloatArray
    share: FloatArray

    def of(self, reports: FloatArray) -> Cells:
        """Return the cell of each report; `MISSING` for NaN. Many reports are looked up by their leading bits."""
        return cell_numbers(reports, self.cuts) if reports.size < MANY else self._by_bits[leading_bits(reports)]

    @cached_property
    def _by_bits(self) -> Cells:
        """The cell of each pattern of leading bits: a cut is moved by at most 2**-9 of its size."""
        patterns = np.arange(2**BITS, dtype=np.uint32) << (32 - BITS)
        with np.errstate(invalid="ignore"):  # some patterns are NaN
            return cell_numbers(patterns.view(np.float32), self.cuts)

    def posterior(self, g: FloatArray) -> FloatArray:
        """Return E[g | report cell]."""
        joint = self.share[:, None] * self.matrix
        return np.asarray(g @ joint / np.maximum(joint.sum(axis=0), 1e-300))


def cell_numbers(values: FloatArray, cuts: FloatArray) -> Cells:
    """Return the number of cuts below each value; `MISSING` for NaN."""
    cells = np.searchsorted(cuts, values).astype(np.int16)
    cells[np.isnan(values)] = MISSING
    return cells


def leading_bits(values: FloatArray) -> npt.NDArray[np.uint32]:
    """Return sign, exponent and the first bits of the mantissa of each value."""
    return np.asarray(values.astype(np.float32).view(np.uint32) >> (32 - BITS))


def reading_cells(known: FloatArray) -> ReadingCells:
    """Return cells of about equally many known readings; equal readings share a cell."""
    values = np.sort(known[np.isfinite(known)])
    count = int(np.clip(len(values) // FEWEST_A_CELL, 4, READING_CELLS))
    cuts = np.unique(values[(np.arange(1, count) * len(values)) // count])
    cuts = cuts[cuts < values[-1]]
    place = np.concatenate([[0], np.searchsorted(values, cuts, side="right"), [len(values)]])
    number = np.diff(place)
    rank = place[:-1, None] + (number[:, None] * (np.arange(POINTS) + 0.5) / POINTS).astype(np.int64)
    return ReadingCells(cuts, values[rank], number / len(values))


def report_channel(
    setting: PrivacySetting, evidence: Evidence, cells: ReadingCells, reports: FloatArray, rng: np.random.Generator
) -> ReportChannel:
    """Return the channel of a setting; ``evidence`` holds readings that an attacker may mask to learn it."""
    if setting.silent:
        return ReportChannel(cells.cuts, _unmasked(len(cells.share)), cells.share)
    seen = reports[np.isfinite(reports)]
    seen = np.sort(seen[:: max(len(seen) // SAMPLE, 1)])
    count = int(np.clip(len(seen) // FEWEST_A_CELL, 4, REPORT_CELLS))
    cuts = np.unique(seen[(np.arange(1, count) * len(seen)) // count])
    if setting.kind == "additive" and setting.inner is None:
        matrix = _by_law(setting, evidence, cells, cuts)
    else:
        matrix = _counted(setting, evidence, cells, cuts, rng)
    return ReportChannel(cuts, matrix, cells.share)


def _unmasked(count: int) -> FloatArray:
    """Return the channel of unmasked reports: the cell itself, and a little of those around it.

    A few known readings do not fill a histogram, so that without the latter a report may be impossible by mere chance.
    """
    at = np.arange(count)
    around = np.exp(-0.5 * ((at[:, None] - at) / BLUR) ** 2)
    matrix = np.eye(count) + BLURRED * around / around.sum(axis=1, keepdims=True)
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def _by_law(setting: PrivacySetting, evidence: Evidence, cells: ReadingCells, cuts: FloatArray) -> FloatArray:
    """Return the channel of additive noise; the sum of many noises is normal."""
    from scipy.special import ndtr  # here, because SciPy takes long to import

    gap = cuts - cells.points[:, :, None]
    noises = float(np.median(evidence.counts[evidence.counts > 0]))
    below = noise_cdf(setting, gap) if noises <= 1 else ndtr(gap / (setting.deviation * np.sqrt(noises)))
    below = np.pad(below.mean(axis=1), ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1)))
    return np.maximum(np.diff(below, axis=1), 0.0)


def _counted(
    setting: PrivacySetting, evidence: Evidence, cells: ReadingCells, cuts: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Return the channel as counted on masked readings, with one pair added that is spread as all reports are."""
    rows = np.unique(np.linspace(0, len(evidence.series) - 1, MOST_ROWS).round().astype(np.int64))
    some = some_of(evidence, rows)
    masked = masked_series(setting, some, rng)
    if masked is None:
        raise ValueError("a rule has no channel of totals")
    held = np.isfinite(masked)
    width = len(cuts) + 1
    pair = cells.of(some.series)[held].astype(np.int64) * width + cell_numbers(masked, cuts)[held]
    counts = np.bincount(pair, minlength=len(cells.share) * width).reshape(-1, width).astype(float)
    counts += counts.sum(axis=0) / counts.sum()
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
