"""The distribution of the report of a typical reading under a setting."""

from dataclasses import dataclass, replace

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import SettingError
from halfmask.figures.interactive import Interactive, SubplotSpec, axis, faint, interactive, line_trace, plain_numbers
from halfmask.figures.style import PALETTE
from halfmask.figures.wording import in_unit, sized
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.masked_range import TIMES_OUT_OF_TEN, noise_quantile

CELLS = 60
REACH = 3


@dataclass(frozen=True, eq=False)
class Shown:
    """The distribution of reports of a reading under a setting: ``share`` of reports between successive ``edges``.

    8 of 10 reports lie from ``low`` to ``high``; ``beyond`` is the share outside of the edges.
    """

    reading: float
    edges: FloatArray
    share: FloatArray
    low: float
    high: float
    beyond: float
    unit: str = ""


def shown_data(setting: PrivacySetting, reading: float, cells: int = CELLS, unit: str = "") -> Shown | None:
    """Return the distribution, from the noise's law P(|psi| <= y) with equal signs; None if the reading is not masked.

    Raise a SettingError for a rule, which has no noise law. The edges reach to the largest noise, but at most to
    three times the range of 8 of 10 noises.
    """
    if setting.kind == "direct" or setting.inner is not None:
        raise SettingError(
            f"{setting} masks by a rule and has no noise law to draw: take noise such as laplace:0.5", kind="law"
        )
    parameters, size = np.array(setting.parameters)[None], abs(reading) if setting.kind == "relative" else 1.0
    usual = noise_quantile(setting, TIMES_OUT_OF_TEN / 10)
    most = float(setting.law.support(parameters)[0])
    reach = min(most, REACH * usual) if usual else most
    if not 0 < reach * size < np.inf:
        return None
    y = np.linspace(0, reach, cells + 1)
    below = setting.law.cdf(parameters, y)[0]
    half = np.diff(below, prepend=0.0)[1:] / 2
    half[0] += below[0] / 2
    return Shown(
        reading=reading,
        edges=reading + size * np.concatenate([-y[:0:-1], y]),
        share=np.concatenate([half[::-1], half]),
        low=reading - size * usual,
        high=reading + size * usual,
        beyond=float(1 - below[-1]),
        unit=unit,
    )


def shown_figure(data: Shown, setting: str) -> Interactive:
    """Return shares of reports as a stepped line; the range of 8 of 10 is shaded, and the reading is a dashed line."""
    x = plain_numbers(np.repeat(data.edges, 2)[1:-1])
    y = plain_numbers(np.repeat(data.share * 100, 2))
    hover = "a report around %{x:.3g}:<br>%{y:.2f} % of reports in this step"
    steps = line_trace(0, setting, x, y, {"color": PALETTE[0]}, hover, showlegend=False, fill="tozeroy")
    steps |= {"fillcolor": faint(PALETTE[0], 0.25)}
    marks = [
        {"type": "rect", "xref": "x", "yref": "y domain", "x0": data.low, "x1": data.high, "y0": 0, "y1": 1,
         "layer": "below", "line": {"width": 0}, "fillcolor": faint(PALETTE[2], 0.16)},
        {"type": "line", "xref": "x", "yref": "y domain", "x0": data.reading, "x1": data.reading, "y0": 0, "y1": 1,
         "line": {"color": PALETTE[1], "width": 2, "dash": "dash"}},
    ]  # fmt: skip
    caption = (
        f"What a reading of {sized(data.reading, data.unit)} (dashed) is reported as under {setting}; "
        f"{TIMES_OUT_OF_TEN} of 10 reports lie in the shaded range, {data.beyond:.1%} beyond the figure."
    )
    over = SubplotSpec(
        "", axis(in_unit("reported value", data.unit)), axis("reports in a step (%)", rangemode="tozero")
    )
    made = interactive(caption, [steps], [over], height=200, legend=False, shapes=marks)
    return replace(made, name="shown", title=f"A reading under {setting}")
