"""What money buys: how close totals are, their utility, and who takes part, by what is spent in a period."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.figures.interactive.layout import FigurePanel, Interactive, axis, interactive, score_axis
from halfmask.figures.interactive.marks import MENU_COLOUR, line, plain, points
from halfmask.figures.style import PALETTE, legend_above, look, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from halfmask.rewards.reward_schedule import Schedule

WITHIN, UTILITY, TAKING_PART = "total within", "utility", "share that takes part"


@dataclass(frozen=True)
class Pay:
    """By budget of a period, each of the three; ``honest`` is where the schedule's honest rewards stand."""

    budget: list[float]
    bought: dict[str, list[float]]
    cost: float
    honest: dict[str, float]


def pay_data(schedule: "Schedule") -> Pay:
    """The schedule's curve and its own place beside it."""
    own = schedule.honest
    return Pay(
        [at.budget for at in schedule.curve],
        {
            WITHIN: [at.within for at in schedule.curve],
            UTILITY: [at.utility for at in schedule.curve],
            TAKING_PART: [at.taking_part for at in schedule.curve],
        },
        own.cost,
        {WITHIN: own.within, UTILITY: own.utility, TAKING_PART: own.taking_part},
    )


def pay_caption(data: Pay) -> str:
    """What the first and the last money on the curve buy."""
    first, last = ({name: values[at] for name, values in data.bought.items()} for at in (0, -1))
    return (
        "What a budget per period buys with the best rewards for it, honest or not, as the model of producers has it: "
        "the share of the truth that the total keeps within in 95 of 100 periods, the paper's utility, and the share "
        "of producers that takes part. The curve ends where more money buys next to nothing. The dots are the "
        f"schedule's honest rewards, which cost {money(data.cost)} a period. What to see: from {money(data.budget[0])} "
        f"to {money(data.budget[-1])} a period, the total goes from within {100 * first[WITHIN]:.3g} % to within "
        f"{100 * last[WITHIN]:.3g} %, utility from {first[UTILITY]:.2f} to {last[UTILITY]:.2f}, and the share that "
        f"takes part from {100 * first[TAKING_PART]:.0f} % to {100 * last[TAKING_PART]:.0f} %."
    )


def money(amount: float) -> str:
    """Four digits of it, never as a power of ten."""
    return f"{float(f'{amount:.4g}'):,.10g}"


def draw_pay(data: Pay) -> "Figure":
    """Two panels: the error of the total; utility and participation."""
    with panels(2, share="x") as (figure, (error, shares)):
        _draw(error, data, WITHIN, 0, 100)
        error.set(title="How close totals are", ylabel="total within, %", ylim=(0, None))
        for place, name in enumerate((UTILITY, TAKING_PART)):
            _draw(shares, data, name, place, 1)
        shares.set(ylabel="0 to 1", ylim=(-0.02, 1.02))
        legend_above(shares, "Utility, and who takes part")
        for each in (error, shares):
            each.set_xlabel("budget per period")
            each.xaxis.set_major_formatter("{x:,.6g}")
            each.locator_params(axis="x", nbins=5)
    return figure


def _draw(axes: "Axes", data: Pay, name: str, place: int, scale: float) -> None:
    axes.plot(data.budget, [scale * each for each in data.bought[name]], label=name, **look(place))
    axes.plot([data.cost], [scale * data.honest[name]], "o", color=PALETTE[2], markersize=6)


def pay_figure(data: Pay, caption: str) -> Interactive:
    """The same two panels."""
    traces = []
    for panel, name, place, scale, unit in (
        (0, WITHIN, 0, 100, " %"), (1, UTILITY, 0, 1, ""), (1, TAKING_PART, 1, 1, ""),
    ):  # fmt: skip
        hover = f"budget %{{x:,.6g}}<br>{name} %{{y:.3g}}{unit}"
        values = plain([scale * each for each in data.bought[name]])
        traces.append(line(panel, name, plain(data.budget), values, look(place), hover))
        marker, own = {"size": 9, "color": MENU_COLOUR}, plain([scale * data.honest[name]])
        first = name == WITHIN
        traces.append(points(panel, "honest rewards", plain([data.cost]), own, marker, hover, showlegend=first))
    budget = axis("budget per period", tickformat=",.6~g")
    made = [
        FigurePanel("How close totals are", budget, axis("total within, %", rangemode="tozero")),
        FigurePanel("Utility, and who takes part", budget, score_axis("0 to 1")),
    ]
    return interactive(caption, traces, made, height=280)
