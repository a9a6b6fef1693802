"""Interactive figures: plotly specifications of lines, bands, points and axes, as plain data.

A specification sets neither the text colour nor the background. The page adds these and the grid, for light and dark.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray
from halfmask.figures.style import INK, LINE, PALETTE, QUIET

Spec = dict[str, Any]

TOP, LEGEND, TITLE, BELOW = 12, 34, 26, 52
"""Pixels: above a subplot without a title, of the legend, of a title, of ticks and label under a subplot."""
BESIDE = 0.105
"""Share of the width between two subplots: room for ticks and a label."""


DIGITS = 6
WIDTH = 2
MENU_COLOUR = PALETTE[2]


@dataclass(frozen=True)
class SubplotSpec:
    """A subplot: its title, and its axes as plotly specifies them."""

    title: str
    x: Spec = field(default_factory=dict)
    y: Spec = field(default_factory=dict)


@dataclass(frozen=True)
class Interactive:
    """An interactive figure: traces, with a layout for wide pages and one for phones.

    Its name and title are those in the registry.
    """

    caption: str
    traces: list[Spec]
    wide: Spec
    narrow: Spec
    name: str = ""
    title: str = ""

    def json(self) -> Spec:
        """Return the figure as plain data for a page."""
        return dict(vars(self))


def interactive(caption: str, traces: list[Spec], subplots: Sequence[SubplotSpec], **more: Any) -> Interactive:
    """Return a figure laid out for wide pages and for phones; see `layout` for the options."""
    return Interactive(caption, traces, layout(subplots, columns=2, **more), layout(subplots, columns=1, **more))


def layout(
    subplots: Sequence[SubplotSpec], *, columns: int, height: int = 250, legend: bool = True, below: int = 0,
    shapes: Sequence[Spec] = (),
) -> Spec:  # fmt: skip
    """Return a layout of subplots ``height`` pixels high in rows of at most ``columns``.

    ``below`` is the number of spare pixels at the bottom.
    """
    drag = "zoom" if columns > 1 else False  # on a phone a finger scrolls the page
    columns = min(columns, len(subplots))
    rows = -(-len(subplots) // columns)
    gap = TITLE + BELOW
    inner = rows * height + (rows - 1) * gap
    above = (TITLE if any(each.title for each in subplots) else TOP) + (LEGEND if legend else 0)
    made: Spec = {
        "height": inner + above + BELOW + below,
        "margin": {"l": 58, "r": 14, "t": above, "b": BELOW + below, "pad": 0},
        "showlegend": legend,
        "legend": {"orientation": "h", "x": 0, "y": 1 + TITLE / inner, "yanchor": "bottom", "xanchor": "left"},
        "hovermode": "closest",
        "dragmode": drag,
        "annotations": [],
        "shapes": list(shapes),
    }
    width = (1 - BESIDE * (columns - 1)) / columns
    for number, each in enumerate(subplots):
        row, column = divmod(number, columns)
        left, top = column * (width + BESIDE), 1 - row * (height + gap) / inner
        mark = axis_suffix(number)
        made[f"xaxis{mark}"] = {"domain": [left, left + width], "anchor": f"y{mark}"} | each.x
        made[f"yaxis{mark}"] = {"domain": [max(top - height / inner, 0.0), top], "anchor": f"x{mark}"} | each.y
        if each.title:
            made["annotations"].append(_title(each.title, left, top))
    return made


def axis_suffix(number: int) -> str:
    """Return what follows ``x`` and ``y`` in the names of a subplot's axes: nothing for the first, then 2, 3 ..."""
    return "" if number == 0 else str(number + 1)


def axes(number: int) -> Spec:
    """Return the axes of a subplot, as a trace names them."""
    return {"xaxis": f"x{axis_suffix(number)}", "yaxis": f"y{axis_suffix(number)}"}


def _title(text: str, left: float, top: float) -> Spec:
    return {
        "text": f"<b>{text}</b>", "x": left, "y": top, "xref": "paper", "yref": "paper", "xanchor": "left",
        "yanchor": "bottom", "yshift": 4, "showarrow": False,
    }  # fmt: skip


def axis(title: str, **more: Any) -> Spec:
    """Return an axis with its label."""
    return {"title": {"text": title}, **more}


def score_axis(title: str) -> Spec:
    """Return an axis of a score from 0 to 1."""
    return axis(title, range=[-0.02, 1.02])


def plain_numbers(values: npt.NDArray[Any] | Sequence[float]) -> list[float | None]:
    """Return numbers as JSON has them: six digits, since no screen shows more, and null if not finite."""
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values]


def faint(colour: str, strength: float) -> str:
    """Return a colour of the palette, see-through."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{strength:g})"


def stroke(look: Spec) -> Spec:
    """Return a look of `figures.style` as plotly writes it. Ink becomes grey, which light and dark pages both show."""
    colour, width = look["color"], WIDTH * look.get("linewidth", LINE) / LINE
    return {"color": QUIET if colour == INK else colour, "width": width, "dash": dashes(look.get("linestyle", "-"))}


def dashes(linestyle: str | tuple[int, tuple[float, ...]]) -> str:
    """Return dashes in pixels; matplotlib measures them in line widths."""
    return "solid" if isinstance(linestyle, str) else ",".join(f"{length * WIDTH:g}px" for length in linestyle[1])


def line_trace(
    subplot: int, name: str, x: Iterable[Any], y: Iterable[Any], look: Spec, hover: str, **more: Any
) -> Spec:
    """Return a line. Lines of one name share an entry of the legend and are switched on and off together."""
    return {
        "type": "scatter", "mode": "lines", "name": name, "legendgroup": name, "x": list(x), "y": list(y),
        "line": stroke(look), "hovertemplate": f"{hover}<extra></extra>", **axes(subplot), **more,
    }  # fmt: skip


def band_trace(subplot: int, name: str, x: FloatArray, low: FloatArray, high: FloatArray, colour: str) -> Spec:
    """Return the band from ``low`` to ``high`` at each ``x``; it shares the legend's entry of its name."""
    return {
        "type": "scatter", "mode": "lines", "name": name, "legendgroup": name, "showlegend": False,
        "x": plain_numbers(np.concatenate([x, x[::-1]])), "y": plain_numbers(np.concatenate([low, high[::-1]])),
        "fill": "toself", "fillcolor": faint(colour, 0.2), "line": {"width": 0}, "hoverinfo": "skip", **axes(subplot),
    }  # fmt: skip


def point_trace(
    subplot: int, name: str, x: Iterable[Any], y: Iterable[Any], marker: Spec, hover: str, **more: Any
) -> Spec:
    """Return single marks."""
    return {
        "type": "scatter", "mode": "markers", "name": name, "legendgroup": name, "x": list(x), "y": list(y),
        "marker": marker, "hovertemplate": f"{hover}<extra></extra>", **axes(subplot), **more,
    }  # fmt: skip
