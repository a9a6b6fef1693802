"""The least noise that keeps a promise, or the strongest promise that an error allows.

`least_noise` returns, for each mechanism that can promise an epsilon, the setting with the least noise that keeps the
promise. `strongest` returns the smallest epsilon that can be promised for a given error of a period's total.

Both search one setting for each noise deviation of a mechanism; epsilon usually falls as noise grows. If the lattice's
steps are as wide as the noise, epsilon may also rise, so less noise is tried too (`_quieter`). If a mechanism's noise
has several shapes, such as the staircase, the best shape is searched too (`_shaped`). Each result is checked by its own
guarantee, not by the formula that led to it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from halfmask.errors import OptionError
from halfmask.mechanisms.mechanism import Mechanism, Shape
from halfmask.mechanisms.mechanism_registry import mechanism, mechanisms
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, noise_std
from halfmask.menus.menu_scale import Placed, place
from halfmask.menus.question import Question
from halfmask.menus.setting_protection import NO_PROMISE, known_guess
from halfmask.menus.total_error import total_error
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from halfmask.protection.evidence import population_of
from halfmask.protection.guarantees.lattice_noise import rounded_up
from halfmask.results import Shown
from halfmask_device.decimals import number_text, upwards
from halfmask_device.setting import SPLIT

if TYPE_CHECKING:
    import pyarrow as pa

CROWDS = (100, 1_000, 10_000)
DIGITS = 4
CLOSE = 1e-4
MOST_TRIES = 60
COARSE = 2.0
"""Deviation in steps of the lattice below which epsilon may rise with the noise; it was seen to up to 1.5 steps."""
DEEP, TRIED = 3.0, 48
FIRST_STEP, LAST_STEP = 1 / 8, 1 / 128
"""First and last step of the search for a shape."""
Measure = Callable[[float], float | None]
"""A function of the size of the noise; None means infinite."""
BOUNDED = "bounded noise: some reports rule the other reading out for certain"
RELATIVE = "noise in proportion to the reading leaves a reading of 0 as it is"
RULE = "a rule adds no chance: a change that shows at all shows for certain"


def promising() -> list[str]:
    """Return the mechanisms that can promise an epsilon: additive, proven, unbounded noise without its own lattice."""
    return [name for name in mechanisms() if _family(name, 1.0, Question(1.0, 1)) is not None]


def _family(name: str, deviation: float, question: Question, shape: Shape | None = None) -> PrivacySetting | None:
    """Return the mechanism's setting with this deviation and shape; None if the mechanism cannot promise an epsilon."""
    law = mechanism(name)
    if law.kind != "additive" or law.estimated or not law.proven or law.unit_parameters is None:
        return None
    change = question.reports[0] if question.step is None else rounded_up(question.reports[0], question.step)
    if law.shapes:
        found = law.shaped(deviation, change, law.shapes[0] if shape is None else shape)
    else:
        found = PrivacySetting.of_deviation(name, deviation).parameters
    if law.lattice(found) is not None or not np.isinf(law.support(np.array([found]))[0]):
        return None
    if len(found) == 1:
        return PrivacySetting(name, tuple(map(_up, found)), release=question.release)
    # a width as wide as the change stays as it is: of one just below, epsilon would be twice as large
    rounded = tuple(each if each == change else _digits(each) for each in found)
    return PrivacySetting(name, rounded, release=question.release)


def _without() -> dict[str, str]:
    """Return by mechanism why it cannot promise an epsilon."""
    told = {}
    for name in mechanisms():
        law = mechanism(name)
        if law.kind == "relative":
            told[name] = RELATIVE
        elif law.deterministic:
            told[name] = RULE
        elif law.kind == "additive" and law.parameter_names and _bounded(law):
            told[name] = BOUNDED
    return told


def _bounded(law: Mechanism) -> bool:
    """Return whether noise of the law with unit parameters has a largest value."""
    one = np.array([law.unit_parameters or (1.0,) * len(law.parameter_names)])
    return bool(np.isfinite(law.support(one)[0]))


