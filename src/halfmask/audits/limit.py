"""The limit: how much privacy any additive noise can have at a utility, and how close the menu's settings come.

Utility depends on the noise through its variance (the sum of a period's noises is normal), so for each variance the
law of |psi| with the largest privacy score is the best that any additive noise can do (`best_law`). All figures here
are the expectation over all readings of everybody; a menu's own figures are medians over samples of many sizes, and
lie lower where samples are small, because few readings show less entropy.

The score alone must not decide: the best law has nearly constant magnitude, and attacks undo it easily.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.evaluation.analytic.denominators import Denominators, ErrorKind, denominators
from halfmask.evaluation.metrics import LOCAL
from halfmask.evaluation.sampling import Subset, eligible, population
from halfmask.mechanisms.ours.tabulated import Tabulated
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, MenuSetting
from halfmask.profiles.profile import Profile
from halfmask.protection.best_law import TOLERANCE, BestLaw, PrivacyScore, best_law

if TYPE_CHECKING:
    from halfmask.evaluation.analytic.log_grid import LogGrid

PER_OCTAVE = 16
FINER = 4
"""The bound is certified on pieces and cells so many times as narrow: a 64th of an octave, as a profile's bins are."""
BELOW, ABOVE = 6, 4  # octaves of |psi| below and above the deviation that pieces cover; the first reaches down to 0
POINTS = 20
FEWEST_POINTS, MOST_POINTS = 4, 40
RARE = 1e-6
DIGITS = 6


@dataclass(frozen=True, eq=False)
class LimitLaw:
    """The best law of one variance: |psi| has mass ``masses[k]``, evenly spread, from ``edges[k]`` to ``edges[k+1]``.

    ``privacy`` is what this law has. No law has more than ``upper_bound`` that is even within pieces `FINER` times as
    narrow, on errors counted in cells as much finer: nothing narrower is known of the readings themselves.
    """

    variance: float
    privacy: float
    upper_bound: float
    edges: FloatArray
    masses: FloatArray


@dataclass(frozen=True)
class Closeness:
    """How close a setting comes to the limit of its own variance: ``privacy / upper_bound``, both over all readings.

    ``median`` is the menu's own figure, over samples. None where the noise is not additive or there is none.
    """

    id: str
    setting: PrivacySetting
    noise_std: float | None
    median: float
    privacy: float | None
    upper_bound: float | None

    @property
    def share(self) -> float | None:
        """In (0, 1]."""
        return None if self.privacy is None or self.upper_bound is None else min(self.privacy / self.upper_bound, 1.0)


class AllReadings:
    """The privacy score of a menu on all readings of a profile: what limits and settings are measured by."""

    def __init__(self, profile: Profile, menu: Menu) -> None:
        rows = eligible(profile)
        if not len(rows):
            raise OptionError("the profile has no usable reading: there is no local error to limit")
        people = population(profile)
        error: ErrorKind = menu.provenance.get("error", "relative")
        self.z: Denominators = denominators(profile, [Subset(people, 0, rows, people)], "additive", error)
        mean, std, entropy = (float(each) for each in np.array(menu.weights.privacy) / menu.largest[LOCAL])
        self.weights = (mean, std, entropy)
        if not np.isfinite(self.z.inverse[0, :2]).all():
            raise OptionError("readings so near zero that 1/s^2 has no finite mean: evaluate with `error=scaled`")

    def limit(self, variance: float, edges: FloatArray | None = None, tolerance: float = TOLERANCE) -> LimitLaw:
        """The best law of a variance, on the given pieces or on those of the logarithmic grid."""
        edges = pieces(variance) if edges is None else edges
        law: BestLaw = best_law(self.score(edges), variance, tolerance)
        fine = finer(edges)
        width = np.diff(fine).reshape(-1, FINER)
        masses = (law.masses[:, None] * width / width.sum(axis=1, keepdims=True)).ravel()
        bound = self.score(fine, PER_OCTAVE * FINER).bound(masses, variance)
        return LimitLaw(variance, law.privacy, max(bound, law.upper_bound), edges, law.masses)

    def score(self, edges: FloatArray, per_octave: int = PER_OCTAVE) -> PrivacyScore:
        """The score of laws on pieces between the edges."""
        low, high = edges[:-1], edges[1:]
        grid = self._grid(edges[-1], per_octave)
        reached = np.clip((grid.y - low[:, None]) / (high - low)[:, None], 0, 1)
        return self._score(grid, reached, (low + high) / 2, (low**2 + low * high + high**2) / 3)

    def privacy(self, setting: PrivacySetting) -> float:
        """q of an additive setting over all readings, by the limit's formula but at full resolution.

        The limit's grid takes the errors of a cell as evenly spread, which those of a narrow law on rounded readings
        are not.
        """
        if setting.kind != "additive" or setting.inner is not None:
            raise OptionError(f"setting {setting} does not add noise of its own: the limit is about additive noise")
        parameters = np.array(setting.parameters)[None]
        moments = setting.law.moments(parameters)[0]
        if moments[1] == 0:
            return 0.0
        grid = self._grid(float(np.sqrt(moments[1])) * 2**ABOVE)
        score = self._score(grid, setting.law.cdf(parameters, grid.y), moments[:1], moments[1:2])
        mean, std, _ = score.parts(np.ones(1))
        from halfmask.evaluation.analytic.fine import all_at_full_resolution  # here, because numba takes long to import

        return float(np.dot(self.weights, (mean, std, all_at_full_resolution(self.z, setting.law, parameters))))

    def _grid(self, largest: float, per_octave: int = PER_OCTAVE) -> "LogGrid":
        from halfmask.evaluation.analytic.log_grid import make_grid  # here, because SciPy takes long to import

        return make_grid(self.z, self.z.share, largest, per_octave)

    def _score(self, grid: "LogGrid", cdf: FloatArray, mean: FloatArray, square: FloatArray) -> PrivacyScore:
        holds = np.concatenate([np.ones(grid.bins), grid.multiple[grid.dense :]])
        inverse = float(self.z.inverse[0, 0]), float(self.z.inverse[0, 1])
        return PrivacyScore(error_cells(grid, cdf).T, holds, float(self.z.n[0]), mean, square, inverse, self.weights)


