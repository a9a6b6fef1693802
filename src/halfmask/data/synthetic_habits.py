"""Differences between synthetic users: each has its own daily rhythm and its own bursts of consumption.

A reading follows a standard normal activity

    z(n, d, h) = OWN r_n(h) + sqrt(1 - OWN^2) e(n, d, h)

r_n  the user's rhythm, the same every day: `HARMONICS` cosines of the day with the user's own phases
e    the part that changes from day to day

A reading is proportional to

    burst_n(z) = exp(max(base_n (z - KNEE), peak_n (z - KNEE))),

but it is 0 below `NOTHING` and constant above `CEILING`. The slopes base_n and peak_n differ between users. Below the
knee there is a base load that varies little; above the knee appliances run.

Phases and slopes are quasi-random in the user's rank (by mean) among the users of its type. So they average out over
any number of users, and each type keeps its published daily shape.

The parameters are fitted to

- the trial's quantiles, coefficient of variation and share of zeros (`synth`)
- 500 Swiss households over 49 days: 93 % of them are re-identified from one unmasked day
  (`halfmask.protection.attacks.reidentification`), and the median household's highest half-hour of a day is 3.5 times
  the day's mean (4.0 here, because the trial's quantiles allow little less)

The Swiss readings themselves are not contained here. One property is unrealistic: habits never change, so half of the
reports identify nearly every user even under heavy noise.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from halfmask.arrays import FloatArray, IntArray

SLOTS = 48
HARMONICS = 12
OWN = 0.54
BASE, BASE_SPREAD = 0.387, 0.132
"""Median slope of the base load, and standard deviation of its logarithm over users."""
PEAK, PEAK_SPREAD, STEEPEST = 0.864, 0.26, 1.476
KNEE, CEILING, NOTHING = -0.181, 2.467, -2.409
REFERENCE, ROUNDS = 2048, 6
"""The number of users and of fixed-point iterations with which `corrected` computes a day."""


@dataclass(frozen=True)
class SyntheticHabits:
    """The habits of some users: rhythms (users, slots) and slopes (users, 1)."""

    rhythm: FloatArray
    base: FloatArray
    peak: FloatArray

    def bursts(self, e: FloatArray) -> FloatArray:
        """Return burst_n(z) for the daily changing part ``e`` (users, days, slots). ``e`` is overwritten."""
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
        """Return the expected burst (users, slots) over all days."""
        mean, spread = OWN * self.rhythm, float(np.sqrt(1 - OWN**2))
        top = np.exp(self.peak * (CEILING - KNEE)) * ndtr((mean - CEILING) / spread)
        parts = ((self.base, NOTHING, KNEE), (self.peak, KNEE, CEILING))
        return np.asarray(top + sum(_truncated_mean(slope, low, high, mean, spread) for slope, low, high in parts))


def habits(places: IntArray, turns: FloatArray) -> SyntheticHabits:
    """Return the habits of users.

    ``places``  the rank of each user among the users of its type
    ``turns``   (`HARMONICS` + 2,) random numbers from 0 to 1 that shift the habits of all users
    """
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
    """Return the shape by which bursts are multiplied, so that the users' mean day is ``day``.

    The correction is needed because each user is divided by its mean, which is larger if its rhythm follows the day.
    """
    bursts, shape = habits(np.arange(REFERENCE), turns).expected(), day
    for _ in range(ROUNDS):
        of_users = shape * bursts
        shape = shape * day / (of_users / of_users.mean(axis=1, keepdims=True)).mean(axis=0)
    return shape


def _plastic(dimensions: int) -> float:
    """Return the root of x^(d+1) = x + 1. Its powers give evenly spread points in d dimensions."""
    x = 2.0
    for _ in range(64):
        x = (1 + x) ** (1 / (dimensions + 1))
    return x


def _truncated_mean(slope: FloatArray, low: float, high: float, mean: FloatArray, spread: float) -> FloatArray:
    """Return E[exp(slope (z - KNEE)); low < z < high] for normal z."""
    moved = mean + slope * spread**2
    mass = ndtr((high - moved) / spread) - ndtr((low - moved) / spread)
    return np.asarray(np.exp(slope * (mean - KNEE) + (slope * spread) ** 2 / 2) * mass)
