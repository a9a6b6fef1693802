"""The cost of equal readings: a value that lasts k readings is reported k times."""

from dataclasses import dataclass

from halfmask.audits.card import ReportCard
from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot
from halfmask.figures.style import line_style
from halfmask.figures.wording import sized
from halfmask.protection.guarantees.promises import times


@dataclass(frozen=True)
class EqualReadings:
    """By setting, the best odds of an attacker if a value lasts some number of ``readings``.

    ``promised``  by setting, the epsilon for one reading and for a day, with change, window and delta
    """

    change: float
    readings: list[int]
    odds: dict[str, list[float]]
    promised: dict[str, str]
    unit: str = ""


def equal_readings_data(card: ReportCard, unit: str = "") -> EqualReadings | None:
    """Return the odds from a card; None if it has none."""
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
    """Return the caption, with change, window and the numbers of the strongest setting."""
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


def equal_readings_plot(data: EqualReadings) -> Plot:
    """Plot the odds over the number of equal readings."""
    marks = [
        Mark(id, data.readings, [100 * each for each in odds], line_style(order), shape="both", size=4)
        for order, (id, odds) in enumerate(data.odds.items())
    ]  # fmt: skip
    x = PlotAxis("equal readings", log=True, ticks={count: f"{count:,}" for count in data.readings})
    y = PlotAxis("right guesses, at most, %", limits=(48, 102))
    return Plot([Subplot("", x, y, marks, level=50, columns=3, heading="setting")])