@dataclass(frozen=True)
class Solution:
    """One mechanism's setting for a promise, with its guarantee and its costs.

    ``reading``  epsilon of one report, at delta 0 if ``pure``, else at the question's delta
    ``window``   epsilon of the question's window at its delta
    ``errors``   mean relative error of a period's total by number of producers; empty without a profile
    ``guess``    guess error; None without a profile
    ``placed``   the paper's scores; None without a profile and a menu
    """

    mechanism: str
    setting: PrivacySetting
    noise_std: float
    reading: float | None
    pure: bool
    window: float
    errors: dict[int, float]
    guess: float | None = None
    placed: Placed | None = None


@dataclass(frozen=True)
class Solved(Shown):
    """Solutions, best first (least noise or strongest promise), and why other mechanisms have none."""

    question: Question
    solutions: tuple[Solution, ...]
    without: dict[str, str]

    def __repr__(self) -> str:
        return f"<Solved by {len(self.solutions)} settings: {', '.join(str(each.setting) for each in self.solutions)}>"

    def to_arrow(self) -> "pa.Table":
        """Return a table with one row per solution, best first."""
        import pyarrow as pa

        rows = [
            {
                "setting": str(each.setting),
                "noise_std": each.noise_std,
                "epsilon_reading": each.reading,
                "at_delta_0": each.pure,
                "epsilon_window": each.window,
                "hidden": each.guess,
                "privacy": each.placed.privacy.median if each.placed else None,
                "utility": each.placed.utility.median if each.placed else None,
                **{f"error_{users}": error for users, error in each.errors.items()},
            }
            for each in self.solutions
        ]
        return pa.Table.from_pylist(rows)

    def rows(self) -> list[list[str]]:
        """Return the solutions as a table, headings first."""
        unit = f", {self.question.unit}" if self.question.unit else ""
        crowds = list(self.solutions[0].errors) if self.solutions else []
        scored = any(each.placed for each in self.solutions)
        guessed = any(each.guess is not None for each in self.solutions)
        head = ["setting", f"noise std{unit}", "epsilon", self.question.heading()]
        head += ["hidden"] * guessed + ["privacy", "utility"] * scored + [f"{users:,}" for users in crowds]
        rows = [head]
        for each in self.solutions:
            one = NO_PROMISE if each.reading is None else upwards(each.reading) + ("" if each.pure else " *")
            row = [str(each.setting), f"{each.noise_std:.3g}", one, upwards(each.window)]
            row += ["-" if each.guess is None else f"{each.guess:.0%}"] * guessed
            row += (each.placed.words() if each.placed else ["-", "-"]) if scored else []
            rows.append([*row, *(f"{error:.2%}" for error in each.errors.values())])
        return rows

    def objections(self) -> list[str]:
        """Return why a promise may not hold."""
        return [warning for each in self.solutions if (warning := self.question.objection(each.setting))]

    def notes(self) -> list[str]:
        """Return notes that explain the columns."""
        asked = self.question
        told = [f"epsilon: {asked.of_one()}, at delta 0; {asked.heading()}: {asked.words()}"]
        if any(each.reading is not None and not each.pure for each in self.solutions):
            told.append(f"* at delta {number_text(asked.delta)}, as this noise has no epsilon at delta 0")
        if any(each.guess is not None for each in self.solutions):
            told.append("hidden: error of the best guess of a reading from its report, over that without a report")
        if any(each.errors for each in self.solutions):
            told.append("the last columns: mean error of a period's total of so many producers")
        told.append(f"{asked.drawn()}; `step` names another")
        for reason in dict.fromkeys(self.without.values()):
            names = [name for name, why in self.without.items() if why == reason]
            told.append(f"no epsilon is promised by {', '.join(names)}: {reason}")
        return told


