"""The share of producers re-identified from one masked day, by an attacker who knows the earlier days of all."""

from collections.abc import Sequence

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.profiles.periods import DAY
from halfmask.protection.attacks.reidentification import ranks, shape
from halfmask.protection.evidence import Evidence
from halfmask.streams import stream

DAYS = 4
"""Number of last days that are masked and attacked in turn, each with all earlier days known."""
NODES = 16
PRESENT = 0.8
FEWEST = 5
PARTS = 12
SEED = 7


def recognised_shares(evidence: Evidence, deviations: FloatArray) -> FloatArray:
    """Return the share of producers re-identified from a masked day for each noise deviation; NaN for NaN.

    The rate is computed at some deviations, made to fall as noise grows, and interpolated linearly. The attack is the
    audit's (`attacks.reidentification`), on the last days in turn.
    """
    held = np.isfinite(deviations)
    noisy = np.unique(deviations[held & (deviations > 0)])
    nodes = noisy if len(noisy) <= NODES else np.geomspace(noisy[0], noisy[-1], NODES)
    days = masked_days(evidence)
    rates = np.array([named_from_a_day(evidence, days, 0.0), *(named_from_a_day(evidence, days, at) for at in nodes)])
    rates = np.maximum.accumulate(rates[::-1])[::-1]
    found = np.full(len(deviations), np.nan)
    found[held] = np.interp(deviations[held], np.concatenate([[0.0], nodes]), rates)
    return found


def recognised_if_known(evidence: Evidence | None, deviations: Sequence[float | None]) -> list[float | None]:
    """Return `recognised_shares` of these deviations; None without readings, or if a deviation is unknown."""
    if evidence is None or evidence.resolution != "readings":
        return [None] * len(deviations)
    found = recognised_shares(evidence, np.array(deviations, float))
    return [None if np.isnan(share) else float(share) for share in found]


def masked_days(evidence: Evidence) -> list[tuple[slice, slice]]:
    """Return, for each of the last whole days, the columns of all days before it and of the day itself."""
    step = evidence.step
    if evidence.resolution != "readings" or DAY % step or DAY // step < 2:
        raise OptionError("a masked day needs readings at steps that divide a day: name them, `panel`", kind="panel")
    a_day = DAY // step
    first = int((-evidence.times[0] // step) % a_day)
    whole = (evidence.series.shape[1] - first) // a_day
    if whole < 3:
        raise OptionError(
            f"the readings hold {whole} whole days: it takes 3 to know producers and see one masked", kind="days"
        )
    days = range(max(whole - DAYS, 2), whole)
    return [(slice(first, first + day * a_day), slice(first + day * a_day, first + (day + 1) * a_day)) for day in days]


def named_from_a_day(evidence: Evidence, days: list[tuple[slice, slice]], deviation: float) -> float:
    """Return the mean share over the days, with Gaussian noise; all deviations use the same random numbers."""
    rng = stream(SEED, "menus.recognised")
    floor = (1e-3 * evidence.population.typical) ** 2
    shares = []
    for before, day in days:
        known, seen = evidence.series[:, before], evidence.series[:, day]
        psi = rng.standard_normal(seen.shape)
        rows = np.flatnonzero(
            (np.isfinite(seen).mean(axis=1) >= PRESENT) & (np.isfinite(known).mean(axis=1) >= PRESENT / 2)
        )
        if len(rows) < FEWEST:
            continue
        parts = np.asarray(evidence.times % DAY // (DAY // PARTS))
        habits, today = shape(known[rows], parts[before]), shape(seen[rows] + deviation * psi[rows], parts[day])
        rank = ranks(habits, today, np.full(len(rows), deviation**2), floor)
        shares.append(float(np.mean(rank < 1)))
    if not shares:
        raise OptionError(f"fewer than {FEWEST} producers have whole days: nobody can be told apart", kind="few")
    return float(np.mean(shares))
