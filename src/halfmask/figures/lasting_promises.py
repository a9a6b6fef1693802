"""How long the offer's guarantees last: epsilon and an attacker's best odds as the number of reports grows."""

from dataclasses import dataclass

from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot
from halfmask.figures.style import line_style
from halfmask.menus.menu import Menu
from halfmask.menus.question import Question, periods_in
from halfmask.protection.guarantees.promises import LARGE_EPSILON, Promise, promise, times
from halfmask_device.decimals import number_text
from halfmask_device.setting import READING

WITHIN_A_DAY = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
DAYS = {1: "day", 7: "week", 30: "month", 365: "year"}
BETWEEN = (2, 4, 14, 90, 180)
"""Further days at which lines have points."""


@dataclass(frozen=True)
class LastingPromises:
    """The guarantees of each offered level for growing numbers of readings that change.

    ``question``  the change of each reading, and delta
    ``marks``     labels of some numbers, such as a day and a week

    A level without a finite epsilon has only odds.
    """

    question: Question
    promises: dict[str, list[Promise]]
    marks: dict[float, str]

    @property
    def noun(self) -> str:
        """What a report is of."""
        return "reading" if self.question.release == READING else "total"

    def longest(self, level: str) -> Promise | None:
        """Return the guarantee for the most readings whose epsilon is still small enough to mean anything; None without
        one.
        """
        kept = [each for each in self.promises[level] if each.epsilon is not None and each.epsilon <= LARGE_EPSILON]
        return kept[-1] if kept else None


def lasting_data(offer: Menu | None, day: int) -> LastingPromises | None:
    """Return the guarantees for one report up to a year of days with ``day`` readings each, or a total per period.

    Every report is assumed to have new noise. The result is None without an offer, without a masked level, or if it is
    not stated what the epsilons cover.
    """
    if offer is None or offer.question is None or len(offer.settings) < 2:
        return None
    asked = offer.question
    of = {
        days: day * days if asked.release == READING else periods_in(days, asked.period) for days in (*DAYS, *BETWEEN)
    }
    counts = sorted({*(count for count in WITHIN_A_DAY if count < of[1]), *of.values()})
    promises = {}
    for each in offer.settings[:-1]:
        found = asked.asked(each.setting)
        promises[f"{each.id} {each.name}".strip()] = [promise(found, count, asked.delta) for count in counts]
    marks: dict[float, str] = {1: "one", **{of[days]: name for days, name in DAYS.items()}}
    return LastingPromises(asked, promises, marks)


def lasting_caption(data: LastingPromises) -> str:
    """Return the caption, with change, delta, and how long the strongest level's guarantee lasts."""
    text = (
        f"Reports use a promise up: each of so many {data.noun}s in a row was changed by up to "
        f"{data.question.size}, or none was. Left: epsilon, at delta 0 for one {data.noun} and at delta "
        f"{number_text(data.question.delta)} for more; above {LARGE_EPSILON:g} (thin line) it says next to nothing. "
        "Right: how often an attacker who knows everything else guesses right which of the two it was, at "
        "the most; at 50 % reports tell nothing. "
    )
    level = min(data.promises, key=lambda name: data.promises[name][0].odds)
    last = data.longest(level)
    if last is None:
        return f"{text}What to see: no level keeps epsilon {LARGE_EPSILON:g} or less for a change of " + (
            f"{data.question.size} in one {data.noun} at delta {number_text(data.question.delta)}."
        )
    year = data.promises[level][-1]
    kept = last.named().replace("reading", data.noun)
    return (
        f"{text}What to see: {level}, the strongest, keeps {kept}; the attacker is then right "
        f"{times(last.odds)}, and after {year.readings:,} {data.noun}s {times(year.odds)}."
    )


def lasting_plot(data: LastingPromises) -> Plot:
    """Plot epsilon and odds over the number of readings."""
    epsilons, odds = [], []
    for order, (level, kept) in enumerate(data.promises.items()):
        held = [(each.readings, each.epsilon) for each in kept if each.epsilon is not None]
        counts, values = [count for count, _ in held], [epsilon for _, epsilon in held]
        epsilons.append(Mark(level, counts, values, line_style(order)))
        counts, values = [each.readings for each in kept], [100 * each.odds for each in kept]
        odds.append(Mark(level, counts, values, line_style(order)))
    x = PlotAxis(f"{data.noun}s in a row", log=True, ticks=data.marks)
    epsilon = PlotAxis("epsilon (upper bound)", log=True)
    right = PlotAxis("right guesses, at most, %", limits=(48, 102))
    return Plot(
        [
            Subplot("Epsilon", x, epsilon, epsilons, level=LARGE_EPSILON, columns=2),
            Subplot("Odds of the best guess", x, right, odds, level=50, columns=2),
        ],
        inches=3.3,
    )
