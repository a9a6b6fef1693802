"""How long the offer's promises last: epsilon and the best odds of an attacker as reports add up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.figures.interactive.layout import FigurePanel, Interactive, Spec, axis, interactive, place
from halfmask.figures.interactive.marks import line, plain
from halfmask.figures.style import QUIET, legend_above, look, panels
from halfmask.menus.menu import Menu
from halfmask.menus.setting_protection import Question
from halfmask.protection.guarantees.promises import LARGE_EPSILON, Promise, promise, times
from halfmask_device.decimals import upwards

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WITHIN_A_DAY = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
DAYS = {1: "day", 7: "week", 30: "month", 365: "year"}
BETWEEN = (2, 4, 14, 90, 180)
"""Days that lines have points at, beside those with a name."""


@dataclass(frozen=True)
class LastingPromises:
    """What each offered level promises for growing numbers of readings, each changed by up to the question's change.

    ``marks`` names some of the numbers: a day, a week. A level whose noise keeps no finite epsilon has odds alone.
    """

    question: Question
    promises: dict[str, list[Promise]]
    marks: dict[int, str]

    def longest(self, level: str) -> Promise | None:
        """The last of the promises that keep an epsilon worth the name; None where already the first does not."""
        kept = [each for each in self.promises[level] if each.epsilon is not None and each.epsilon <= LARGE_EPSILON]
        return kept[-1] if kept else None


def lasting_data(offer: Menu | None, day: int) -> LastingPromises | None:
    """For the question's change and delta, from one reading to a year of days of ``day`` readings each.

    Every report has noise of its own. None where there is no offer, or it does not say what its epsilons are about.
    """
    if offer is None or offer.question is None or len(offer.settings) < 2:
        return None
    asked = offer.question
    counts = sorted({*(count for count in WITHIN_A_DAY if count < day), *(day * days for days in (*DAYS, *BETWEEN))})
    promises = {}
    for each in offer.settings[:-1]:
        found = asked.asked(each.setting)
        promises[f"{each.id} {each.name}".strip()] = [promise(found, count, asked.delta) for count in counts]
    marks = {1: "one", **{day * days: name for days, name in DAYS.items()}}
    return LastingPromises(asked, promises, marks)


def lasting_caption(data: LastingPromises) -> str:
    """Change and delta, and how far the strongest level's promise reaches, with the epsilon behind it."""
    text = (
        f"Reports use a promise up: each of so many readings in a row was changed by up to {data.question.size}, or "
        f"none was. First panel: epsilon, at delta 0 for one reading and at delta {data.question.delta:g} for more; "
        f"above {LARGE_EPSILON:g} (thin line) it says next to nothing. Second panel: how often an attacker who knows "
        "everything else guesses right which of the two it was, at the most; at 50 % reports tell nothing. "
    )
    level = min(data.promises, key=lambda name: data.promises[name][0].odds)
    last = data.longest(level)
    if last is None:
        return f"{text}What to see: no level keeps epsilon {LARGE_EPSILON:g} or less for a change of " + (
            f"{data.question.size} in one reading at delta {data.question.delta:g}."
        )
    year = data.promises[level][-1]
    return (
        f"{text}What to see: {level}, the strongest, keeps {last.named()}; the attacker is then right "
        f"{times(last.odds)}, and after {year.readings:,} readings {times(year.odds)}."
    )


def draw_lasting(data: LastingPromises) -> "Figure":
    """Two panels over the number of readings, which is logarithmic."""
    with panels(2, height=3.3) as (figure, (left, right)):
        for number, (level, kept) in enumerate(data.promises.items()):
            held = [each for each in kept if each.epsilon is not None]
            left.plot([e.readings for e in held], [e.epsilon or 0.0 for e in held], label=level, **look(number))
            right.plot([e.readings for e in kept], [100 * e.odds for e in kept], label=level, **look(number))
        left.axhline(LARGE_EPSILON, color=QUIET, linewidth=1)
        left.set_yscale("log")
        left.minorticks_off()
        left.yaxis.set_major_formatter("{x:,g}")
        left.set_ylabel("epsilon (upper bound)")
        right.axhline(50, color=QUIET, linewidth=1)
        right.set(ylabel="right guesses, at most, %", ylim=(48, 102))
        for axes, title in ((left, "Epsilon"), (right, "Odds of the best guess")):
            _mark(axes, data)
            legend_above(axes, title, columns=2)
    return figure


def _mark(axes: "Axes", data: LastingPromises) -> None:
    axes.set_xscale("log")
    axes.set_xticks(list(data.marks), list(data.marks.values()))
    axes.minorticks_off()
    axes.set_xlabel("readings in a row")


def lasting_figure(data: LastingPromises, caption: str) -> Interactive:
    """The same two panels; what is shown of a promise is rounded up."""
    traces: list[Spec] = []
    for number, (level, kept) in enumerate(data.promises.items()):
        held = [each for each in kept if each.epsilon is not None]
        epsilons = [each.epsilon or 0.0 for each in held]
        traces.append(_line(0, level, held, epsilons, number, [f"epsilon {upwards(each)}" for each in epsilons]))
        odds = [100 * each.odds for each in kept]
        traces.append(_line(1, level, kept, odds, number, [f"right {times(each.odds)}" for each in kept]))
    ticks = {"type": "log", "tickvals": list(data.marks), "ticktext": list(data.marks.values())}
    levels = [
        {"type": "line", "xref": f"x{place(number)} domain", "yref": f"y{place(number)}", "x0": 0, "x1": 1,
         "y0": at, "y1": at, "line": {"color": QUIET, "width": 1}}
        for number, at in enumerate((LARGE_EPSILON, 50))
    ]  # fmt: skip
    made = [
        FigurePanel("Epsilon", axis("readings in a row", **ticks), axis("epsilon (upper bound)", type="log", dtick=1)),
        FigurePanel(
            "Odds of the best guess",
            axis("readings in a row", **ticks),
            axis("right guesses, at most, %", range=[48, 102]),
        ),
    ]
    return interactive(caption, traces, made, height=290, shapes=levels)


def _line(
    panel: int, level: str, kept: Sequence[Promise], values: Sequence[float], number: int, told: Sequence[str]
) -> Spec:
    hover = f"<b>{level}</b><br>%{{x:,}} readings, delta %{{customdata[1]}}: %{{customdata[0]}}"
    with_delta = [[words, f"{each.delta:g}"] for words, each in zip(told, kept, strict=True)]
    return line(
        panel, level, [each.readings for each in kept], plain(values), look(number), hover, customdata=with_delta,
        showlegend=panel == 1,
    )  # fmt: skip
