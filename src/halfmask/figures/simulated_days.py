"""A simulated population day by day: utility, privacy, cost, and the number of producers with each setting."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halfmask.errors import FileFormatError
from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot, score_scale
from halfmask.figures.style import QUIET, line_style

TAKEN = "producers_"


@dataclass(frozen=True)
class SimulatedDays:
    """By day: utility of all days so far, privacy of those who take part, cost, and producers by setting.

    ``totals``     the true total, the published one (estimate) and its interval (low, high); NaN if not published
    ``inside``     number of published intervals that contain the truth
    ``published``  number of published intervals
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
        """Return how many percent the published total and its interval are above the truth; NaN if the truth is 0."""
        truth = [each or float("nan") for each in self.totals["truth"]]
        return {
            name: [100 * (each / of - 1) for each, of in zip(self.totals[name], truth, strict=True)]
            for name in ("estimate", "low", "high")
        }


def simulated_data(rows: Sequence[Mapping[str, Any]]) -> SimulatedDays:
    """Convert the rows that `halfmask simulate` wrote."""
    inside = [str(row["inside"]) for row in rows if row["inside"] not in ("", None)]
    day, utility, privacy, cost = (
        [_number(row[name]) for row in rows] for name in ("day", "utility", "privacy", "cost")
    )
    taken = {name: [_number(row[name]) for row in rows] for name in rows[0] if name.startswith(TAKEN)}
    producers = {name.removeprefix(TAKEN): values for name, values in taken.items()}
    totals = {name: [_number(row[name]) for row in rows] for name in ("truth", "estimate", "low", "high")}
    return SimulatedDays(day, utility, privacy, cost, totals, producers, inside.count("True"), len(inside))


def read_days(path: Path) -> SimulatedDays:
    """Read simulated days from a file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return simulated_data(list(csv.DictReader(file)))
    except (ValueError, KeyError, IndexError, UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(f"{path} holds no simulated days: recreate it with 'halfmask simulate -o'") from error


def _number(cell: Any) -> float:
    return float("nan") if cell in ("", None) else float(cell)


def simulated_caption(data: SimulatedDays) -> str:
    """Return the caption, with the numbers of the last day."""
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


def simulated_plot(data: SimulatedDays) -> Plot:
    """Plot scores, cost, producers by setting, and the error of the published total."""
    scores = [
        Mark(name, data.day, values, line_style(order))
        for order, (name, values) in enumerate((("utility", data.utility), ("privacy", data.privacy)))
    ]
    taken = [
        Mark(f"setting {id}", data.day, values, line_style(order), label=id)
        for order, (id, values) in enumerate(data.producers.items())
    ]
    cost = Mark("cost", data.day, data.cost, {"color": QUIET}, shape="both")
    low, high = data.off["low"], data.off["high"]
    total = Mark(
        "published", data.day, data.off["estimate"], line_style(0),
        shape="points", size=4, reach_y=(low, high),
    )  # fmt: skip
    day, none = PlotAxis("day", whole=True), (0, None)
    return Plot(
        [
            Subplot("Utility so far, and privacy", day, score_scale("0 to 1"), scores),
            Subplot("Cost of the day", day, PlotAxis("money, smallest unit", limits=none), [cost], legend=""),
            Subplot("Who takes which setting", day, PlotAxis("producers", limits=none), taken, columns=4),
            Subplot("Published total and its interval", day, PlotAxis("off the truth, %"), [total], 0.0, legend=""),
        ],
        share="x",
    )
