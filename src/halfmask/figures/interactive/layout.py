"""How interactive figures are laid out: panels in a grid, twice, for wide pages and for phones.

A specification has no ink and no paper: the page adds its own text and grid colours, for light and for dark.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Spec = dict[str, Any]

TOP, LEGEND, TITLE, BELOW = 12, 34, 26, 52
"""Pixels: above a panel without a title, of the legend, of a panel's title, of ticks and label under a panel."""
BESIDE = 0.105
"""Share of the width between two panels: room for ticks and a label."""


@dataclass(frozen=True)
class FigurePanel:
    """One panel: its title and what is particular to its axes."""

    title: str
    x: Spec = field(default_factory=dict)
    y: Spec = field(default_factory=dict)


@dataclass(frozen=True)
class Interactive:
    """A figure to look into: traces, and a layout for wide pages and one for phones that serve the same traces.

    Its name and title are the registry's.
    """

    caption: str
    traces: list[Spec]
    wide: Spec
    narrow: Spec
    name: str = ""
    title: str = ""

    def json(self) -> Spec:
        """Plain data, as a page takes it."""
        return dict(vars(self))

    def figure(self) -> Spec:
        """What ``plotly.graph_objects.Figure`` takes."""
        return {"data": self.traces, "layout": self.wide}


def interactive(caption: str, traces: list[Spec], panels: Sequence[FigurePanel], **more: Any) -> Interactive:
    """A figure of panels; see `layout` for the rest."""
    return Interactive(caption, traces, layout(panels, columns=2, **more), layout(panels, columns=1, **more))


def layout(
    panels: Sequence[FigurePanel], *, columns: int, height: int = 250, legend: bool = True, below: int = 0,
    shapes: Sequence[Spec] = (),
) -> Spec:  # fmt: skip
    """Panels of so many pixels in rows of at most ``columns``, ``below`` pixels spare at the bottom."""
    drag = "zoom" if columns > 1 else False  # on a phone a finger scrolls the page
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    gap = TITLE + BELOW
    inner = rows * height + (rows - 1) * gap
    above = (TITLE if any(panel.title for panel in panels) else TOP) + (LEGEND if legend else 0)
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
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        left, top = column * (width + BESIDE), 1 - row * (height + gap) / inner
        mark = place(number)
        made[f"xaxis{mark}"] = {"domain": [left, left + width], "anchor": f"y{mark}"} | panel.x
        made[f"yaxis{mark}"] = {"domain": [max(top - height / inner, 0.0), top], "anchor": f"x{mark}"} | panel.y
        if panel.title:
            made["annotations"].append(_title(panel.title, left, top))
    return made


def place(number: int) -> str:
    """What follows ``x`` and ``y`` in the names of a panel's axes: nothing for the first, then 2, 3 ..."""
    return "" if number == 0 else str(number + 1)


def axes(number: int) -> Spec:
    """The axes of a panel, as a trace names them."""
    return {"xaxis": f"x{place(number)}", "yaxis": f"y{place(number)}"}


def _title(text: str, left: float, top: float) -> Spec:
    return {
        "text": f"<b>{text}</b>", "x": left, "y": top, "xref": "paper", "yref": "paper", "xanchor": "left",
        "yanchor": "bottom", "yshift": 4, "showarrow": False,
    }  # fmt: skip


def axis(title: str, **more: Any) -> Spec:
    """An axis with its label."""
    return {"title": {"text": title}, **more}


def score_axis(title: str) -> Spec:
    """An axis of a score from 0 to 1."""
    return axis(title, range=[-0.02, 1.02])
