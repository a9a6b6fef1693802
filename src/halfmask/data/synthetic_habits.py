"""What tells one user of the synthetic panel from another: a rhythm of its own, and how strongly it bursts.

A reading follows a standard normal activity

    z(n, d, h) = OWN r_n(h) + sqrt(1 - OWN^2) e(n, d, h),

with r_n the user's rhythm, which is the same every day, and e what changes from day to day. A rhythm is a sum of
`HARMONICS` cosines of the day with phases of the user's own. A reading is proportional to burst_n(z), which is

    0 below `NOTHING`, else exp(max(base_n (z - KNEE), peak_n (z - KNEE))), and constant from `CEILING`,

with slopes base_n and peak_n of the user's own: below the knee a base load that varies little, above it appliances, at
the ceiling everything switched on, and at times nothing at all.

Phases and slopes are quasi-random in the user's place among its type's users, in order of their means: so any number
of them averages out, and each type's day keeps its published shape.

`OWN`, the harmonics, slopes, knee and ceiling are fitted to figures: quantiles, coefficient of variation and share of
zeros of the trial's pooled readings (`synth`); and of 500 Swiss households over 49 days, the share that is
re-identified from one unmasked day (93 %, `halfmask.protection.attacks.reidentification`), and the highest half-hour of
a day over the day's mean (3.5 in the middle home; 4.0 here, since the trial's quantiles leave little less). No reading
of those households is in here. One figure differs: habits do not change over the weeks, so that half of the reports
names nearly every user even under heavy noise.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from halfmask.arrays import FloatArray, IntArray

SLOTS = 48
HARMONICS = 12
OWN = 0.54
BASE, BASE_SPREAD = 0.387, 0.132
"""Middle slope of the base load, and log-standard deviation of users' slopes."""
PEAK, PEAK_SPREAD, STEEPEST = 0.864, 0.26, 1.476
KNEE, CEILING, NOTHING = -0.181, 2.467, -2.409
REFERENCE, ROUNDS = 2048, 6
"""Users, and steps of the fixed-point iteration, by which a type's day is corrected."""


@dataclass(frozen=True)
class SyntheticHabits:
    """SyntheticHabits of some users: rhythms (users, slots) and slopes (users, 1)."""

    rhythm: FloatArray
    base: FloatArray
    peak: FloatArray

    def bursts(self, e: FloatArray) -> FloatArray:
        """Return burst_n(z) for e (users, days, slots), which is overwritten."""
        e *= np.sqrt(1 - OWN**2)
        e += OWN * self.rhythm[:, None]
        nothing = e < NOTHING
        np.minimum(e, CEILING, out=e)
        e -= KNEE
        factor: FloatArray = np.maximum(self.base[:, None] * e, self.peak[:, None] * e)
        np.exp(factor, out=factor)
        factor[nothing] = 0
        return factor

    def expected(self) -> FloatArray:
        """Return the mean burst (users, slots), over all that changes from day to day."""
        mean, spread = OWN * self.rhythm, float(np.sqrt(1 - OWN**2))
        top = np.exp(self.peak * (CEILING - KNEE)) * ndtr((mean - CEILING) / spread)
        parts = ((self.base, NOTHING, KNEE), (self.peak, KNEE, CEILING))
        return np.asarray(top + sum(_truncated_mean(slope, low, high, mean, spread) for slope, low, high in parts))


def habits(places: IntArray, turns: FloatArray) -> SyntheticHabits:
    """Return the habits of users in these places; ``turns`` (`HARMONICS` + 2,) in 0..1 shift all of them."""
    steps = _plastic(HARMONICS + 2) ** -np.arange(1.0, HARMONICS + 3)
    even = ((places[:, None] + 1) * steps + turns) % 1
    phases = 2 * np.pi * even[:, :HARMONICS]
    angles = 2 * np.pi * np.arange(1, HARMONICS + 1)[:, None] * np.arange(SLOTS) / SLOTS
    rhythm = np.cos(phases) @ np.cos(angles) - np.sin(phases) @ np.sin(angles)
    score = ndtri(np.clip(even[:, HARMONICS:], 1e-3, 1 - 1e-3))
    peak = np.minimum(PEAK * np.exp(PEAK_SPREAD * score[:, 1:]), STEEPEST)
    base = np.minimum(BASE * np.exp(BASE_SPREAD * score[:, :1]), peak)
    return SyntheticHabits(np.sqrt(2 / HARMONICS) * rhythm, base, peak)


def corrected(day: FloatArray, turns: FloatArray) -> FloatArray:
    """Return the shape of a day that bursts are multiplied with, so that users' mean day is ``day``.

    A user whose rhythm follows the day has a larger mean, and is divided by it; the correction makes up for that.
    """
    bursts, shape = habits(np.arange(REFERENCE), turns).expected(), day
    for _ in range(ROUNDS):
        of_users = shape * bursts
        shape = shape * day / (of_users / of_users.mean(axis=1, keepdims=True)).mean(axis=0)
    return shape


def _plastic(dimensions: int) -> float:
    """Return the root of x^(d+1) = x + 1, whose powers give evenly spread points in d dimensions."""
    x = 2.0
    for _ in range(64):
        x = (1 + x) ** (1 / (dimensions + 1))
    return x


def _truncated_mean(slope: FloatArray, low: float, high: float, mean: FloatArray, spread: float) -> FloatArray:
    """Return E[exp(slope (z - KNEE)); low < z < high] for normal z."""
    moved = mean + slope * spread**2
    mass = ndtr((high - moved) / spread) - ndtr((low - moved) / spread)
    return np.asarray(np.exp(slope * (mean - KNEE) + (slope * spread) ** 2 / 2) * mass)
