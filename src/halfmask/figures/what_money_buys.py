"""The effect of a budget: error of totals, utility and participation, by the amount spent in a period."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot, score_scale
from halfmask.figures.style import MENU_LOOK, line_style
from halfmask.figures.wording import amount

if TYPE_CHECKING:
    from halfmask.rewards.reward_schedule import Schedule

WITHIN, UTILITY, TAKING_PART = "total within", "utility", "share that takes part"


@dataclass(frozen=True)
class Pay:
    """Error, utility and participation by budget per period.

    ``honest``  the same at the honest rewards
    """

    budget: list[float]
    bought: dict[str, list[float]]
    cost: float
    honest: dict[str, float]


def pay_data(schedule: "Schedule") -> Pay:
    """Return the schedule's curve, and its values at the honest rewards."""
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
    """Return the caption, with the effects of the smallest and the largest budget."""
    first, last = ({name: values[at] for name, values in data.bought.items()} for at in (0, -1))
    return (
        "What a budget per period buys with the best rewards for it, honest or not, as the model of producers has it: "
        "the share of the truth that the total keeps within in 95 of 100 periods, the paper's utility, and the share "
        "of producers that takes part. The curve ends where more money buys next to nothing. The dots are the "
        f"schedule's honest rewards, which cost {amount(data.cost)} a period. What to see: from "
        f"{amount(data.budget[0])} to {amount(data.budget[-1])} a period, the total goes from "
        f"within {100 * first[WITHIN]:.3g} % to within {100 * last[WITHIN]:.3g} %, "
        f"utility from {first[UTILITY]:.2f} to {last[UTILITY]:.2f}, and the share that takes part from "
        f"{100 * first[TAKING_PART]:.0f} % to {100 * last[TAKING_PART]:.0f} %."
    )


def pay_plot(data: Pay) -> Plot:
    """Plot the error of the total; and utility and participation."""

    def marks(name: str, order: int, scale: int) -> list[Mark]:
        bought, own = [scale * each for each in data.bought[name]], [scale * data.honest[name]]
        dot = Mark("honest rewards", [data.cost], own, MENU_LOOK, shape="points", size=6, label="")
        return [Mark(name, data.budget, bought, line_style(order)), dot]

    budget = PlotAxis("budget per period")
    within, parts = PlotAxis("total within, %", limits=(0, None)), score_scale("0 to 1")
    shares = [*marks(UTILITY, 0, 1), *marks(TAKING_PART, 1, 1)]
    return Plot(
        [
            Subplot("How close totals are", budget, within, marks(WITHIN, 0, 100), legend=""),
            Subplot("Utility, and who takes part", budget, parts, shares),
        ],
        share="x",
    )
