"""What the data look like: how large readings are, and the totals over time."""

from typing import TYPE_CHECKING

import numpy as np

from halfmask.arrays import IntArray
from halfmask.figures.style import PALETTE, in_unit, panels, plain_log, summed
from halfmask.profiles.show import ProfilePicture

DATES = 4
LONG = 400

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_readings(data: ProfilePicture) -> "Figure":
    """Two panels: the distribution of readings, over |s| on a logarithmic axis if they add up; each period's total."""
    with np.errstate(over="ignore", invalid="ignore"), panels(2, height=2.8) as (figure, (left, right)):
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
    """The words of the axis of totals or means."""
    mean = in_unit("mean of all readings", data.unit)
    return mean if data.mean else summed("sum of all readings", data.unit)


def _dates(periods: IntArray) -> tuple[IntArray, list[str]]:
    """A few periods, evenly spaced, and their days: any span of time does, from minutes to centuries."""
    shown = periods[np.unique(np.linspace(0, len(periods) - 1, DATES).round().astype(int))]
    return shown, [str(moment) for moment in shown.astype("datetime64[us]").astype("datetime64[D]")]
