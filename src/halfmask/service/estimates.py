"""Estimates with honest intervals from exact cells: sum, mean and variance of the readings that were shared.

A report is m = s + K: the reading on the lattice plus noise of a known, symmetric law. So the sum of reports estimates
the sum of readings without bias, with variance sum_s n_s Var K_s. The interval is about the readings that were shared
by those who reported. It says nothing about anyone else (see `estimates_on_request.population_sum`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from halfmask.mergeable import merged
from halfmask.service.campaign import Campaign
from halfmask.service.campaign_noise import LatticeNoise, cell_width
from halfmask.service.cells import Cells
from halfmask.service.storage.tables import Plain
from halfmask_device.protocol import Cell

COVERAGE = 0.95
NORMAL = 1.959963984540054
NEARLY_NORMAL = 0.002
"""Excess kurtosis of the total noise below which the normal interval's coverage errs by less than 0.0001."""
CELLS_PER_DEVIATION = 1000
DEVIATIONS = 16
"""How far from 0 the law of the total noise is computed, in standard deviations."""


@dataclass(frozen=True)
class TotalNoise:
    """The noise in a sum of reports, in steps."""

    variance: float
    reach: float
    """The smallest x with P(|noise| <= x) >= 0.95."""


def total_noise(counts: Mapping[LatticeNoise, int]) -> TotalNoise:
    """Return the law of sum_s sum_{i <= n_s} K_si.

    Variances and fourth cumulants add. If the excess kurtosis is small and the standard deviation is above 100 steps,
    the normal law is used. Otherwise the masses of each K on a common grid are convolved n_s times by Fourier
    transform, which is exact if a grid cell is one step.
    """
    noisy = {noise: n for noise, n in counts.items() if n and noise.variance > 0}
    variance = sum(n * noise.variance for noise, n in noisy.items())
    if not variance:
        return TotalNoise(0.0, 0.0)
    cumulant = sum(n * (noise.fourth - 3 * noise.variance**2) for noise, n in noisy.items())
    deviation = math.sqrt(variance)
    if abs(cumulant) / variance**2 < NEARLY_NORMAL and deviation > 100:
        return TotalNoise(variance, NORMAL * deviation)
    return TotalNoise(variance, _reach(tuple(sorted(noisy.items(), key=lambda each: each[0].variance)), deviation))


@lru_cache(maxsize=256)
def _reach(noisy: tuple[tuple[LatticeNoise, int], ...], deviation: float) -> float:
    import numpy as np  # a service starts without it

    width = cell_width(deviation / CELLS_PER_DEVIATION)
    half = max(2, math.ceil(DEVIATIONS * deviation / width))
    size = 1 << (2 * half + 1).bit_length()
    spectrum = np.ones(size // 2 + 1)
    for noise, n in noisy:
        side = noise.masses(width)[: size // 2]
        mass = np.zeros(size)
        mass[: side.size] = side
        mass[size - side.size + 1 :] += side[:0:-1]
        spectrum = spectrum * np.fft.rfft(mass).real ** n  # the law is symmetric, so its transform is real
    law = np.maximum(np.fft.irfft(spectrum, size), 0.0)
    within = np.cumsum(np.concatenate([law[:1], law[1 : size // 2] + law[: size // 2 : -1]]))
    # rounding may leave the last sums slightly different from 1
    place = int(np.searchsorted(within, COVERAGE * within[-1] * (1 - 1e-12)))
    return float(place * width)


def _interval(estimate: float | Fraction, error: float, reach: float | Fraction) -> Plain:
    """Return an estimate with its interval.

    The ends are rounded once, from exact numbers if these are given: a true value on the lattice must not fall outside.
    """
    low, high = float(estimate - reach), float(estimate + reach)
    return {"estimate": float(estimate), "standard_error": error, "low": low, "high": high}


def estimates(campaign: Campaign, cells: Cells, *, closed: bool = True) -> Plain:
    """Return ``sum``, ``mean`` and ``variance`` of a period in the campaign's unit.

    Each is None if there are no reports.

    Two successive snapshots of a period that is not ``closed`` may differ by a single producer of one setting. So
    nothing in them depends on single settings.
    """
    total = total_cell(cells)
    if not total.reports:
        return {"sum": None, "mean": None, "variance": None}
    unit, n = campaign.lattice.unit, total.reports
    noise = total_noise(_counts(campaign, cells))
    error, reach = math.sqrt(noise.variance) * float(unit), Fraction(noise.reach) * unit
    exact, apart = total.sum * unit, closed and each_shown(campaign, cells)
    return {
        "sum": _interval(exact, error, reach),
        "mean": _interval(exact / n, error / n, reach / n),
        "variance": _variance(campaign, cells, total, noise.variance, apart),
    }


def _counts(campaign: Campaign, cells: Cells) -> dict[LatticeNoise, int]:
    counts: dict[LatticeNoise, int] = {}
    for setting, cell in cells.items():
        noise = campaign.noises[setting]
        counts[noise] = counts.get(noise, 0) + cell.reports
    return counts


def total_cell(cells: Cells) -> Cell:
    return merged(cells.values(), Cell())


def _variance(campaign: Campaign, cells: Cells, total: Cell, noise: float, apart: bool) -> Plain:
    """Return V = (sum m^2)/n - (sum m)^2/n^2 - (1 - 1/n) mean Var K, the variance of the n readings without the noise.

    The noise in V has variance 1/n^2 sum_s [4 Var K_s C_s + n_s (E K_s^4 - Var K_s^2)]. C_s is the sum of (s - mean)^2
    over the setting. If ``apart`` (closed, and every setting has the least cohort), C_s is estimated from the setting's
    reports. Otherwise n_s V is used, because the error would reveal something about the few producers of a setting. The
    interval is normal: it is rough for a few dozen reports.
    """
    n, square = total.reports, float(campaign.lattice.unit) ** 2
    spread = (total.squares * n - total.sum**2) / n**2  # whole numbers up to the division
    estimate = spread - (1 - 1 / n) * noise / n
    mean, own = total.sum / n, 0.0
    for setting, cell in cells.items():
        law = campaign.noises[setting]
        around = float(cell.squares) - 2 * mean * cell.sum + cell.reports * mean**2 - cell.reports * law.variance
        if not apart:
            around = cell.reports * estimate
        own += 4 * law.variance * max(around, 0.0) + cell.reports * (law.fourth - law.variance**2)
    error = math.sqrt(own) / n * square
    return _interval(estimate * square, error, NORMAL * error)


def each_shown(campaign: Campaign, cells: Cells) -> bool:
    """Return whether values that depend on single settings may be shown.

    They may if every setting has at least the least cohort of producers.
    """
    return all(cell.producers >= campaign.least for cell in cells.values())
