"""The declaration of a figure: subplots of lines, points and bands, for matplotlib and for plotly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from halfmask.figures.interactive import (
    Interactive,
    Spec,
    SubplotSpec,
    axis,
    axis_suffix,
    band_trace,
    interactive,
    line_trace,
    plain_numbers,
)
from halfmask.figures.style import INK, PANEL, QUIET, Axes, Figure, ink_on, legend_above, short_number, subplots

Shape = Literal["line", "points", "both", "bars", "rows"]
Ends = tuple[Any, Any]
SYMBOLS = {"o": "circle", "s": "square-open", "^": "triangle-up-open", "D": "diamond-open"}
"""Markers by matplotlib's letter, as plotly calls them; open ones are not filled."""
SIDES = {
    "right": (5, "left"),
    "left": (-5, "right"),
    "center": (0, "center"),
    "top": (6, ""),
    "bottom": (-14, ""),
    "middle": (-3, ""),
}
"""The side of a point that a text is on: how far it is moved, and which end of it is fixed."""


@dataclass(frozen=True)
class PlotAxis:
    """An axis. ``limits`` and ``ticks`` are in the axis' own numbers; ``more`` is only for plotly.

    ``whole``: ticks are drawn only at whole numbers.
    """

    title: str
    log: bool = False
    limits: tuple[float | None, float | None] | None = None
    ticks: Mapping[Any, str] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    whole: bool = False

    def draw(self, axes: Axes, which: Literal["x", "y"]) -> None:
        """Set up an axis of matplotlib."""
        axes.set(**{f"{which}label": self.title, f"{which}scale": "log" if self.log else "linear"})
        axis = axes.xaxis if which == "x" else axes.yaxis
        if self.ticks:
            axis.set_ticks(list(self.ticks), list(self.ticks.values()))
        else:
            axis.set_major_formatter(short_number)
        if not self.ticks and not self.log:
            axes.locator_params(axis=which, nbins=6, integer=self.whole)
        axis.minorticks_off()
        axes.set(**{f"{which}lim": self.limits})

    def spec(self) -> Spec:
        """Return the axis as plotly specifies axes."""
        made = axis(self.title) | ({"type": "log"} if self.log else {})
        if self.ticks:
            made |= {"tickvals": list(self.ticks), "ticktext": list(self.ticks.values())}
        if self.limits:
            ends = [float(np.log10(end)) if self.log and end is not None else end for end in self.limits]
            made |= {"rangemode": "tozero"} if self.limits == (0, None) else {"range": ends}
        return made | dict(self.more)


@dataclass(frozen=True)
class Mark:
    """A line, single points, or both; or bars ``size`` wide: upright, or as rows.

    ``look``    colour, dashes and width, as `style.look` has them
    ``hover``   plotly's template of the text shown on hovering; ``told`` is its customdata, one entry per point
    ``around``  the lower and the upper end of a band
    ``reach_x``, ``reach_y``  the lower and the upper end of a range at each point
    ``texts``   a text for each point, placed at its side, such as "top right"
    ``label``   the name in the drawn legend, if it differs; "" leaves it out
    ``drawn``   whether matplotlib draws it too
    """

    name: str
    x: Any
    y: Any
    look: Spec
    hover: str = ""
    told: Sequence[Any] | None = None
    shape: Shape = "line"
    around: Ends | None = None
    reach_x: Ends | None = None
    reach_y: Ends | None = None
    texts: Sequence[str] = ()
    sides: Sequence[str] = ()
    label: str | None = None
    marker: str = "o"
    size: float = 5
    drawn: bool = True

    def draw(self, axes: Axes) -> None:
        """Draw the mark with matplotlib."""
        how = {"label": (self.name if self.label is None else self.label) or "_", **self.look}
        if self.around:
            axes.fill_between(self.x, *self.around, color=self.look["color"], alpha=0.2, linewidth=0)
        for ranges, reach, at in ((axes.hlines, self.reach_x, self.y), (axes.vlines, self.reach_y, self.x)):
            if reach:
                ranges(at, *reach, color=self.look["color"], linewidth=1.2)
        if self.shape != "line":
            how |= {"marker": self.marker, "markersize": self.size, "markeredgewidth": 1.4}
            how |= {} if self.marker == "o" else {"markerfacecolor": "none"}
        if self.shape == "points":
            how["linestyle"] = ""
        if self.shape == "bars":
            axes.bar(self.x, self.y, self.size, color=self.look["color"])
        elif self.shape == "rows":
            axes.barh(self.y, self.x, self.size, color=self.look["color"])
        else:
            axes.plot(self.x, self.y, **how)
        for text, side, *at in zip(self.texts, self.sides, self.x, self.y, strict=True) if self.texts else ():
            (up, _), (along, end) = (SIDES[each] for each in side.split())
            axes.annotate(
                text,
                (at[0], at[1]),
                (along, up),
                textcoords="offset points",
                ha=end,
                fontweight="bold",
                fontsize=9,
                color=self._ink(side),
            )

    def _ink(self, side: str) -> str:
        """Return the colour of a text, which may lie in a bar."""
        return ink_on(self.look["color"]) if self.shape == "rows" and side == "middle left" else INK

    def traces(self, subplot: int, *, listed: bool) -> list[Spec]:
        """Return the mark's traces for plotly; ``listed`` says whether the legend lists it."""
        mode = {"line": "lines", "points": "markers", "both": "lines+markers"}.get(self.shape, "")
        dates = np.asarray(self.x).dtype.kind == "M"
        x = np.asarray(self.x).astype(str).tolist() if dates else plain_numbers(self.x)
        made = line_trace(subplot, self.name, x, plain_numbers(self.y), self.look, self.hover, showlegend=listed)
        made["mode"] = mode + "+text" * bool(self.texts)
        if not self.hover:
            made["hoverinfo"] = "skip"
        if self.told is not None:
            made["customdata"] = list(self.told)
        if self.shape in ("bars", "rows"):
            made = {name: made[name] for name in made if name not in ("mode", "line")}
            made |= {"type": "bar", "width": self.size, "marker": {"color": self.look["color"]}}
            made |= {"orientation": "h" if self.shape == "rows" else "v", "constraintext": "none", "cliponaxis": False}
        elif self.shape != "line":
            made["marker"] = {"symbol": SYMBOLS[self.marker], "size": 1.5 * self.size, "color": self.look["color"]}
            made["marker"] |= {"line": {"width": 2}} if self.marker != "o" else {}
        if self.texts:
            made |= {"text": [f"<b>{each}</b>" if each else "" for each in self.texts]}
            made |= {"textposition": list(self.sides)}
        if self.shape == "rows":
            made["insidetextfont"] = {"color": self._ink("middle left")}
            made["textposition"] = ["inside" if side == "middle left" else "outside" for side in self.sides]
        for name, reach, middle in (("error_x", self.reach_x, self.x), ("error_y", self.reach_y, self.y)):
            if reach:
                low, high = (np.asarray(end, float) for end in reach)
                made[name] = {
                    "type": "data", "symmetric": False, "thickness": 1.2,
                    "array": plain_numbers(high - np.asarray(middle)),
                    "arrayminus": plain_numbers(np.asarray(middle) - low), "width": 0, "color": self.look["color"],
                }  # fmt: skip
        return (
            [band_trace(subplot, self.name, self.x, *self.around, self.look["color"]), made] if self.around else [made]
        )


