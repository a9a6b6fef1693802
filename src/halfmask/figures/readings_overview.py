"""An overview of the data: the sizes of readings, and the totals over time."""

from typing import Any

import numpy as np

from halfmask.arrays import IntArray
from halfmask.figures.interactive import Interactive, SubplotSpec, axes, axis, interactive, line_trace, plain_numbers
from halfmask.figures.style import PALETTE, Figure, plain_log, subplots
from halfmask.figures.wording import in_unit, summed
from halfmask.profiles.show import ProfilePicture

DATES = 4
LONG = 400
MOST_PERIODS = 2000


def draw_readings(data: ProfilePicture) -> Figure:
    """Draw two subplots: the sizes of readings (on a logarithmic axis if readings add up) and each period's total."""
    with np.errstate(over="ignore", invalid="ignore"), subplots(2, height=2.8) as (figure, (left, right)):
        left.bar(data.sizes, data.shares * 100, width=data.widths, color=PALETTE[0])
        left.set(
            title=data.title,
            xlabel=in_unit(data.axis, data.unit),
            ylabel="share of readings (%)",
        )
        if len(data.sizes) and not data.mean:
            plain_log(left)
        right.plot(data.periods, data.totals, color=PALETTE[1], linewidth=1.3 if len(data.periods) < LONG else 0.6)
        right.set_xticks(*_dates(data.periods))
        right.set(title=f"{data.of_a_period} of each period", ylabel=over_time(data))
        right.yaxis.set_major_formatter("{x:,.6g}")
    return figure


def over_time(data: ProfilePicture) -> str:
    """Return the label of the axis of totals or means."""
    mean = in_unit("mean of all readings", data.unit)
    return mean if data.mean else summed("sum of all readings", data.unit)


def _dates(periods: IntArray) -> tuple[IntArray, list[str]]:
    """Return a few evenly spaced periods and their labels; any span works, from minutes to centuries."""
    shown = periods[np.unique(np.linspace(0, len(periods) - 1, DATES).round().astype(int))]
    return shown, [str(moment) for moment in shown.astype("datetime64[us]").astype("datetime64[D]")]


def readings_caption(data: ProfilePicture) -> str:
    """Return the caption of the readings."""
    if data.mean:
        return "What readings are, from the 0.1 % to the 99.9 % quantile, and the mean of each period over time."
    return (
        "How large readings are, on a logarithmic axis, and the total of each period over time. A total is the plain "
        "sum of all readings of the period: where they are powers, it is no energy."
    )


def readings_figure(data: ProfilePicture, caption: str) -> Interactive:
    """Return the interactive figure: the distribution of the sizes of readings, and each period's total.

    The axis of sizes is logarithmic if readings add up. Of very many periods, evenly spaced ones are drawn, and the
    caption says how many.
    """
    thin = np.unique(np.linspace(0, len(data.periods) - 1, MOST_PERIODS).round().astype(int))
    if len(thin) < len(data.periods):
        caption += f" {len(thin):,} of {len(data.periods):,} periods are drawn, evenly spaced."
    times = [str(moment) for moment in data.periods[thin].astype("datetime64[us]").astype("datetime64[s]")]
    sizes = {
        "type": "bar", "x": plain_numbers(data.sizes), "y": plain_numbers(data.shares * 100), "showlegend": False,
        "width": plain_numbers(data.widths), "marker": {"color": PALETTE[0]},
        "hovertemplate": "around %{x:.3g}: %{y:.2f} % of readings<extra></extra>", **axes(0),
    }  # fmt: skip
    look = {"color": PALETTE[1]}
    what = data.of_a_period.lower()
    totals = line_trace(
        1, what, times, plain_numbers(data.totals[thin]), look, f"%{{x}}<br>{what} %{{y:,.6g}}", showlegend=False
    )
    totals["line"]["width"] = 1.3
    scale: dict[str, Any] = {} if data.mean else {"type": "log", "dtick": 1}
    made = [
        SubplotSpec(
            data.title,
            axis(in_unit(data.axis, data.unit), tickformat=",.6~g", **scale),
            axis("share of readings (%)"),
        ),
        SubplotSpec(
            f"{data.of_a_period} of each period",
            axis("", type="date"),
            axis(over_time(data), tickformat=".3~s"),
        ),
    ]
    return interactive(caption, [sizes, totals], made, height=270, legend=False)