def error_cells(grid: "LogGrid", cdf: FloatArray) -> FloatArray:
    """P(local error in each bin, then in each wider cell) of laws with distribution function (laws, Y) on the grid.

    A cross-correlation by Fourier transform, then the narrow cells spread over the 0.001-wide bins: linear in the law.
    """
    from scipy.fft import irfft, next_fast_len, rfft  # here, because SciPy takes long to import
    from scipy.sparse import coo_array

    share, cells = grid.share[0], len(grid.multiple)
    size = next_fast_len(cdf.shape[1] + len(share), real=True)
    of_cell = irfft(rfft(np.diff(cdf), size) * np.conj(rfft(share, size)), size)[:, :cells]
    of_cell = np.maximum(of_cell, 0)
    bins = grid.first_bin[:, None] + np.arange(grid.part.shape[1])
    cell = np.broadcast_to(np.arange(grid.dense)[:, None], bins.shape)
    parts = coo_array((grid.part.ravel(), (bins.ravel(), cell.ravel())), (grid.bins, grid.dense)).tocsr()
    spread = (parts @ of_cell[:, : grid.dense].T).T
    spread[:, 0] += cdf[:, : len(share)] @ share
    return np.hstack([spread, of_cell[:, grid.dense :]])


def pieces(variance: float, above: int = ABOVE) -> FloatArray:
    """Edges of the pieces for a variance: 0, then logarithmic points from 1/64 deviation to 2^above deviations."""
    if not 0 < variance < np.inf:
        raise OptionError(f"variance {variance:g} is not a positive number: the limit is about noise")
    middle = int(np.floor(PER_OCTAVE * np.log2(variance) / 2))
    points = np.arange(middle - BELOW * PER_OCTAVE, middle + above * PER_OCTAVE + 1) / PER_OCTAVE
    return np.concatenate([[0.0], np.exp2(points)])


def finer(edges: FloatArray) -> FloatArray:
    """Each piece in `FINER` parts: of equal ratios, or of equal widths where it begins at 0."""
    share = np.arange(FINER) / FINER
    low, high = edges[:-1, None], edges[1:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(low > 0, low * (high / low) ** share, low + (high - low) * share)
    return np.append(parts.ravel(), edges[-1])


def closeness(entry: MenuSetting, scale: AllReadings) -> Closeness:
    """A setting of a menu against the limit of its own variance."""
    found, most = None, None
    if entry.setting.kind == "additive" and entry.setting.inner is None and entry.noise_std:
        found, most = scale.privacy(entry.setting), scale.limit(entry.noise_std**2).upper_bound
    return Closeness(entry.id, entry.setting, entry.noise_std, entry.privacy.median, found, most)


def few_pieces(scale: AllReadings, best: LimitLaw, points: int = POINTS) -> PrivacySetting:
    """The best law of few pieces as a ``tabulated`` setting, for every other part to take.

    Pieces lie where the limit's mass is; their masses are searched for again.
    """
    if not FEWEST_POINTS <= points <= MOST_POINTS:
        raise OptionError(f"points {points} is not between {FEWEST_POINTS} and {MOST_POINTS}")
    edges = likely_edges(best.edges, best.masses, points)
    return tabulated(edges, best_law(scale.score(edges), best.variance).masses)


def tabulated(edges: FloatArray, masses: FloatArray) -> PrivacySetting:
    """A law on pieces as a setting, in numbers of six digits: its variance is the law's to within 1e-5."""
    shares = np.round(np.cumsum(masses) / masses.sum(), DIGITS)
    held = slice(0, int(np.searchsorted(shares, 1.0)) + 1)
    pairs = zip(edges[1:][held].tolist(), shares[held].tolist(), strict=True)
    return PrivacySetting(Tabulated.name, tuple(number for y, c in pairs for number in (float(f"{y:.{DIGITS}g}"), c)))


def likely_edges(edges: FloatArray, masses: FloatArray, points: int) -> FloatArray:
    """0, then at most so many of a law's own edges: most with equal masses between, some in equal ratios.

    What is rarer than `RARE` at either end is left out. No piece is narrower than the law's own: the grid of errors
    sees nothing finer, so finer pieces would be fitted to its steps and not to the readings.
    """
    below, most = np.concatenate([[0.0], np.cumsum(masses)]), 3 * points // 4
    first = max(int(np.searchsorted(below, RARE, side="right")) - 1, 1)
    last = min(int(np.searchsorted(below, 1 - RARE)), len(edges) - 1)
    likely = np.abs(below[1:] - np.linspace(RARE, 1 - RARE, most + 2)[1:-1, None]).argmin(axis=1) + 1
    evenly = np.linspace(first, last, points - most).round().astype(int)
    return np.asarray(edges[np.unique([0, *likely, *evenly])])
