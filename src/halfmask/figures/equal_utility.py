"""Lines of equal utility: how many more producers compensate for more noise."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot
from halfmask.figures.style import MENU_LOOK, line_style

if TYPE_CHECKING:
    from halfmask.rewards.reward_schedule import Schedule


@dataclass(frozen=True)
class EqualUtility:
    """Settings in ascending order of noise, and the producers needed.

    ``producers``  by utility, how many producers reach it if all use the setting
    ``own``        the honest rewards: mean noise and number of those who take part, and their utility
    """

    ids: list[str]
    noise: list[float]
    producers: dict[float, list[float]]
    own: tuple[float, float, float]


def equal_data(schedule: "Schedule") -> EqualUtility | None:
    """Return the schedule's lines of equal utility; None without lines or without two masked settings."""
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
    """Return the caption, with the numbers of producers for the noisiest and for the least noisy setting."""
    noise, people, utility = data.own
    line = data.producers[min(data.producers, key=lambda each: abs(each - utility))]
    return (
        "Every line has one utility: how many producers reach it, by the noise of their reports. Twice the noise takes "
        f"four times the producers. The dot is the honest rewards: {people:,.0f} producers whose reports have a mean "
        f"noise of {noise:.3g}, and a utility of {utility:.2f}. What to see: that takes {max(line[0], 1):,.0f} if all "
        f"of them show {data.ids[0]}, and {max(line[-1], 1):,.0f} if all of them show {data.ids[-1]}."
    )


def equal_plot(data: EqualUtility) -> Plot:
    """Plot the number of producers over noise."""
    noise, people, _ = data.own
    marks = [
        *(
            Mark(f"utility {at:.2f}", data.noise, needed, line_style(place), label=f"{at:.2f}")
            for place, (at, needed) in enumerate(data.producers.items())
        ),
        Mark("honest rewards", [noise], [people], MENU_LOOK, shape="points", size=6, label=""),
    ]
    x = PlotAxis("noise of a report (standard deviation)", log=True)
    return Plot(
        [Subplot("", x, PlotAxis("producers", log=True, limits=(1, None)), marks, columns=3, heading="utility")]
    )
