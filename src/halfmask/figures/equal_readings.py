"""What readings that hang together cost: a value that lasts k readings is one secret told k times."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.audits.card import ReportCard
from halfmask.figures.interactive.layout import FigurePanel, Interactive, axis, interactive
from halfmask.figures.interactive.marks import line, plain
from halfmask.figures.style import QUIET, legend_above, look, panels, sized
from halfmask.protection.guarantees.promises import times

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class EqualReadings:
    """By setting, the best odds of an attacker where a value lasts each number of ``readings``.

    ``promised`` is, by setting, the epsilon for one reading and for a day, with change, window and delta.
    """

    change: float
    readings: list[int]
    odds: dict[str, list[float]]
    promised: dict[str, str]
    unit: str = ""


def equal_readings_data(card: ReportCard, unit: str = "") -> EqualReadings | None:
    """As the card has them; None where it has none."""
    shown = [each for each in card.masking() if each.told]
    if not shown:
        return None
    readings = sorted(shown[0].told)
    return EqualReadings(
        card.about.sensitivity.typical,
        readings,
        {each.id: [each.told[count] for count in readings] for each in shown},
        {each.id: "; ".join(promise.named() for promise in each.promises.values()) for each in shown},
        unit,
    )


def equal_readings_caption(data: EqualReadings) -> str:
    """Change and window, and the strongest setting's numbers."""
    id = min(data.odds, key=lambda id: data.odds[id][0])
    first, last, most = data.odds[id][0], data.odds[id][-1], data.readings[-1]
    named = f" ({data.promised[id]})" if data.promised[id] else ""
    return (
        "A value that lasts k readings is one secret told k times: an appliance that runs for hours, an empty home. "
        "An attacker knows everything but whether each of these k readings was changed by "
        f"{sized(data.change, data.unit)}, and holds both equally likely; drawn is how often the best guess is right "
        "at the most. These odds are (1 + delta(0))/2. At 50 % reports tell nothing. "
        f"What to see: under {id} the guess is right {times(first)} for one reading, and {times(last)} where the value "
        f"lasts {most:,} readings{named}."
    )


def draw_equal_readings(data: EqualReadings) -> "Figure":
    """One panel: odds over the number of equal readings, which doubles from tick to tick."""
    with panels(1) as (figure, (axes,)):
        axes.axhline(50, color=QUIET, linewidth=1.2)
        for place, (id, odds) in enumerate(data.odds.items()):
            axes.plot(data.readings, [100 * each for each in odds], marker="o", markersize=4, label=id, **look(place))
        axes.set_xscale("log", base=2)
        axes.set_xticks(data.readings, [f"{count:,}" for count in data.readings])
        axes.minorticks_off()
        axes.set(xlabel="equal readings", ylabel="right guesses, at most, %", ylim=(48, 102))
        legend_above(axes, "setting", columns=3)
    return figure


def equal_readings_figure(data: EqualReadings, caption: str) -> Interactive:
    """The same panel."""
    traces = []
    for order, (id, odds) in enumerate(data.odds.items()):
        hover = f"<b>{id}</b><br>%{{x:,}} equal readings: right %{{customdata}}"
        y, told = plain([100 * each for each in odds]), [times(each) for each in odds]
        made = line(0, id, data.readings, y, look(order), hover, customdata=told)
        traces.append(made | {"mode": "lines+markers", "marker": {"size": 6}})
    ticks = {"tickvals": data.readings, "ticktext": [f"{count:,}" for count in data.readings]}
    coin = {"type": "line", "xref": "x domain", "x0": 0, "x1": 1, "y0": 50, "y1": 50}
    panel = FigurePanel(
        "", axis("equal readings", type="log", **ticks), axis("right guesses, at most, %", range=[48, 102])
    )
    return interactive(caption, traces, [panel], height=300, shapes=[coin | {"line": {"color": QUIET, "width": 1}}])
