"""Lines of equal utility: how many producers make up for how much noise."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.figures.interactive.layout import FigurePanel, Interactive, axis, interactive
from halfmask.figures.interactive.marks import MENU_COLOUR, line, plain, points
from halfmask.figures.style import PALETTE, legend_above, look, panels, plain_log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from halfmask.rewards.reward_schedule import Schedule


@dataclass(frozen=True)
class EqualUtility:
    """Settings by their noise, which grows; by utility, how many producers reach it if all of them show the setting.

    ``own`` is where the honest rewards stand: the mean noise of those who take part, how many they are, and the
    utility of that.
    """

    ids: list[str]
    noise: list[float]
    producers: dict[float, list[float]]
    own: tuple[float, float, float]


def equal_data(schedule: "Schedule") -> EqualUtility | None:
    """The schedule's lines over its masked settings; None with fewer than two of these."""
    ids = sorted((id for id, noise in schedule.noise.items() if noise > 0), key=lambda id: schedule.noise[id])
    if len(ids) < 2 or not schedule.equal:
        return None
    offer = schedule.honest
    mean = sum(share * schedule.noise[id] ** 2 for id, share in offer.shares.items()) / offer.taking_part
    return EqualUtility(
        ids,
        [schedule.noise[id] for id in ids],
        {at.utility: [at.producers[id] for id in ids] for at in schedule.equal},
        (mean**0.5, offer.taking_part * schedule.producers, offer.utility),
    )


def equal_caption(data: EqualUtility) -> str:
    """How many producers the noisiest setting needs beside the quietest."""
    noise, people, utility = data.own
    line = data.producers[min(data.producers, key=lambda each: abs(each - utility))]
    return (
        "Every line has one utility: how many producers reach it, by the noise of their reports. Twice the noise takes "
        f"four times the producers. The dot is the honest rewards: {people:,.0f} producers whose reports have a mean "
        f"noise of {noise:.3g}, and a utility of {utility:.2f}. What to see: that takes {max(line[0], 1):,.0f} if all "
        f"of them show {data.ids[0]}, and {max(line[-1], 1):,.0f} if all of them show {data.ids[-1]}."
    )


def draw_equal(data: EqualUtility) -> "Figure":
    """One panel."""
    with panels(1) as (figure, (axes,)):
        for place, (utility, people) in enumerate(data.producers.items()):
            axes.plot(data.noise, people, label=f"{utility:.2f}", **look(place))
        axes.plot(*([each] for each in data.own[:2]), "o", color=PALETTE[2], markersize=6)
        plain_log(axes)
        axes.set(yscale="log", ylim=(1, None), xlabel="noise of a report (standard deviation)", ylabel="producers")
        axes.yaxis.set_major_formatter("{x:,g}")
        legend_above(axes, "utility")
    return figure


def equal_figure(data: EqualUtility, caption: str) -> Interactive:
    """The same panel."""
    traces = [
        line(
            0, f"utility {utility:.2f}", plain(data.noise), plain(people), look(place),
            "noise %{x:.3g}: %{y:,.0f} producers",
        )
        for place, (utility, people) in enumerate(data.producers.items())
    ]  # fmt: skip
    noise, people, utility = data.own
    hover = f"honest rewards: utility {utility:.2f}<br>noise %{{x:.3g}}, %{{y:,.0f}} producers"
    traces.append(points(0, "honest rewards", [noise], [people], {"size": 9, "color": MENU_COLOUR}, hover))
    panel = FigurePanel(
        "", axis("noise of a report (standard deviation)", type="log"), axis("producers", type="log", range=[0, None])
    )
    return interactive(caption, traces, [panel], height=320)
