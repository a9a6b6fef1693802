"""Estimates with honest intervals from exact cells: sum, mean and variance of the readings that were shared.

A report is m = s + K: the reading on the lattice plus noise of a known, symmetric law. So the sum of reports estimates
the sum of readings without bias, with variance sum_s n_s Var K_s. The interval is about the readings that were shared
by those who reported. It says nothing about anyone else. Estimates that assume more than the reports show are computed
only on request, and name their assumptions (`PeriodQuestion`).

In a campaign of totals, each "reading" here is a producer's total of the period: the sum is over the producers' totals,
and mean and variance are of totals.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from halfmask.mergeable import merged
from halfmask.service.campaign import Campaign, LatticeNoise, cell_width
from halfmask.service.cells import Cells, by_setting, read
from halfmask.service.refusal import unfit
from halfmask.service.storage.period_rows import ClosedRow
from halfmask.service.storage.tables import Plain
from halfmask_device.protocol import Cell
from halfmask_device.setting import TOTAL

JUDGED = ("influence", "at_bounds", "trimmed")
"""Fields of closed periods about few producers (`influence`)."""
COVERAGE = 0.95
NORMAL = 1.959963984540054
NEARLY_NORMAL = 0.002
"""Excess kurtosis of the total noise below which the normal interval's coverage errs by less than 0.0001."""
CELLS_PER_DEVIATION = 1000
DEVIATIONS = 16
"""How far from 0 the law of the total noise is computed, in standard deviations."""


def total_noise(counts: Mapping[LatticeNoise, int]) -> tuple[float, float]:
    """Return the variance of sum_s sum_{i <= n_s} K_si, and the smallest x with P(|sum| <= x) >= 0.95, in steps.

    Variances and fourth cumulants add. If the excess kurtosis is small and the standard deviation is above 100 steps,
    the normal law is used. Otherwise the masses of each K on a common grid are convolved n_s times by Fourier
    transform, which is exact if a grid cell is one step.
    """
    noisy = {noise: n for noise, n in counts.items() if n and noise.variance > 0}
    variance = sum(n * noise.variance for noise, n in noisy.items())
    if not variance:
        return 0.0, 0.0
    cumulant = sum(n * (noise.fourth - 3 * noise.variance**2) for noise, n in noisy.items())
    deviation = math.sqrt(variance)
    if abs(cumulant) / variance**2 < NEARLY_NORMAL and deviation > 100:
        return variance, NORMAL * deviation
    return variance, _reach(tuple(sorted(noisy.items(), key=lambda each: each[0].variance)), deviation)


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

    Each is None without reports.

    Two successive snapshots of a period that is not ``closed`` may differ by a single producer of one setting. So
    nothing in them depends on single settings.
    """
    total = total_cell(cells)
    if not total.reports:
        return {"sum": None, "mean": None, "variance": None}
    unit, n = campaign.lattice.unit, total.reports
    counts: Counter[LatticeNoise] = Counter()
    for setting, cell in cells.items():
        counts[campaign.noises[setting]] += cell.reports
    variance, furthest = total_noise(counts)
    error, reach = math.sqrt(variance) * float(unit), Fraction(furthest) * unit
    exact, apart = total.sum * unit, closed and each_shown(campaign, cells)
    return {
        "sum": _interval(exact, error, reach),
        "mean": _interval(exact / n, error / n, reach / n),
        "variance": _variance(campaign, cells, total, variance, apart),
    }


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

    They may if every setting has at least the least cohort of producers. In a campaign with groups they are not:
    values of settings and of groups together can reveal a few producers of one setting in one group.
    """
    return not campaign.groups and all(cell.producers >= campaign.least for cell in cells.values())


MOST_PEOPLE = 10**12
DIFFER = 0.05
"""If the p-value is below this, the settings' means differ, and no mean weighted by precision is given."""
POPULATION_ASSUMES = (
    "those who report are a random sample of the population; readings of one producer are as alike as can be, which "
    "makes the interval wide rather than narrow"
)
WEIGHTED_ASSUMES = "reports are independent, and the choice of a setting has nothing to do with the reading"


@dataclass(frozen=True)
class PeriodQuestion:
    """The additional estimates that a query asks for.

    ``population``  the number of producers to estimate a sum for
    ``weighted``    whether to give a mean that weights reports by their precision
    """

    population: int | None
    weighted: bool

    def answer(self, campaign: Campaign, entry: Plain, row: ClosedRow | None) -> Plain:
        """Return the period with the additional estimates.

        They are null if the period is withheld or open, and if its sum has a split part, whose variance nobody knows.
        """
        shown = row is not None and entry["withheld"] is None and "split" not in entry
        cells = by_setting(read(row.cells)) if row is not None and shown else None
        more: Plain = {}
        if self.population is not None:
            more["population"] = population_sum(entry, self.population) if cells else None
        if self.weighted:
            more["weighted_mean"] = weighted_mean(campaign, cells) if cells else None
        return entry | more


