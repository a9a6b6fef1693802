"""What the data look like: how large readings are, and the totals over time."""

from typing import TYPE_CHECKING

import numpy as np

from halfmask.profiles.show import ProfilePicture
from halfmask.report.style import PALETTE, panels, plain_log, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_readings(data: ProfilePicture, columns: int = 2) -> "Figure":
    """Two panels: the distribution of |s| on a logarithmic axis, and each period's total."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    with styled(), np.errstate(over="ignore", invalid="ignore"):
        figure, (left, right) = panels(2, columns, height=2.8)
        left.bar(data.sizes, data.shares * 100, width=data.sizes * (2**0.25 - 1), color=PALETTE[0])
        left.set(title="How large readings are", xlabel="size of a reading, |s|", ylabel="share of readings (%)")
        if len(data.sizes):
            plain_log(left)
        right.plot(data.periods.astype("datetime64[us]"), data.totals, color=PALETTE[1], linewidth=1.3)
        right.set(title="Total of each period", ylabel="sum of all readings")
        dates = AutoDateLocator(maxticks=6)  # type: ignore[no-untyped-call]
        right.xaxis.set_major_locator(dates)
        right.xaxis.set_major_formatter(ConciseDateFormatter(dates))  # type: ignore[no-untyped-call]
        right.yaxis.set_major_formatter("{x:,.6g}")
    return figure
