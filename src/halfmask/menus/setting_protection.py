"""The protection that a menu's settings give, beyond the paper's score."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.question import Question
from halfmask.protection.best_guess import guess_error
from halfmask.protection.evidence import Population
from halfmask.protection.guarantees.promises import per_unit

NO_PROMISE = "no promise"
"""Text of a table if no epsilon is finite; "none" could be read as the best result."""
HIDES = 0.05
"""Guess error below which a setting hides next to nothing."""


@dataclass(frozen=True)
class Protection:
    """The protection that one setting gives on the data of its menu.

    ``guess``       error of the best guess of a reading from its report, divided by that without a report, 0 to 1; None
                    without a noise law, or if readings do not vary
    ``recognised``  share of producers re-identified from a masked day; None without readings
    ``reading``     epsilon of one report: at delta 0 if finite, else at the question's delta; None if neither is finite
    ``window``      epsilon of the question's window at its delta; None if it is not finite
    ``pure``        whether ``reading`` holds at delta 0
    ``per_unit``    epsilon of one report per unit of change (1/b of Laplace noise); None if there is none
    ``errors``      mean relative error of a period's total by number of producers
    ``usual``       median over periods of the error for all producers; the mean may depend on one nearly empty period
    """

    guess: float | None
    recognised: float | None = None
    reading: float | None = None
    window: float | None = None
    pure: bool = False
    per_unit: float | None = None
    errors: Mapping[int, float] = field(default_factory=dict)
    usual: float | None = None

    @property
    def hides_next_to_nothing(self) -> bool:
        """Whether the best guess of a reading is almost right; False if that is not known."""
        return self.guess is not None and self.guess < HIDES


def protection_of(setting: PrivacySetting, population: Population, question: Question) -> Protection:
    """Return guess error and epsilons of one setting, without the error of totals and the share recognised."""
    if setting.silent:
        return Protection(guess=0.0 if population.varies else None)
    found = question.asked(setting)
    reading = found.epsilon if found.epsilon is not None else found.epsilon_at(question.delta)
    return Protection(
        guess=known_guess(setting, population, question.step),
        reading=reading,
        window=question.epsilon(setting),
        pure=found.epsilon is not None,
        per_unit=per_unit(setting, found.step) if setting.inner is None else None,
    )


def known_guess(setting: PrivacySetting, population: Population, step: float | None) -> float | None:
    """Return `guess_error`; None if it is NaN."""
    found = guess_error(setting, population, step)
    return None if math.isnan(found) else found
