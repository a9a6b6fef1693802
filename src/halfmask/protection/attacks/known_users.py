"""Attacks that learn on users whose readings are known, and guess those of others from their reports.

Users are split into two halves. Each half is attacked with what was learned on the other, whose readings the attacker
masks himself. So the noise law, the population and the relation of reports to readings are all known to the attacker,
whatever the setting, and every user is attacked once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.periods import DAY
from halfmask.protection.attacks.masked_series import masked_series
from halfmask.protection.attacks.report_channel import (
    MISSING,
    REPORT_CELLS,
    Cells,
    ReadingCells,
    reading_cells,
    report_channel,
)
from halfmask.protection.attacks.report_days import ReportDays, report_days
from halfmask.protection.evidence import Evidence, some_of

MOST_USERS = 256
MOST_DAYS = 60
FEWEST_USERS = 8
LEVELS = 4
"""Groups of users by level of their reports: what is learned on large users does not hold for small ones."""
KERNEL = np.array([1, 2, 3, 4, 5, 4, 3, 2, 1]) / 25
"""Weights by which counts of reports are smoothed over neighbouring cells."""
A_LEVEL = 24
"""Known users per level, at least."""


def mean_of(values: FloatArray, axis: int | tuple[int, ...]) -> FloatArray:
    """Return means of the values that are not missing; 0 if all are."""
    held = np.isfinite(values)
    return np.asarray(np.where(held, values, 0.0).sum(axis=axis) / np.maximum(held.sum(axis=axis), 1))


@dataclass(frozen=True, eq=False)
class Seen:
    """Readings and reports of users (U, days, places), by day.

    ``truth``    readings; NaN if missing
    ``reports``  reports of them
    ``cells``    cells of the reports
    ``guesses``  the posterior mean of each reading, given its own report
    ``exact``    whether the reports are the readings
    """

    truth: FloatArray
    reports: FloatArray
    cells: Cells
    guesses: FloatArray
    exact: bool

    @cached_property
    def level(self) -> FloatArray:
        """The mean posterior mean of each user's readings."""
        return mean_of(self.guesses, (1, 2))

    def groups(self, able: BoolArray | None = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield known and attacked users of one level, for both halves and each level; only those that are able."""
        rows = np.argsort(self.level, kind="stable")
        rows = rows if able is None else rows[able[rows]]
        for known, attacked in ((rows[::2], rows[1::2]), (rows[1::2], rows[::2])):
            count = int(np.clip(len(known) // A_LEVEL, 1, LEVELS))
            yield from zip(np.array_split(known, count), np.array_split(attacked, count), strict=True)


@dataclass(frozen=True, eq=False)
class Attacked:
    """Users and days that are attacked, with cells of their readings and the readings by day."""

    days: ReportDays
    cells: ReadingCells
    truth: FloatArray


def attacked(evidence: Evidence) -> Attacked | None:
    """Return at most `MOST_USERS` users over the last `MOST_DAYS` days; None if there are too few users."""
    days = report_days(evidence)
    if days is None or len(days.evidence.series) < FEWEST_USERS:
        return None
    users = len(days.evidence.series)
    rows = np.unique(np.linspace(0, users - 1, min(users, MOST_USERS)).round().astype(np.int64))
    found = report_days(some_of(days.evidence, rows, days.day >= days.days - MOST_DAYS))
    if found is None or len(found.evidence.series) < FEWEST_USERS:
        return None
    series = found.evidence.series
    return Attacked(found, reading_cells(series), found.arranged(series))


def seen(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Seen | str:
    """Return readings and reports of the attacked users, or the reason why there are none."""
    if not evidence.single:
        return "Not measured: rows of this profile are groups of users, not one."
    if evidence.step > DAY:
        return "Does not apply: a report is of more than a day."
    found = evidence.once(attacked)
    if found is None:
        return f"Not measured: it takes {FEWEST_USERS} users with whole days of reports."
    some = found.days.evidence
    masked = masked_series(setting, some, rng)
    if masked is None:
        return "Not measured: a profile does not say what this rule makes of a total."
    if not np.isfinite(masked[np.isfinite(some.series)]).all():
        return "Not measured: the noise is beyond all numbers."
    channel = report_channel(setting, some, found.cells, masked, rng)
    reports = found.days.arranged(masked)
    guesses = np.append(channel.posterior(found.cells.centre), np.nan)
    cells = channel.of(reports)
    return Seen(found.truth, reports, cells, guesses[cells], setting.silent)


def of_others(values: FloatArray, days: float) -> FloatArray:
    """Return for each user and period (U, periods) the mean of the user's other periods, near ones counted more.

    One that is ``days`` further away counts e times less; missing ones do not count.
    """
    at, held = np.arange(values.shape[1]), np.isfinite(values)
    apart = np.abs(at - at[:, None])
    weight = np.where(apart > 0, np.exp(-apart / days), 0.0)
    return np.asarray(np.where(held, values, 0.0) @ weight / np.maximum(held @ weight, 1e-300))


def cell_ratios(known: Cells, label: BoolArray) -> FloatArray:
    """Return log P(cell | label) / P(cell | not label) by report cell, as counted on known reports; 0 if missing.

    One report, spread as all are, is added to either side.
    """
    held = known != MISSING
    cells = known[held]
    yes, total = (
        np.convolve(np.bincount(each, minlength=REPORT_CELLS + 1).astype(float), KERNEL, "same")
        for each in (cells[np.broadcast_to(label, known.shape)[held]], cells)
    )
    prior = total / max(total.sum(), 1)
    sides = [(each + prior) / (each.sum() + 1) for each in (yes, total - yes)]
    with np.errstate(divide="ignore", invalid="ignore"):  # cells without a report
        ratio = np.nan_to_num(np.log(sides[0] / sides[1]))
    ratio[MISSING] = 0.0
    return np.asarray(ratio)
