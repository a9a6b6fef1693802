"""Results of a simulation: a row per day with the published values and the truth, and totals over the days."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfmask.evaluation.metrics import GLOBAL, METRICS, summary
from halfmask.evaluation.scores import utility
from halfmask.menus.menu import Menu
from halfmask.rewards.choice_model import ChoiceModel

COLLECTED = ("truth", "estimate", "low", "high", "error", "privacy", "inside", "moved")


@dataclass(frozen=True)
class Row:
    """One closed period: what was published, and the truth.

    ``spent``           all payments up to the day's end; a late payment counts for the day on which it is made
    ``moved``           the change of the sum by lies
    ``inside``          whether the published interval contains the truth
    ``inside_as_sent``  whether it contains the sum of what was sent, including lies, so that only noise is uncertain
    """

    day: int
    rewards: dict[str, int]
    producers: dict[str, int]
    reports: int
    spent: int
    truth: float
    estimate: float | None
    low: float | None
    high: float | None
    privacy: float | None
    moved: float = 0.0

    @property
    def inside(self) -> bool | None:
        return self._holds(self.truth)

    @property
    def inside_as_sent(self) -> bool | None:
        return self._holds(self.truth + self.moved)

    def _holds(self, total: float) -> bool | None:
        if self.estimate is None or self.low is None or self.high is None:
            return None
        slack = 1e-9 * max(abs(total), 1.0)
        return self.low - slack <= total <= self.high + slack

    @property
    def error(self) -> float | None:
        """Return the global error |g(M) - g(S)| / |g(S)|."""
        return None if self.estimate is None or not self.truth else abs(self.estimate - self.truth) / abs(self.truth)


@dataclass(frozen=True)
class SimulationResult:
    """The result: a row per day, the vote, the learned model, and who lied under which settings."""

    rows: tuple[Row, ...]
    ballots: tuple[tuple[str, ...], ...]
    learned: ChoiceModel | None
    liars: Mapping[str, frozenset[str]]
    campaign: str
    db: str | None

    @property
    def held(self) -> tuple[int, int]:
        """Return how many published intervals contain the truth, and how many were published."""
        inside = [row.inside for row in self.rows if row.inside is not None]
        return sum(inside), len(inside)

    @property
    def held_as_sent(self) -> int:
        """Return how many published intervals contain the sum of what was sent, including lies."""
        return sum(bool(row.inside_as_sent) for row in self.rows)

    @property
    def moved(self) -> tuple[float, float]:
        """Return the smallest and the largest change of a day's total by lies, as shares of the truth."""
        shares = [row.moved / row.truth for row in self.rows if row.truth]
        return min(shares, default=0.0), max(shares, default=0.0)

    def taking(self) -> dict[str, int]:
        """Return how many producers took each setting on an average day, rounded, without those that round to 0."""
        counts: Counter[str] = Counter()
        for row in self.rows:
            counts.update(row.producers)
        days = sum(bool(row.producers) for row in self.rows) or 1
        return {id: round(count / days) for id, count in sorted(counts.items()) if 2 * count > days}

    def utility(self, menu: Menu) -> float:
        """Return the paper's utility of the live system, from its global errors over the days."""
        return utility_of(self.rows, menu)


def utility_of(rows: Sequence[Row], menu: Menu) -> float:
    """Return the paper's utility from the global errors of some days; NaN if nothing was published."""
    errors = [row.error for row in rows if row.error is not None]
    if not errors:
        return math.nan
    metrics = np.zeros((1, len(METRICS)))
    metrics[0, GLOBAL] = summary(np.array(errors))
    return float(utility(metrics, menu.largest, menu.weights)[0])


def frame(rows: Sequence[Row], menu: Menu) -> list[dict[str, Any]]:
    """Return a dict per day.

    ``utility`` is that of the days so far, and ``cost`` is what the day added to ``spent``.
    """
    made: list[dict[str, Any]] = []
    for number, row in enumerate(rows):
        before = rows[number - 1].spent if number else 0
        plain: dict[str, Any] = {"day": row.day + 1, "reports": row.reports, "cost": row.spent - before}
        plain |= {"spent": row.spent, "utility": utility_of(rows[: number + 1], menu)}
        plain |= {f"reward_{id}": row.rewards.get(id, 0) for id in menu.ids}
        plain |= {f"producers_{id}": row.producers.get(id, 0) for id in menu.ids}
        plain |= {name: getattr(row, name) for name in COLLECTED}
        made.append(plain)
    return made
