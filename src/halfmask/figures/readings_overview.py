"""An overview of the data: the sizes of readings, and the totals over time."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot
from halfmask.figures.style import PALETTE
from halfmask.figures.wording import in_unit, summed
from halfmask.profiles.show import ProfilePicture

DATES = 4
DECADES = 6
LONG = 400
DRAWABLE = 1e300  # larger values would leave no room for the axis' ends


def readings_plot(data: ProfilePicture) -> Plot:
    """Plot the sizes of readings (logarithms if readings can be summed), and the total or mean of each period.

    Logarithms are drawn on a linear axis, because a logarithmic one fails near the largest double.
    """
    places = data.sizes if data.mean else np.log10(data.sizes)
    ends = (math.floor(places[0]), math.ceil(places[-1])) if len(places) and not data.mean else None
    width = (float(np.diff(data.sizes[:2]).sum()) or 1.0) if data.mean else math.log10(2) / 4  # quarters of an octave
    sizes = Mark(
        "", places, data.shares * 100, {"color": PALETTE[0]}, shape="bars", size=width,
    )  # fmt: skip
    times = data.periods.astype("datetime64[us]").astype("datetime64[s]")
    totals = Mark(
        "", times, np.clip(data.totals, -DRAWABLE, DRAWABLE),
        {"color": PALETTE[1], "linewidth": 1.3 if len(times) < LONG else 0.6},
    )  # fmt: skip
    unit = in_unit("mean of all readings", data.unit) if data.mean else summed("sum of all readings", data.unit)
    size = PlotAxis(in_unit(data.axis, data.unit), ticks=_decades(*ends) if ends else None, limits=ends)
    time = PlotAxis("", ticks=_dates(times))
    return Plot(
        [
            Subplot(data.title, size, PlotAxis("share of readings (%)"), [sizes], legend=""),
            Subplot(
                f"{data.of_a_period} of each period", time, PlotAxis(unit), [totals],
                legend="",
            ),
        ],
        inches=2.8,
    )  # fmt: skip


def _decades(first: int, last: int) -> dict[float, str]:
    """Return ticks at some powers of ten, by exponent."""
    powers = range(first, last + 1, -(-(last - first) // DECADES) or 1)
    return {power: f"{10.0**power:,g}" if abs(power) < DECADES else f"1e{power}" for power in powers}


def _dates(times: npt.NDArray[np.datetime64]) -> dict[Any, str]:
    """Return a few evenly spaced times with their dates."""
    shown = times[np.unique(np.linspace(0, len(times) - 1, DATES).round().astype(int))]
    return dict(zip(shown, shown.astype("datetime64[D]").astype(str).tolist(), strict=True))


def readings_caption(data: ProfilePicture) -> str:
    """Return the caption of the readings."""
    if data.mean:
        return "What readings are, from the 0.1 % to the 99.9 % quantile, and the mean of each period over time."
    return (
        "How large readings are, on a logarithmic axis, and the total of each period over time. A total is the plain "
        "sum of all readings of the period: where they are powers, it is no energy."
    )
