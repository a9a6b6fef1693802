"""The levels of an offer: how often the best guesser is right, and the error of a total."""

import math
from dataclasses import dataclass

from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot
from halfmask.figures.style import PALETTE
from halfmask.figures.wording import in_a_list, share_text
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import NONE_ID, Menu, MenuSetting
from halfmask.menus.question import Question, whole_day_of
from halfmask.profiles.profile import Profile
from halfmask.protection.guarantees.promises import odds

SMALLEST = 0.01
"""The smallest error that is drawn, in %. Smaller ones are drawn with this length."""


@dataclass(frozen=True)
class LevelAtAGlance:
    """A level.

    ``right``  the largest number of right guesses of 100
    ``error``  the error of a total in %; None if unknown
    """

    label: str
    right: float
    error: float | None


@dataclass(frozen=True)
class PromisesAndErrors:
    """All levels, what is guessed, and the number of producers in the total."""

    levels: list[LevelAtAGlance]
    question: Question
    producers: int
    within: float


def most_right(day: Question, setting: PrivacySetting) -> float:
    """Return the largest probability to guess right which of two equally likely cases is true.

    It is exact, (1 + delta(0))/2 of the noise. For a change that is spread over masked readings in any way it is the
    bound of an (epsilon, delta) guarantee, (e^epsilon + delta)/(1 + e^epsilon).
    """
    if setting.silent:
        return 1.0
    if not day.spread:
        return odds(day.asked(setting), day.reports[1])
    promise = day.promise(setting)
    if promise.epsilon is None or promise.epsilon > 700:
        return 1.0
    return min((math.exp(promise.epsilon) + promise.delta) / (1 + math.exp(promise.epsilon)), 1.0)


def promises_and_errors_data(offer: Menu | None, profile: Profile | None) -> PromisesAndErrors | None:
    """Return the figure's data; None unless an offer defines a whole day."""
    made = offer.provenance.get("offer") if offer else None
    day = whole_day_of(offer.question, profile) if offer and offer.question else None
    if offer is None or day is None or not made:
        return None
    crowd = int(made["producers"])
    levels = [_at_a_glance(each, day, crowd) for each in offer.settings]
    return PromisesAndErrors(levels, day, crowd, float(made["within"]))


def _at_a_glance(each: MenuSetting, day: Question, crowd: int) -> LevelAtAGlance:
    found = 0.0 if each.id == NONE_ID else (each.protection.errors if each.protection else {}).get(crowd)
    return LevelAtAGlance(
        f"{each.id} {each.name}".strip(), 100 * most_right(day, each.setting), None if found is None else 100 * found
    )


def promises_and_errors_caption(data: PromisesAndErrors) -> str:
    """Return the caption."""
    best = min(data.levels, key=lambda each: each.right)
    told = f"What to see: under {best.label} the best guesser is right at most {_guesses(best.right)}"
    told += "." if best.error is None else f", and the total is off by {share_text(best.error / 100)} on average."
    kept = [each.label for each in data.levels if each.error is not None and each.error <= 100 * data.within]
    exact = f" An error of {share_text(data.within)} or less: {in_a_list(kept)}." if kept else ""
    return (
        f"Left: somebody who knows all else about a producer guesses which of two {data.question.noun}s was lived, "
        f"{data.question.what()}. The bars say how often they are right at most; a coin: 50 times of 100. Right: "
        f"the mean error of a {data.question.noun}'s total of {data.producers:,} producers who all take the level. "
        f"{told}{exact}"
    )


def _guesses(right: float) -> str:
    return f"{min(math.ceil(right - 1e-9), 100)} times of 100"


def promises_and_errors_plot(data: PromisesAndErrors) -> Plot:
    """Plot right guesses and errors, with a bar for each level."""
    rows = range(len(data.levels))
    names = PlotAxis(
        "level", limits=(len(data.levels) - 0.5, -0.5), ticks={row: data.levels[row].label for row in rows}
    )
    right = [each.right for each in data.levels]
    errors = [SMALLEST if each.error is None else max(each.error, SMALLEST) for each in data.levels]
    told = ["not known" if each.error is None else share_text(each.error / 100) for each in data.levels]
    guesses = PlotAxis("right guesses of 100, at most", limits=(0, 118), ticks={0: "0", 50: "50", 100: "100"})
    guessed = _bars(right, list(map(_short, right)), 0)
    off = PlotAxis("mean error of the total, %", limits=(0, 1.35 * max(errors)))
    return Plot(
        [
            Subplot("A guess about one producer", guesses, names, [guessed], legend=""),
            Subplot("The total", off, names, [_bars(errors, told, 1)], legend=""),
        ],
        inches=1.0 + 0.34 * len(data.levels),
    )  # fmt: skip


def _short(right: float) -> str:
    return str(min(math.ceil(right - 1e-9), 100))


def _bars(values: list[float], texts: list[str], colour: int) -> Mark:
    return Mark(
        "", values, list(range(len(values))), {"color": PALETTE[colour]}, shape="rows", size=0.6, texts=texts,
        sides=["middle right"] * len(values),
    )  # fmt: skip
