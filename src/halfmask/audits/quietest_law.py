"""The noise of least variance that has enough privacy and is hard enough to undo, as a convex problem with a
certificate.

    minimise E psi^2 = s'p   where   q(p) >= x,   R(p) >= y,   sum p = 1,   p >= 0

over laws with masses p on logarithmic pieces (`best_law`). R is the share of the readings' variance that remains after
the best guess of a reading from its report (`attacks.reconstruction`). With P = D p the probability of each report, and
N p that of the report times the reading, R = 1 - sum_m (Np)_m^2 / (Dp)_m / Var s. A square divided by a positive linear
function is convex, so R is concave. This holds for every least error: it is the minimum, over guesses, of errors that
are linear in p.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.audits.score_limit import AllReadings, likely_edges, pieces, tabulated
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.attack_floor import Floor
from halfmask.menus.menu import Menu
from halfmask.profiles.profile import Profile
from halfmask.protection.attacks.reconstruction import share_left
from halfmask.protection.best_guess import check_varies
from halfmask.protection.best_law import PrivacyScore, inside, newton
from halfmask.protection.evidence import Population, population_of

FINENESS = 24  # lattice steps in the smaller of the noise's deviation and a typical reading,
MOST_STEPS = 4096  # or as many as there may be
HARDLY = 1e-14
FIRST_BARRIER, LAST_BARRIER, SHRINK, CENTRED = 1e-1, 1e-8, 0.2, 1e-3
MOST_NEWTON = 300
CERTAIN = 2e-3
ABOVE = 2
"""Octaves above the deviation that noise may reach.

