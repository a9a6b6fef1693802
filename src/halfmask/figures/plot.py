"""The declaration of a figure: subplots of lines, points and bands. Matplotlib draws them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from halfmask.figures.style import INK, PANEL, QUIET, Axes, Figure, ink_on, legend_above, short_number, subplots

Shape = Literal["line", "points", "both", "bars", "rows"]
Ends = tuple[Any, Any]
SIDES = {
    "right": (5, "left"),
    "left": (-5, "right"),
    "center": (0, "center"),
    "top": (6, ""),
    "bottom": (-14, ""),
    "middle": (-3, ""),
}
"""For each side of a point: by how much a text is moved, and how it is aligned."""


@dataclass(frozen=True)
class PlotAxis:
    """An axis. ``limits`` and ``ticks`` are in the axis' units.

    ``whole``  draw ticks only at integers
    """

    title: str
    log: bool = False
    limits: tuple[float | None, float | None] | None = None
    ticks: Mapping[Any, str] | None = None
    whole: bool = False

    def draw(self, axes: Axes, which: Literal["x", "y"]) -> None:
        """Apply the settings to an axis of matplotlib."""
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


@dataclass(frozen=True)
class Mark:
    """A line, points, both, or bars of width ``size``: upright, or as rows.

    ``look``                colour, dashes and width, as `style.line_style` returns them
    ``around``              lower and upper end of a band
    ``reach_x``, ``reach_y``  lower and upper end of a range at each point
    ``texts``, ``sides``    a text for each point, and its side, such as "top right"
    ``label``               name in the legend, if it differs; "" leaves it out
    """

    name: str
    x: Any
    y: Any
    look: Mapping[str, Any]
    shape: Shape = "line"
    around: Ends | None = None
    reach_x: Ends | None = None
    reach_y: Ends | None = None
    texts: Sequence[str] = ()
    sides: Sequence[str] = ()
    label: str | None = None
    marker: str = "o"
    size: float = 5

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
        """Return the colour of a text, which may be inside a bar."""
        return ink_on(self.look["color"]) if self.shape == "rows" and side == "middle left" else INK


@dataclass(frozen=True)
class Subplot:
    """Marks over two axes.

    ``level``   position of a grey horizontal line, or None
    ``legend``  position of the legend as matplotlib names it, or "above" the subplot; "" for none
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
    """A figure: its subplots, their height in inches, and shared axes."""

    subplots: Sequence[Subplot]
    inches: float = PANEL[1]
    share: str = ""

    def draw(self) -> Figure:
        """Draw the figure with matplotlib."""
        drawing = subplots(len(self.subplots), self.inches, self.share)
        with np.errstate(over="ignore", invalid="ignore"), drawing as (figure, all_axes):
            for axes, each in zip(all_axes, self.subplots, strict=True):
                each.draw(axes)
        return figure


def score_scale(title: str) -> PlotAxis:
    """Return an axis of a score from 0 to 1."""
    return PlotAxis(title, limits=(-0.02, 1.02))