def least_noise(
    epsilon: float,
    question: Question,
    *,
    profile: Profile | None = None,
    menu: Menu | None = None,
    among: Sequence[str] | None = None,
) -> Solved:
    """Return each mechanism's setting with the least noise that keeps ``epsilon`` for the question,
    least noise first.

    ``among``  the mechanisms to try; by default all that can promise an epsilon
    """
    if not 0 < epsilon < math.inf:
        raise OptionError(f"epsilon is {epsilon:g}: ask for a number above 0, like 1", kind="epsilon")
    names = promising() if among is None else among
    found = [each for name in names if (each := _least(name, epsilon, question)) is not None]
    if not found:
        raise OptionError(f"no noise keeps epsilon {epsilon:g} {question.words()}", kind="epsilon")
    solved = _solved(question, found, profile, menu)
    return replace(solved, solutions=tuple(sorted(solved.solutions, key=lambda each: (each.noise_std, each.window))))


def strongest(
    error: float,
    producers: int,
    question: Question,
    profile: Profile,
    *,
    menu: Menu | None = None,
    among: Sequence[str] | None = None,
) -> Solved:
    """Return each mechanism's strongest promise that keeps the error of a total of ``producers`` within ``error``.

    Each mechanism gets the largest deviation whose error, for the noise that devices draw, is small enough.
    """
    if not 0 < error < math.inf:
        raise OptionError(f"an error of {error:g} is not above 0: give one like 0.01, or 1%", kind="error")
    if producers < 1:
        raise OptionError(f"{producers} producers have no total: give a whole number from 1 on", kind="producers")
    profile = released(profile, question.release)
    unit = total_error(profile, PrivacySetting("gaussian", (1.0,), release=question.release), producers)
    if not unit:
        raise OptionError("every period's total is zero: its error cannot be measured", kind="zeros")

    def largest(name: str, shape: Shape | None) -> float | None:
        def error_of(inverse: float) -> float | None:
            setting = _family(name, 1 / inverse, question, shape)
            return None if setting is None else total_error(profile, setting, producers, step=question.step)

        inverse = _first(error_of, error, unit / error)
        return None if inverse is None else 1 / inverse

    names = promising() if among is None else among
    found = [setting for name in names if (setting := _shaped(name, question, largest)) is not None]
    solved = _solved(question, found, profile, menu, (producers, *CROWDS))
    return replace(solved, solutions=tuple(sorted(solved.solutions, key=lambda each: (each.window, each.noise_std))))


def _least(name: str, epsilon: float, question: Question) -> PrivacySetting | None:
    """Return the setting with the least deviation that keeps epsilon; None if no noise of the mechanism does."""

    def least(name: str, shape: Shape | None) -> float | None:
        def epsilon_of(deviation: float) -> float | None:
            setting = _family(name, deviation, question, shape)
            return None if setting is None else question.epsilon(setting)

        change, reports = question.reports
        found = _first(epsilon_of, epsilon, change * math.sqrt(reports) / epsilon)
        if found is not None and question.step is not None and found < COARSE * question.step:
            found = _quieter(epsilon_of, epsilon, found)
        return found

    return _shaped(name, question, least)


def _shaped(name: str, question: Question, size: Callable[[str, Shape | None], float | None]) -> PrivacySetting | None:
    """Return the mechanism's setting with the best shape, and with the deviation that ``size`` finds for it.

    Two steps alternate: find the shape with the least epsilon at a fixed deviation, then the deviation for this shape.
    Epsilon is nearly proportional to 1/deviation, so shapes are compared by the product of both.
    """

    def cost(setting: PrivacySetting | None) -> float:
        kept = None if setting is None else question.epsilon(setting)
        drawn = None if setting is None else noise_std(setting, question.step)
        return math.inf if kept is None or drawn is None else kept * drawn

    def costs(deviation: float, shape: Shape) -> float:
        return cost(_family(name, deviation, question, shape))

    starts, deviation = mechanism(name).shapes, size(name, None)
    best = None if deviation is None else _family(name, deviation, question)
    before, least = math.inf, cost(best)
    while starts and deviation is not None and least < before * (1 - CLOSE):
        before = least
        shape = _best_shape(partial(costs, deviation), starts)
        deviation = size(name, shape)
        better = None if deviation is None else _family(name, deviation, question, shape)
        if (found := cost(better)) < least:
            best, least, starts = better, found, (shape,)
    return best