The largest readings have most weight in a mean square. Without this limit, rare huge noise would hide them and hardly
any other.
"""
LOUDER = 8
"""The search starts from noise of up to 2^(8/4) = 4 times the requested deviation."""
POINTS = 39


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """The function R of laws on pieces.

    ``chance``    (K, M) is D', with readings around their mean
    ``shift``     (K, M) is N'
    ``variance``  of the readings
    """

    chance: FloatArray
    shift: FloatArray
    variance: float

    def value(self, p: FloatArray) -> float:
        """Return the share of the readings' variance that remains after the best guess from the report."""
        chance, guess = self._guess(p)
        return float(1 - chance @ guess**2 / self.variance)

    def slope_and_bend(self, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradient and minus the Hessian, from terms of -(N p)^2 / (D p) with the guess g = N p / D p.

        The gradient is g^2 D - 2 g N; minus the Hessian is 2 (N - g D)^2 / (D p).
        """
        chance, guess = self._guess(p)
        slope = (self.chance @ guess**2 - 2 * (self.shift @ guess)) / self.variance
        left = self.shift - guess * self.chance
        weight = np.divide(2 / self.variance, chance, out=np.zeros_like(chance), where=chance > 0)
        return slope, (left * weight) @ left.T

    def _guess(self, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        chance = p @ self.chance
        return chance, np.divide(p @ self.shift, chance, out=np.zeros_like(chance), where=chance > 0)


Concave = PrivacyScore | Reconstruction
"""A concave function of the masses p, with its gradient and minus its Hessian."""


def reconstruction_of(population: Population, edges: FloatArray, deviation: float) -> Reconstruction:
    """Return R for laws on the pieces between the edges, on a lattice fine enough for noise of this deviation."""
    from scipy.fft import irfft, next_fast_len, rfft  # here, because SciPy takes long to import

    low, high = min(float(population.low[0]), 0.0), max(float(population.high[-1]), 0.0)
    step = max(min(deviation, population.typical) / FINENESS, (high - low + 2 * edges[-1]) / MOST_STEPS)
    s = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    p = np.diff(population.cdf(np.append(s, s[-1] + step) - step / 2))
    p = p / p.sum()
    s = s - s @ p
    reach = int(np.ceil(edges[-1] / step))
    psi = (np.arange(-reach, reach + 2) - 0.5) * step
    size = np.clip((np.abs(psi) - edges[:-1, None]) / np.diff(edges)[:, None], 0, 1)
    noise = np.diff(np.sign(psi) * size) / 2
    count = next_fast_len(len(s) + noise.shape[1], real=True)
    law = rfft(noise, count)
    chance, shift = (irfft(law * rfft(each, count), count) for each in (p, p * s))
    rounding = chance < HARDLY
    chance[rounding] = shift[rounding] = 0.0  # a report possible only by rounding would give a wild guess
    return Reconstruction(chance, shift, float(p @ s**2))


def quietest_masses(
    square: FloatArray, demands: Sequence[tuple[Concave, float]], start: FloatArray
) -> tuple[FloatArray, float]:
    """Return the masses with the least s'p for which every function meets its minimum, and a lower bound on all such
    s'p.

    The method is Newton's on -s'p + mu [sum log p + sum log(f(p) - x)], for decreasing mu. At every p, mu / (f - x) are
    multipliers of the constraints, and the tangent of the resulting Lagrangian bounds s'p from below. ``start`` must
    meet every constraint with some margin.
    """
    scale, p, mu, bound = float(square @ start), start, FIRST_BARRIER, 0.0
    cost, rim = square / scale, np.ones((1, len(start)))

    def height(at: FloatArray) -> float:
        room = [f.value(at) - least for f, least in demands]
        if min(room) <= 0 or at.min() <= 0:
            return -np.inf
        return float(-cost @ at + mu * (np.log(at).sum() + np.log(room).sum()))

    for _ in range(MOST_NEWTON):
        slope, bend = -cost, np.zeros((len(p), len(p)))
        for f, least in demands:
            room = f.value(p) - least
            of_slope, of_bend = f.slope_and_bend(p)
            slope = slope + mu / room * of_slope
            bend += mu / room * of_bend + mu / room**2 * np.outer(of_slope, of_slope)
        bound = max(bound, float(cost @ p + slope @ p - slope.max()) - mu * len(demands))
        if cost @ p - bound <= CERTAIN * bound or mu < LAST_BARRIER:
            break
        step, decrement = newton(p, slope, bend, rim, mu, mu)
        length, here = inside(p, step), height(p)
        while length > 1e-9 and height(p + length * step) < here:
            length /= 2
        p = p + length * step if length > 1e-9 else p
        if decrement < CENTRED * mu or length <= 1e-9:
            mu *= SHRINK
    return p, bound * scale


@dataclass(frozen=True, eq=False)
class QuietLaw:
    """The law that was found, as masses between edges, with its variance and a lower bound on that of
    all laws on these pieces.
    """

    edges: FloatArray
    masses: FloatArray
    variance: float
    lower_bound: float


class Quietest:
    """Search for the least noise with a given privacy and reconstruction error, both over all readings of a profile."""

    def __init__(self, profile: Profile, menu: Menu) -> None:
        self.scale, self.population = AllReadings(profile, menu), population_of(profile)

    def law(self, privacy: float, error: float, deviation: float, edges: FloatArray | None = None) -> QuietLaw | None:
        """Return the law, searched near a deviation of the noise; None if no Gaussian noise can start the search.

        ``error`` is the root mean square error of the best guess, in deviations of the readings.
        """
        edges = pieces(deviation**2, ABOVE) if edges is None else edges
        score = self.scale.score(edges)
        undoing = reconstruction_of(self.population, edges, deviation)
        demands: list[tuple[Concave, float]] = [(score, privacy), (undoing, error**2)]
        start = _loud(edges, deviation, demands)
        if start is None:
            return None
        masses, bound = quietest_masses(score.square, demands, start)
        return QuietLaw(edges, masses, float(score.square @ masses), bound)

    def setting(self, privacy: float, error: float, deviation: float) -> PrivacySetting | None:
        """Return the law with few pieces as a ``tabulated`` setting; None if none is found."""
        fine = self.law(privacy, error, deviation)
        if fine is None:
            return None
        few = np.union1d(likely_edges(fine.edges, fine.masses, POINTS), fine.edges[-1])  # the last piece: to start from
        law = self.law(privacy, error, deviation, few)
        return None if law is None else tabulated(law.edges, law.masses)


def _loud(edges: FloatArray, deviation: float, demands: Sequence[tuple[Concave, float]]) -> FloatArray | None:
    """Return the masses of the least Gaussian noise that meets every constraint with some margin; None if none does."""
    from scipy.special import erf

    for louder in range(LOUDER + 1):
        below = erf(edges / (deviation * 2 ** (louder / 4) * np.sqrt(2)))
        masses = np.diff(below) + 1e-9
        masses = masses / masses.sum()
        if all(f.value(masses) > least + 1e-4 for f, least in demands):
            return np.asarray(masses)
    return None


def reconstruction_floor(profile: Profile, menu: Menu, least: float) -> Floor:
    """Return the floor "the best guess of a reading errs by at least ``least`` deviations of the readings".

    0 means that reports can be undone; 1 that a report says nothing about its reading. Settings are measured with the
    noise that devices draw.
    """
    check_varies(population_of(profile))
    quietest, step = Quietest(profile, menu), menu.question.step if menu.question else None

    def error(setting: PrivacySetting) -> float:
        return share_left(setting, quietest.population, step)

    return Floor("reconstruction", least, error, quietest.setting)
