"""The protection that a menu's settings give, beyond the paper's score, and the question that their epsilons answer."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from halfmask.errors import OptionError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.device_refusal import refusal
from halfmask.profiles.periods import DAY
from halfmask.profiles.profile import Profile
from halfmask.profiles.quality import typical_sizes
from halfmask.protection.best_guess import guess_error
from halfmask.protection.evidence import Population
from halfmask.protection.guarantees.guarantee import REPORTS, Guarantee, drawn_guarantee
from halfmask.protection.guarantees.promises import per_unit
from halfmask_device.decimals import number_text
from halfmask_device.setting import unmasked_warning
from halfmask_device.terms import STEP

DELTA = 1e-6
NO_PROMISE = "no promise"
"""Text of a table if no epsilon is finite; "none" could be read as the best result."""
HIDES = 0.05
"""Guess error below which a setting hides next to nothing."""


@dataclass(frozen=True)
class Question:
    """The meaning of an epsilon: any change of up to ``change`` in each of ``window`` readings, at ``delta``.

    An epsilon says nothing about larger changes or longer windows.

    ``unit``  unit of a reading, for texts
    ``step``  step of the devices' lattice; epsilons hold for the noise drawn on it, and on no other lattice. None:
              epsilons are those of the continuous law, which no device draws
    """

    change: float
    window: int
    delta: float = DELTA
    unit: str = ""
    step: float | None = float(STEP)

    def __post_init__(self) -> None:
        if not 0 < self.change < math.inf:
            raise OptionError(
                f"the change is {self.change:g}: say how far a reading may change, above 0, in its unit", kind="change"
            )
        check_window(self.window)
        if not 0 < self.delta < 1:
            raise OptionError(
                f"delta is {self.delta:g}; it is a probability: give one between 0 and 1, like 1e-6", kind="delta"
            )
        if self.step is not None and not 0 < self.step < math.inf:
            raise OptionError(
                f"the step is {self.step:g}: give that of the devices' lattice, above 0, like {STEP}", kind="step"
            )

    @property
    def size(self) -> str:
        """The change with its unit."""
        return f"{number_text(self.change)} {self.unit}".strip()

    def words(self) -> str:
        """Return the question as a phrase to follow an epsilon."""
        readings = "one reading" if self.window == 1 else f"each of {self.window:,} readings in a row"
        return f"for a change of up to {self.size} in {readings}, at delta {self.delta:g}"

    def drawn(self) -> str:
        """Return a sentence that says which noise the epsilons are for."""
        if self.step is None:
            return "epsilons are of the continuous law, which no device draws"
        usual = ", the devices' default" if self.step == float(STEP) else ""
        step = f"{number_text(self.step)} {self.unit}".strip()
        return f"epsilons are of the noise that a device draws on a lattice of steps of {step}{usual}"

    def in_steps(self) -> str:
        """Return how any other change counts: rounded up to whole steps of the lattice."""
        if self.step is None:
            return "that change"
        return f"that change, rounded up to whole steps of {number_text(self.step)} {self.unit}".strip()

    def refusal(self, setting: PrivacySetting) -> str | None:
        """Return why devices refuse a setting on the lattice; None if they accept it."""
        told = None if self.step is None else refusal(setting, self.step)
        return None if told is None else f"devices refuse {setting}: {told}"

    def objection(self, setting: PrivacySetting) -> str | None:
        """Return why devices refuse a setting, or a warning if it leaves more than half of all readings unchanged.

        None if neither applies or the question has no lattice.
        """
        if self.step is None:
            return None
        return self.refusal(setting) or unmasked_warning(str(setting), number_text(self.step))

    def asked(self, setting: PrivacySetting) -> Guarantee:
        """Return the setting's guarantee for this change and window."""
        return drawn_guarantee(setting, self.change, (self.window,), self.step, self.unit)

    def epsilon(self, setting: PrivacySetting) -> float | None:
        """Return epsilon of the whole window at delta; None if it is not finite."""
        return self.asked(setting).epsilon_at(self.delta, self.window)


def check_window(window: float) -> None:
    """Raise an OptionError if a window is not a whole number of readings from 1 on."""
    if window < 1 or window != int(window):
        raise OptionError(f"a window of {window} readings is none: give a whole number from 1 on", kind="window")


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
        window=found.epsilon_at(question.delta, question.window),
        pure=found.epsilon is not None,
        per_unit=per_unit(setting, found.step) if setting.inner is None else None,
    )


def known_guess(setting: PrivacySetting, population: Population, step: float | None) -> float | None:
    """Return `guess_error`; None if it is NaN."""
    found = guess_error(setting, population, step)
    return None if math.isnan(found) else found


def default_question(profile: Profile) -> Question:
    """Return the question for a change of a typical reading's size in every reading of a day."""
    size = typical_reading(profile)
    if not size:
        raise OptionError(
            "every reading of the profile is zero, so no change can be read from it: give `change`", kind="zeros"
        )
    return Question(float(f"{size:.3g}"), reports_a_day(profile), unit=profile.unit or "")


def typical_reading(profile: Profile) -> float:
    """Return the median |s| of the readings that are not zero, to within a bin (1.1 %)."""
    below = profile.bin_counts.cumsum()
    return float(typical_sizes(profile)[below.searchsorted(below[-1] / 2)]) if len(below) else 0.0


def reports_a_day(profile: Profile) -> int:
    """Return how many reports a device sends in a day; 48 if the interval between readings is unknown or
    above a day.
    """
    return DAY // profile.step if profile.step and profile.step <= DAY else REPORTS[0]
