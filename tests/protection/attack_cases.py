"""Populations and evidence by hand, for attacks whose outcome is known."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.evidence import Evidence, Population

HALF_HOUR = 1_800_000_000


def setting(text: str) -> PrivacySetting:
    return PrivacySetting.parse(text)


def population_from(values: FloatArray, zero: float = 0.0, pieces: int = 400) -> Population:
    """Pieces of equal width over the values, with their shares."""
    counts, edges = np.histogram(values, pieces)
    share = counts / counts.sum() * (1 - zero)
    return Population(edges[:-1], edges[1:], share, zero)


def household_population() -> Population:
    """Readings like a household's: skewed, around 0.5, never negative."""
    return population_from(np.random.default_rng(1).lognormal(-0.7, 0.8, 200_000), zero=0.02)


def evidence_of(series: FloatArray, population: Population | None = None) -> Evidence:
    """Readings every half-hour as evidence."""
    present = np.isfinite(series)
    return Evidence(
        population=population or population_from(series[present]),
        series=series,
        counts=present.astype(float),
        squares=np.where(present, series, 0.0) ** 2,
        times=np.arange(series.shape[1]) * HALF_HOUR,
        step=HALF_HOUR,
        resolution="readings",
        single=True,
    )


def autoregression(users: int, times: int, coefficient: float, seed: int) -> FloatArray:
    """Standard normal series, each remembering ``coefficient`` of the number before."""
    rng = np.random.default_rng(seed)
    series = rng.standard_normal((users, times))
    for t in range(1, times):
        series[:, t] = coefficient * series[:, t - 1] + np.sqrt(1 - coefficient**2) * series[:, t]
    return series


def homes(users: int = 40, days: int = 28, seed: int = 3) -> FloatArray:
    """Half-hourly readings with three decimals, each household with a level and a shape of its own."""
    rng = np.random.default_rng(seed)
    hour = np.arange(48) / 48
    level = rng.lognormal(-0.7, 0.6, (users, 1))
    phase, depth = rng.random((users, 1)), rng.uniform(0.2, 0.9, (users, 1))
    shape = level * (1 + depth * np.sin(2 * np.pi * (hour + phase)))
    wander = np.exp(0.4 * autoregression(users, 48 * days, 0.8, seed + 1))
    return np.round(np.tile(shape, days) * wander, 3)