def parse_question(query: Mapping[str, str]) -> PeriodQuestion | None:
    """Return the additional estimates that a query asks for; None if it asks for none."""
    text, weighted = query.get("population"), query.get("weighted", "false")
    whole = text is None or (text.isascii() and text.isdigit() and len(text) <= 20 and 0 < int(text) <= MOST_PEOPLE)
    if not whole:
        raise unfit("population", "population must be a whole number of producers")
    if weighted not in ("true", "false"):
        raise unfit("weighted", "weighted must be true or false")
    return PeriodQuestion(int(text) if text else None, weighted == "true") if text or weighted == "true" else None


def population_sum(entry: Plain, size: int) -> Plain:
    """Return the sum for N = ``size`` producers: N/p times that of the p who reported.

    Its variance has two parts: noise, (N/p)^2 Var, and sampling, (1 - p/N) N^2 (n/p)^2 V/p, with V the variance of
    readings and n the number of reports. The sampling part assumes that all readings of a producer are equal. That is
    the largest variance possible if all report equally often.
    """
    producers, reports = int(entry["producers"]), int(entry["reports"])
    if size < producers:
        raise unfit("population", "more producers reported than the population has")
    ratio, each = size / producers, reports / producers
    spread = max(float(entry["variance"]["estimate"]), 0.0)
    sampling = (1 - producers / size) * size**2 * each**2 * spread / producers
    noise = (ratio * float(entry["sum"]["standard_error"])) ** 2
    estimate, error = ratio * float(entry["sum"]["estimate"]), math.sqrt(noise + sampling)
    return {"producers": size, **_interval(estimate, error, NORMAL * error), "assumes": POPULATION_ASSUMES}


def weighted_mean(campaign: Campaign, cells: Cells) -> Plain:
    """Return sum_s w_s m_s / sum_s w_s, w_s = 1/Var m_s; null if the settings' means differ (Cochran's Q, chi-square).

    It is biased by self-selection: producers who mask much may also use much, and precise reports would outvote them.
    It is null too if a setting has fewer producers than the least cohort, because together with the sum it would reveal
    that setting's mean. It is null if no setting has reports that differ, and settings without such reports are left
    out.
    """
    from scipy.stats import chi2

    unit = float(campaign.lattice.unit)
    groups = []
    for cell in cells.values() if each_shown(campaign, cells) else ():
        if cell.reports >= 2:
            spread = (cell.squares * cell.reports - cell.sum**2) / (cell.reports * (cell.reports - 1))
            groups.append((cell.sum / cell.reports * unit, spread / cell.reports * unit**2))
    groups = [(mean, variance) for mean, variance in groups if variance > 0]
    if not groups:
        return {"estimate": None, "test": None, "assumes": WEIGHTED_ASSUMES}
    weights = [1 / variance for _, variance in groups]
    mean = sum(w * m for w, (m, _) in zip(weights, groups, strict=True)) / sum(weights)
    q = sum(w * (m - mean) ** 2 for w, (m, _) in zip(weights, groups, strict=True))
    chance = float(chi2.sf(q, len(groups) - 1)) if len(groups) > 1 else 1.0
    test = {"statistic": q, "degrees": len(groups) - 1, "p": chance, "differ": chance < DIFFER}
    if chance < DIFFER:
        return {"estimate": None, "test": test, "assumes": WEIGHTED_ASSUMES}
    error = math.sqrt(1 / sum(weights))
    return {**_interval(mean, error, NORMAL * error), "test": test, "assumes": WEIGHTED_ASSUMES}


def period_entry(campaign: Campaign, key: str, state: str, cells: Cells) -> Plain:
    """Return a period as the consumer sees it. Below the least cohort only its name and state are shown.

    A period of totals says so, because its mean and variance are of totals.
    """
    total = total_cell(cells)
    if total.producers < campaign.least:
        return withheld_entry(key, state, campaign.too_few)
    settings = {name: {"reports": cell.reports, "producers": cell.producers} for name, cell in cells.items()}
    return {
        "period": key,
        "state": state,
        "reports": total.reports,
        "producers": total.producers,
        "settings": settings,
        **estimates(campaign, cells, closed=state == "closed"),
        "smoothed": None,
        **dict.fromkeys(JUDGED),
        "withheld": None,
        **({"release": TOTAL} if campaign.totals else {}),
    }


def withheld_entry(key: str, state: str, why: str) -> Plain:
    nothing = dict.fromkeys(("reports", "producers", "settings", "sum", "mean", "variance", "smoothed", *JUDGED))
    return {"period": key, "state": state, **nothing, "withheld": why}
