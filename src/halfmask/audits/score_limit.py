"""The limit: the largest privacy score that additive noise of a given variance can have, and how close settings come.

Utility depends on the noise only through its variance, because the sum of a period's noises is normal. So for each
variance, the law of |psi| with the largest privacy score is the best additive noise at that utility (`best_law`).
Scores here are computed over all readings. A menu's scores are medians over samples of many sizes; they are lower if
samples are small, because few readings have less entropy.

The score alone should not decide: the best law has nearly constant magnitude, and attacks undo it easily.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.evaluation.analytic.denominators import Denominators, ErrorKind, denominators
from halfmask.evaluation.metrics import LOCAL
from halfmask.evaluation.sampling import Subset, eligible, population
from halfmask.mechanisms.ours.tabulated import Tabulated
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, MenuSetting
from halfmask.plain import Size
from halfmask.profiles.profile import Profile
from halfmask.protection.best_law import BestLaw, PrivacyScore, best_law
from halfmask_device.setting import SPLIT

if TYPE_CHECKING:
    from halfmask.evaluation.analytic.log_grid import LogGrid

PER_OCTAVE = 16
FINER = 4
"""The bound is certified on pieces and cells this many times narrower: a 64th of an octave, as in a profile."""
BELOW, ABOVE = 6, 4  # octaves of |psi| below and above the deviation that pieces cover; the first reaches down to 0
POINTS = 20
RARE = 1e-6
DIGITS = 6


@dataclass(frozen=True, eq=False)
class LimitLaw:
    """The best law of one variance: |psi| has mass ``masses[k]``, spread evenly from ``edges[k]`` to ``edges[k+1]``.

    ``privacy``      score of this law
    ``upper_bound``  no law exceeds this score, among laws that are even within pieces `FINER` times narrower, with
                     errors counted in equally narrower cells. A profile knows readings no better than that
    """

    variance: float
    privacy: float
    upper_bound: float
    edges: FloatArray
    masses: FloatArray


@dataclass(frozen=True)
class Closeness:
    """The privacy of a setting compared with the limit at its variance, both over all readings.

    ``privacy``, ``upper_bound``  of the setting, and of any law with its variance; None if the setting does not add
                                  noise
    ``median``                    the menu's own privacy score, over samples
    """

    privacy: float | None
    upper_bound: float | None
    noise_std: Size | None
    median: float

    @property
    def share(self) -> float | None:
        """The ratio, in (0, 1]; None if the setting does not add noise."""
        return None if self.privacy is None or self.upper_bound is None else min(self.privacy / self.upper_bound, 1.0)

    def derived(self) -> dict[str, float | None]:
        """Return the share, which its file contains besides its fields."""
        return {"share": self.share}


class AllReadings:
    """The privacy score of a menu over all readings of a profile, for limits and settings."""

    def __init__(self, profile: Profile, menu: Menu) -> None:
        rows = eligible(profile)
        if not len(rows):
            raise OptionError("the profile has no usable reading: there is no local error to limit", kind="readings")
        people = population(profile)
        error: ErrorKind = menu.provenance.get("error", "relative")
        self.z: Denominators = denominators(profile, [Subset(people, 0, rows, people)], "additive", error)
        mean, std, entropy = (float(each) for each in np.array(menu.weights.privacy) / menu.largest[LOCAL])
        self.weights = (mean, std, entropy)
        if not np.isfinite(self.z.inverse[0, :2]).all():
            raise OptionError(
                "readings so near zero that 1/s^2 has no finite mean: evaluate with `error=scaled`", kind="zero"
            )

    @cache  # noqa: B019 - a scale lives as long as its audit
    def limit(self, variance: float) -> LimitLaw:
        """Return the best law of a variance on the pieces of the logarithmic grid."""
        edges = pieces(variance)
        law: BestLaw = best_law(self.score(edges), variance)
        fine = finer(edges)
        width = np.diff(fine).reshape(-1, FINER)
        masses = (law.masses[:, None] * width / width.sum(axis=1, keepdims=True)).ravel()
        cells = PieceCells(self._grid(fine, PER_OCTAVE * FINER), fine)
        bound = self._score(cells, cells).bound(masses, variance)  # by products alone, since the matrix is large
        return LimitLaw(variance, law.privacy, max(bound, law.upper_bound), edges, law.masses)

    def score(self, edges: FloatArray) -> PrivacyScore:
        """Return the score as a function of laws on the pieces between the edges."""
        cells = PieceCells(self._grid(edges, PER_OCTAVE), edges)
        return self._score(cells, cells.matrix())

    def _grid(self, edges: FloatArray, per_octave: int) -> "LogGrid":
        from halfmask.evaluation.analytic.log_grid import make_grid  # here, because SciPy takes long to import

        return make_grid(self.z, self.z.share, float(edges[-1]), per_octave)

    def _score(self, pieces: "PieceCells", cells: "FloatArray | PieceCells") -> PrivacyScore:
        low, high, grid = pieces.edges[:-1], pieces.edges[1:], pieces.grid
        return PrivacyScore(
            cells=cells,
            holds=np.concatenate([np.ones(grid.bins), grid.multiple[grid.dense :]]),
            readings=float(self.z.n[0]),
            mean=(low + high) / 2,
            square=(low**2 + low * high + high**2) / 3,
            inverse=(float(self.z.inverse[0, 0]), float(self.z.inverse[0, 1])),
            weights=self.weights,
        )

    def privacy(self, setting: PrivacySetting) -> float:
        """Return q of an additive setting over all readings, with the entropy at full resolution.

        The limit's grid assumes that errors are even within a cell. This is not so for a narrow law on rounded
        readings.
        """
        if setting.kind != "additive" or setting.inner is not None:
            raise OptionError(
                f"setting {setting} does not add noise of its own: the limit is about additive noise", kind="additive"
            )
        parameters = np.array(setting.parameters)[None]
        moments = setting.law.moments(parameters)[0]
        if moments[1] == 0:
            return 0.0
        mean = float(self.z.inverse[0, 0] * moments[0])
        std = float(np.sqrt(max(self.z.inverse[0, 1] * moments[1] - mean**2, 0.0)))
        from halfmask.evaluation.analytic.local_errors import entropy_of_one  # here, because numba takes long to import

        entropy = entropy_of_one(self.z, setting.law, parameters)
        return float(np.dot(self.weights, (mean, std, entropy)))


@dataclass(frozen=True, eq=False)
class PieceCells:
    """The matrix A of `best_law`: P(local error in each bin, then in each wider cell) for a law on one piece.

    A law's distribution function is cross-correlated with that of z by Fourier transform, then narrow cells are spread
    over the bins of width 0.001. Both steps are linear in the law, so v'A is computed by the transposed steps.
    """

    grid: "LogGrid"
    edges: FloatArray
    __array_ufunc__ = None  # so that an array on the left leaves the product to this class

    def matrix(self) -> FloatArray:
        """Return A itself, (cells, pieces)."""
        low, high = self.edges[:-1, None], self.edges[1:, None]
        return self._errors(np.clip((self.grid.y - low) / (high - low), 0, 1)).T

    def __matmul__(self, masses: FloatArray) -> FloatArray:
        below = np.append(0.0, np.cumsum(masses))
        return np.asarray(self._errors(np.interp(self.grid.y, self.edges, below)[None])[0])

    def __rmatmul__(self, scores: FloatArray) -> FloatArray:
        """Return the mean score of each piece.

        If the distribution function at y has weight c(y), this is the piece's mean of the sum of c from y on, which is
        constant between two values of y.
        """
        from scipy.fft import irfft, next_fast_len, rfft  # here, because SciPy takes long to import

        grid, share = self.grid, self.grid.share[0]
        of_cell = np.concatenate([self._parts.T @ scores[: grid.bins], scores[grid.bins :]])
        size = next_fast_len(len(grid.y), real=True)
        of_step = irfft(rfft(share, size) * rfft(of_cell, size), size)[: len(grid.y) - 1]
        weight = np.append(0.0, of_step) - np.append(of_step, 0.0)
        weight[: len(share)] += scores[0] * share
        from_here = np.cumsum(weight[::-1])[::-1]
        whole = np.append(0.0, np.cumsum(from_here * np.diff(grid.y, prepend=0.0)))
        return np.asarray(np.diff(np.interp(self.edges, np.append(0.0, grid.y), whole)) / np.diff(self.edges))

    def _errors(self, cdf: FloatArray) -> FloatArray:
        """Return the cells of laws with these distribution functions (laws, Y)."""
        from scipy.fft import irfft, next_fast_len, rfft  # here, because SciPy takes long to import

        grid, share = self.grid, self.grid.share[0]
        size = next_fast_len(cdf.shape[1] + len(share), real=True)
        of_cell = irfft(rfft(np.diff(cdf), size) * np.conj(rfft(share, size)), size)[:, : len(grid.multiple)]
        of_cell = np.maximum(of_cell, 0)
        spread = (self._parts @ of_cell[:, : grid.dense].T).T
        spread[:, 0] += cdf[:, : len(share)] @ share
        return np.hstack([spread, of_cell[:, grid.dense :]])

    @cached_property
    def _parts(self) -> Any:
        """Shares of each cell in the bins, a sparse matrix (bins, cells)."""
        from scipy.sparse import coo_array

        grid = self.grid
        bins = grid.first_bin[:, None] + np.arange(grid.part.shape[1])
        cell = np.broadcast_to(np.arange(grid.dense)[:, None], bins.shape)
        return coo_array((grid.part.ravel(), (bins.ravel(), cell.ravel())), (grid.bins, grid.dense)).tocsr()


def pieces(variance: float, above: int = ABOVE) -> FloatArray:
    """Return the edges of the pieces for a variance: 0, then logarithmic points from 1/64 deviation to
    2^above deviations.
    """
    if not 0 < variance < np.inf:
        raise OptionError(f"variance {variance:g} is not a positive number: the limit is about noise", kind="variance")
    middle = int(np.floor(PER_OCTAVE * np.log2(variance) / 2))
    points = np.arange(middle - BELOW * PER_OCTAVE, middle + above * PER_OCTAVE + 1) / PER_OCTAVE
    return np.concatenate([[0.0], np.exp2(points)])


def finer(edges: FloatArray) -> FloatArray:
    """Return edges with each piece divided into `FINER` parts, of equal ratios, or of equal widths if it
    begins at 0.
    """
    share = np.arange(FINER) / FINER
    low, high = edges[:-1, None], edges[1:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(low > 0, low * (high / low) ** share, low + (high - low) * share)
    return np.append(parts.ravel(), edges[-1])


def has_limit(entry: MenuSetting) -> bool:
    """Return whether a setting adds noise to every value that is seen; nobody sees the values of a split setting."""
    seen = entry.setting.kind == "additive" and entry.setting.release != SPLIT
    return seen and entry.setting.inner is None and bool(entry.noise_std)


def closeness(entry: MenuSetting, scale: AllReadings) -> Closeness:
    """Compare a setting of a menu with the limit at its variance."""
    found, most = None, None
    if has_limit(entry) and entry.noise_std:
        found, most = scale.privacy(entry.setting), scale.limit(entry.noise_std**2).upper_bound
    return Closeness(found, most, entry.noise_std, entry.privacy.median)


def few_pieces(scale: AllReadings, best: LimitLaw) -> PrivacySetting:
    """Return the best law with few pieces, as a ``tabulated`` setting that all other code accepts.

    Pieces lie near the mass of the limit's law; their masses are optimised again.
    """
    edges = likely_edges(best.edges, best.masses, POINTS)
    return tabulated(edges, best_law(scale.score(edges), best.variance).masses)


def tabulated(edges: FloatArray, masses: FloatArray) -> PrivacySetting:
    """Return a law on pieces as a setting with numbers of six digits; its variance is exact to within 1e-5."""
    shares = np.round(np.cumsum(masses) / masses.sum(), DIGITS)
    held = slice(0, int(np.searchsorted(shares, 1.0)) + 1)
    pairs = zip(edges[1:][held].tolist(), shares[held].tolist(), strict=True)
    return PrivacySetting(Tabulated.name, tuple(number for y, c in pairs for number in (float(f"{y:.{DIGITS}g}"), c)))


def likely_edges(edges: FloatArray, masses: FloatArray, points: int) -> FloatArray:
    """Return 0, then at most ``points`` of a law's own edges: most with equal masses between them, some in equal
    ratios.

    Both ends with a mass below `RARE` are left out. No piece is narrower than the law's own, because the grid of errors
    has no finer resolution: narrower pieces would be fitted to the grid's steps instead of the readings.
    """
    below, most = np.concatenate([[0.0], np.cumsum(masses)]), 3 * points // 4
    first = max(int(np.searchsorted(below, RARE, side="right")) - 1, 1)
    last = min(int(np.searchsorted(below, 1 - RARE)), len(edges) - 1)
    likely = np.abs(below[1:] - np.linspace(RARE, 1 - RARE, most + 2)[1:-1, None]).argmin(axis=1) + 1
    evenly = np.linspace(first, last, points - most).round().astype(int)
    return np.asarray(edges[np.unique([0, *likely, *evenly])])
