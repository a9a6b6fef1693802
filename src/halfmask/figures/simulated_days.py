"""A simulated population day by day: utility, privacy, what it costs, and who takes which setting."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask.errors import FileFormatError
from halfmask.figures.interactive.layout import FigurePanel, Interactive, Spec, axis, interactive, score_axis
from halfmask.figures.interactive.marks import line, plain, points
from halfmask.figures.style import QUIET, legend_above, look, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TAKEN = "producers_"


@dataclass(frozen=True)
class SimulatedDays:
    """By day: the utility of all days so far, the privacy of those who take part, the cost, and producers by setting.

    ``totals`` are the true total, the published one (estimate) and the two ends of its interval (low, high); NaN where
    nothing was published. ``inside`` counts the published intervals that hold the truth, ``published`` all of them.
    """

    day: list[float]
    utility: list[float]
    privacy: list[float]
    cost: list[float]
    totals: dict[str, list[float]]
    producers: dict[str, list[float]]
    inside: int
    published: int

    @property
    def off(self) -> dict[str, list[float]]:
        """How far the published total and the two ends of its interval are from the truth, in percent of it."""
        truth = [each or float("nan") for each in self.totals["truth"]]
        return {
            name: [100 * (each / of - 1) for each, of in zip(self.totals[name], truth, strict=True)]
            for name in ("estimate", "low", "high")
        }


def simulated_data(rows: Sequence[Mapping[str, Any]]) -> SimulatedDays:
    """The days of `halfmask simulate`, as it wrote them."""
    inside = [str(row["inside"]) for row in rows if row["inside"] not in ("", None)]
    day, utility, privacy, cost = (
        [_number(row[name]) for row in rows] for name in ("day", "utility", "privacy", "cost")
    )
    taken = {name: [_number(row[name]) for row in rows] for name in rows[0] if name.startswith(TAKEN)}
    producers = {name.removeprefix(TAKEN): values for name, values in taken.items()}
    totals = {name: [_number(row[name]) for row in rows] for name in ("truth", "estimate", "low", "high")}
    return SimulatedDays(day, utility, privacy, cost, totals, producers, inside.count("True"), len(inside))


def read_days(path: Path) -> SimulatedDays | None:
    """The days in a file; None where there is no such file."""
    if not path.exists():
        return None
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return simulated_data(list(csv.DictReader(file)))
    except (ValueError, KeyError, IndexError, UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(f"{path} holds no simulated days: recreate it with 'halfmask simulate -o'") from error


def _number(cell: Any) -> float:
    return float("nan") if cell in ("", None) else float(cell)


def simulated_caption(data: SimulatedDays) -> str:
    """What is shown, and how the last day compares with the first."""
    ids, last = list(data.producers), len(data.day) - 1
    most = max(ids, key=lambda id: data.producers[id][last])
    return (
        "A simulated population against a running service, day by day: the paper's utility of the totals published so "
        "far and the mean privacy of those who take part; what the day's rewards cost; how many producers take each "
        "setting; and how far the published total is from the truth, which only the simulation knows, with its "
        f"interval. What to see: after {len(data.day)} days the utility is {data.utility[last]:.2f} and the "
        f"privacy {data.privacy[last]:.2f}; {most} is the setting that most take on the last day. "
        f"{data.inside} of {data.published} published intervals hold the truth; 95 of 100 are meant to "
        "where nobody lies."
    )


def draw_simulated(data: SimulatedDays) -> "Figure":
    """Four panels: scores, cost, who takes what, and the published total beside the truth."""
    with panels(4, share="x") as (figure, (scores, cost, taken, total)):
        for place, (name, values) in enumerate((("utility", data.utility), ("privacy", data.privacy))):
            scores.plot(data.day, values, label=name, **look(place))
        scores.set(ylabel="0 to 1", ylim=(-0.02, 1.02), xlabel="day")
        legend_above(scores, "Utility so far, and privacy")
        cost.bar(data.day, data.cost, color=QUIET)
        cost.set(title="Cost of the day", ylabel="money, smallest unit", xlabel="day")
        cost.yaxis.set_major_formatter("{x:,.6g}")
        for place, (id, values) in enumerate(data.producers.items()):
            taken.plot(data.day, values, label=id, **look(place))
        taken.set(ylabel="producers", xlabel="day", ylim=(0, None))
        legend_above(taken, "Who takes which setting", columns=4)
        total.axhline(0, color=QUIET, linewidth=1.2)
        total.vlines(data.day, data.off["low"], data.off["high"], color=look(0)["color"])
        total.plot(data.day, data.off["estimate"], "o", color=look(0)["color"], markersize=4)
        total.set(title="Published total and its interval", ylabel="off the truth, %", xlabel="day")
        total.locator_params(axis="x", integer=True)
    return figure


def simulated_figure(data: SimulatedDays, caption: str) -> Interactive:
    """The same four panels."""
    days, traces = plain(data.day), list[Spec]()
    for place, (name, values) in enumerate((("utility", data.utility), ("privacy", data.privacy))):
        traces.append(line(0, name, days, plain(values), look(place), f"day %{{x}}: {name} %{{y:.3f}}"))
    traces.append(line(1, "cost", days, plain(data.cost), {"color": QUIET}, "day %{x}: %{y:,}"))
    for place, (id, values) in enumerate(data.producers.items()):
        hover = f"day %{{x}}: %{{y:,}} producers take {id}"
        traces.append(line(2, f"setting {id}", days, plain(values), look(place), hover))
    ends: list[float | None] = []
    for low, high in zip(plain(data.off["low"]), plain(data.off["high"]), strict=True):
        ends += [low, high, None]
    beside = [each for day in days for each in (day, day, None)]
    traces.append(line(3, "interval", beside, ends, look(0), "day %{x}: an end of the interval, %{y:.2f} % off"))
    published, hover = plain(data.off["estimate"]), "day %{x}: %{y:.2f} % off the truth"
    traces.append(points(3, "published", days, published, {"size": 6, "color": look(0)["color"]}, hover))
    made = [
        FigurePanel("Utility so far, and privacy", axis("day"), score_axis("0 to 1")),
        FigurePanel("Cost of the day", axis("day"), axis("money, smallest unit", rangemode="tozero")),
        FigurePanel("Who takes which setting", axis("day"), axis("producers", rangemode="tozero")),
        FigurePanel("Published total and its interval", axis("day"), axis("off the truth, %")),
    ]
    return interactive(caption, traces, made, height=260)
