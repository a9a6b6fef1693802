"""The trade-off between an attacker's two errors (f-DP): missed changes and false alarms."""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.audits.card import CURVE, ReportCard
from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot
from halfmask.figures.style import QUIET, line_style
from halfmask.figures.wording import at_least, sized
from halfmask.protection.guarantees.promises import trade_off

ALARMS = np.unique(np.concatenate([[0.0], np.geomspace(1e-4, 1, 60), 1 - np.geomspace(1e-4, 1, 60), [0.05]]))
"""Shares of false alarms at which curves have points, denser near both ends."""
SHOWN_ALARM = 0.05


@dataclass(frozen=True)
class TradeOff:
    """By setting, the least share of missed changes for each share of false alarms, for one report and for a day.

    ``promised``  by setting, the epsilon behind each curve with its change, window and delta
    """

    change: float
    day: int
    alarms: FloatArray
    one: dict[str, FloatArray]
    whole_day: dict[str, FloatArray]
    promised: dict[str, tuple[str, str]]
    unit: str = ""


def trade_off_data(card: ReportCard, unit: str = "") -> TradeOff | None:
    """Return the curves that follow from the card's bounds on delta; None if no setting adds noise."""
    shown, day = card.masking(), card.day
    if not shown:
        return None
    one, whole = ({each.id: trade_off(CURVE, each.curve[count], ALARMS) for each in shown} for count in (1, day))
    promised = {each.id: (each.promises["one reading"].named(), each.promises["a day"].named()) for each in shown}
    return TradeOff(card.about.sensitivity.typical, day, ALARMS, one, whole, promised, unit)


def trade_off_caption(data: TradeOff) -> str:
    """Return the caption, with change, windows, and the numbers of the strongest setting."""
    text = (
        f"An attacker knows everything but whether a reading was changed by {sized(data.change, data.unit)}: in one "
        f"reading (first panel), or in each of a day's {data.day:,} (second). At each rate of false alarms, the curve "
        "is the least share of changes that any attacker misses. The grey diagonal is an attacker who learns nothing; "
        "closer to the corner at 0 is weaker protection. A curve holds for every epsilon and its delta at once. "
    )
    id = max(data.one, key=lambda id: float(np.interp(SHOWN_ALARM, data.alarms, data.one[id])))
    one, day = (at_least(100 * float(np.interp(SHOWN_ALARM, data.alarms, of[id]))) for of in (data.one, data.whole_day))
    text += f"What to see: with {100 * SHOWN_ALARM:g} % false alarms, at least {one} % of changes are missed under {id}"
    text += f" in one reading, {day} % in a day"
    return f"{text} ({'; '.join(data.promised[id])})."


def trade_off_plot(data: TradeOff) -> Plot:
    """Plot the trade-off for one report and for a day of reports."""
    grey = {"color": QUIET}
    nothing = Mark("nothing learned", [0, 100], [100, 0], grey, label="")
    x = PlotAxis("false alarms, %", limits=(-2, 102))
    y = PlotAxis("changes missed, at least, %", limits=(-2, 102))
    alarms = 100 * data.alarms
    return Plot(
        [
            Subplot(
                title, x, y,
                [nothing] + [
                    Mark(
                        id, alarms, 100 * missed, line_style(order),
                    )
                    for order, (id, missed) in enumerate(curves.items())
                ],
                legend="upper right", columns=2, heading="setting",
            )
            for title, curves in (("One report", data.one), (f"A day of {data.day:,} reports", data.whole_day))
        ]
    )  # fmt: skip
