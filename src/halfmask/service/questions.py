"""Estimates that need more than what was shared; given only where they are asked for, with what they assume."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from halfmask.service.campaign import Campaign
from halfmask.service.cells import Cells, read
from halfmask.service.estimates import NORMAL, each_shown
from halfmask.service.refusal import unfit
from halfmask.service.storage.base import ClosedRow, Plain

MOST_PEOPLE = 10**12
DIFFER = 0.05
"""Below this p-value the settings' means differ, and no mean is weighted by precision."""
POPULATION_ASSUMES = (
    "those who report are a random sample of the population; readings of one producer are as alike as can be, which "
    "makes the interval wide rather than narrow"
)
WEIGHTED_ASSUMES = "reports are independent, and the choice of a setting has nothing to do with the reading"


@dataclass(frozen=True)
class PeriodQuestion:
    """``population``: an estimate for so many producers. ``weighted``: a mean that trusts precise reports more."""

    population: int | None
    weighted: bool

    def answer(self, campaign: Campaign, entry: Plain, row: ClosedRow | None) -> Plain:
        """The period with what was asked for; null where the period is withheld or open."""
        shown = row is not None and entry["withheld"] is None
        cells = read(row.cells) if row is not None and shown else None
        more: Plain = {}
        if self.population is not None:
            more["population"] = population(entry, self.population) if cells else None
        if self.weighted:
            more["weighted_mean"] = weighted_mean(campaign, cells) if cells else None
        return entry | more


def asked(query: Mapping[str, str]) -> PeriodQuestion | None:
    """What a query asks for beyond the periods."""
    text, weighted = query.get("population"), query.get("weighted", "false")
    whole = text is None or (text.isascii() and text.isdigit() and len(text) <= 20 and 0 < int(text) <= MOST_PEOPLE)
    if not whole:
        raise unfit("population", "population must be a whole number of producers")
    if weighted not in ("true", "false"):
        raise unfit("weighted", "weighted must be true or false")
    return PeriodQuestion(int(text) if text else None, weighted == "true") if text or weighted == "true" else None


def population(entry: Plain, size: int) -> Plain:
    """The sum for ``size`` producers: N/p times that of the p who reported.

    Error: noise, (N/p)^2 Var; and sampling, (1 - p/N) N^2 (n/p)^2 V/p, V the variance of readings. That is the
    variance if all readings of a producer were equal, the most it can be where all report equally often.
    """
    producers, reports = int(entry["producers"]), int(entry["reports"])
    if size < producers:
        raise unfit("population", "more producers reported than the population has")
    ratio, each = size / producers, reports / producers
    spread = max(float(entry["variance"]["estimate"]), 0.0)
    sampling = (1 - producers / size) * size**2 * each**2 * spread / producers
    noise = (ratio * float(entry["sum"]["standard_error"])) ** 2
    estimate, error = ratio * float(entry["sum"]["estimate"]), math.sqrt(noise + sampling)
    return {
        "producers": size,
        "estimate": estimate,
        "standard_error": error,
        "low": estimate - NORMAL * error,
        "high": estimate + NORMAL * error,
        "assumes": POPULATION_ASSUMES,
    }


def weighted_mean(campaign: Campaign, cells: Cells) -> Plain:
    """sum_s w_s m_s / sum_s w_s, w_s = 1/Var m_s; null where the settings' means differ (Cochran's Q, chi-square).

    With self-selection it is biased: who masks much may also use much, and precise reports would outvote them. Null too
    where a setting has fewer producers than the least cohort: beside the sum it would tell that setting's own mean.
    """
    from scipy.stats import chi2

    unit = float(campaign.lattice.unit)
    if not each_shown(campaign, cells):
        return {"estimate": None, "test": None, "assumes": WEIGHTED_ASSUMES}
    groups = []
    for cell in cells.values():
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
    return {
        "estimate": mean,
        "standard_error": error,
        "low": mean - NORMAL * error,
        "high": mean + NORMAL * error,
        "test": test,
        "assumes": WEIGHTED_ASSUMES,
    }
