"""Estimates that assume more than the reports show. They are computed only on request, and name their assumptions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from halfmask.service.campaign import Campaign
from halfmask.service.cells import Cells, read
from halfmask.service.estimates import NORMAL, each_shown
from halfmask.service.refusal import unfit
from halfmask.service.storage.period_rows import ClosedRow
from halfmask.service.storage.tables import Plain

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
        """Return the period with the additional estimates, which are null if the period is withheld or open."""
        shown = row is not None and entry["withheld"] is None
        cells = read(row.cells) if row is not None and shown else None
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
    return {
        "producers": size,
        "estimate": estimate,
        "standard_error": error,
        "low": estimate - NORMAL * error,
        "high": estimate + NORMAL * error,
        "assumes": POPULATION_ASSUMES,
    }


def weighted_mean(campaign: Campaign, cells: Cells) -> Plain:
    """Return sum_s w_s m_s / sum_s w_s, w_s = 1/Var m_s; null if the settings' means differ (Cochran's Q, chi-square).

    It is biased by self-selection: producers who mask much may also use much, and precise reports would outvote them.
    It is null too if a setting has fewer producers than the least cohort, because together with the sum it would reveal
    that setting's mean. It is null if no setting has reports that differ, and settings without such reports are left
    out.
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