def _best_shape(of: Callable[[Shape], float], starts: Sequence[Shape]) -> Shape:
    """Return the shape with the least cost: start from the best of ``starts`` and move along axes by
    shrinking steps.
    """
    best = min(starts, key=of)
    least, length = of(best), FIRST_STEP
    while length >= LAST_STEP:
        around = [
            tuple(each + sign * length * (axis == moved) for axis, each in enumerate(best))
            for moved in range(len(best))
            for sign in (-1, 1)
        ]
        tried = min(around, key=of)
        if (found := of(tried)) < least:
            best, least = tried, found
        else:
            length /= 2
    return best


def _first(of: Measure, most: float, start: float) -> float | None:
    """Return the least x with of(x) <= most, to within `CLOSE`, for a function that falls as x grows; None if not
    found.

    Most functions are nearly proportional to 1/x, so x is scaled by found/most, by a factor of at most 4. If that
    leaves the known bracket, x becomes its geometric mean.
    """
    low, high, x = 0.0, math.inf, start  # what is too little, and the least so far that is enough
    for _ in range(MOST_TRIES):
        found = of(x)
        kept = found is not None and found <= most
        low, high = (low, x) if kept else (x, high)
        if high <= low * (1 + CLOSE) or (kept and found is not None and found > most * (1 - CLOSE)):
            break
        aim = x * (4.0 if found is None else min(max(found / most, 0.25), 4.0)) * (1 + CLOSE / 4)
        x = aim if low < aim < high else math.sqrt(low * high)
    return high if high < math.inf else None


def _quieter(of: Measure, most: float, enough: float) -> float:
    """Return a deviation up to ``enough`` that also keeps the promise: the first of `TRIED`, refined by bisection.

    Noise as wide as the lattice's steps takes few values, and epsilon at a delta jumps when the probability of one of
    them falls below delta.
    """
    tried: list[float] = np.geomspace(enough / DEEP, enough, TRIED).tolist()

    def kept(deviation: float) -> bool:
        found = of(deviation)
        return found is not None and found <= most

    low = high = next(each for each in [*tried[:-1], enough] if kept(each) or each == enough)
    if high > tried[0]:
        low = high * DEEP ** (-1 / (TRIED - 1))
    while high > low * (1 + CLOSE):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high


def _solved(
    question: Question,
    settings: list[PrivacySetting],
    profile: Profile | None,
    menu: Menu | None,
    crowds: tuple[int, ...] = CROWDS,
) -> Solved:
    if profile is not None:
        profile = released(profile, question.release)
    scored = {} if profile is None or menu is None else place(settings, profile, menu)
    people = None if profile is None or question.release == SPLIT else population_of(profile)
    found = []
    for setting in settings:
        asked = question.asked(setting)
        window = question.epsilon(setting)
        if window is None:
            continue
        errors = (
            {}
            if profile is None
            else {users: total_error(profile, setting, users, step=question.step) for users in crowds}
        )
        found.append(
            Solution(
                mechanism=setting.mechanism,
                setting=setting,
                noise_std=noise_std(setting, question.step) or 0.0,
                reading=asked.epsilon if asked.epsilon is not None else asked.epsilon_at(question.delta),
                pure=asked.epsilon is not None,
                window=window,
                errors={users: error for users, error in errors.items() if error is not None},
                guess=None if people is None else known_guess(setting, people, question.step),
                placed=scored.get(setting),
            )
        )
    return Solved(question, tuple(found), _without())


def _digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _up(value: float) -> float:
    """Round up to a few digits, so that a setting can be written down and rounding never breaks a promise."""
    rounded = float(f"{value:.{DIGITS}g}")
    return rounded if rounded >= value else float(f"{value * (1 + 10.0 ** (1 - DIGITS) / 2):.{DIGITS}g}")