@dataclass(frozen=True)
class Subplot:
    """Marks over two axes, and a grey horizontal line at ``level``, if that is set.

    ``legend`` is the place of the drawn legend, as matplotlib names places, or "above" the subplot; "" draws none.
    """

    title: str
    x: PlotAxis
    y: PlotAxis
    marks: Sequence[Mark]
    level: float | None = None
    legend: Any = "above"
    columns: int = 0
    heading: str = ""

    def draw(self, axes: Axes) -> None:
        """Draw the subplot with matplotlib."""
        if self.level is not None:
            axes.axhline(self.level, color=QUIET, linewidth=1)
        for mark in self.marks:
            if mark.drawn:
                mark.draw(axes)
        self.x.draw(axes, "x")
        self.y.draw(axes, "y")
        if self.legend == "above":
            legend_above(axes, self.title or self.heading, self.columns or 8)
        else:
            axes.set_title(self.title)
            if self.legend:
                axes.legend(title=self.heading, loc=self.legend, ncols=self.columns or 1)


@dataclass(frozen=True)
class Plot:
    """A figure: its subplots, their height (``inches`` if drawn, ``pixels`` if interactive), and shared axes."""

    subplots: Sequence[Subplot]
    inches: float = PANEL[1]
    pixels: int = 290
    share: str = ""

    def draw(self) -> Figure:
        """Draw the figure with matplotlib."""
        drawing = subplots(len(self.subplots), self.inches, self.share)
        with np.errstate(over="ignore", invalid="ignore"), drawing as (figure, all_axes):
            for axes, each in zip(all_axes, self.subplots, strict=True):
                each.draw(axes)
        return figure

    def interactive(self, caption: str) -> Interactive:
        """Return the figure for plotly. The legend lists the first drawn mark of each name."""
        marks = [(number, mark) for number, each in enumerate(self.subplots) for mark in each.marks]
        first = {mark.name: (number, mark) for number, mark in reversed(marks) if mark.name and mark.drawn}
        traces = [
            trace
            for number, mark in marks
            for trace in mark.traces(
                number, listed=first.get(mark.name, (-1, None))[0] == number and first[mark.name][1] is mark
            )
        ]
        levels = [
            {
                "type": "line",
                "xref": f"x{axis_suffix(number)} domain",
                "yref": f"y{axis_suffix(number)}",
                "x0": 0,
                "x1": 1,
            }
            | {"y0": each.level, "y1": each.level, "line": {"color": QUIET, "width": 1}}
            for number, each in enumerate(self.subplots)
            if each.level is not None
        ]
        axes = [SubplotSpec(each.title, each.x.spec(), each.y.spec()) for each in self.subplots]
        return interactive(caption, traces, axes, height=self.pixels, shapes=levels, legend=bool(first))


def score_scale(title: str) -> PlotAxis:
    """Return an axis of a score from 0 to 1."""
    return PlotAxis(title, limits=(-0.02, 1.02))
