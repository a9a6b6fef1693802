"""The algorithm on one's own data (Fig. 1 of the paper), to look into: its four steps in one panel."""

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.figures.algorithm import Algorithm
from halfmask.figures.interactive.layout import FigurePanel, Interactive, Spec, axis, interactive, score_axis
from halfmask.figures.interactive.marks import MENU_COLOUR, line, mechanism_of, plain, points
from halfmask.figures.style import QUIET, looks
from halfmask.figures.trajectories import NEAR

CORNERS = 40
NEAR_EDGE = 0.7
HEIGHT, SCALE = 400, 84
"""Pixels: of the panel, and from it down to the scale of the fitness."""
SCALE_LABEL: Spec = {
    "text": "fitness: median of utility + its 10th percentile", "x": 0, "y": 0, "xref": "paper", "yref": "paper",
    "xanchor": "left", "yanchor": "top", "yshift": 22 - SCALE, "showarrow": False, "font": {"size": 12.5},
}  # fmt: skip
CIVIDIS = ("#00224e", "#2a3f6d", "#575d6d", "#7d7c78", "#a59c74", "#d2c060", "#fee838")
HOVER = (
    "<b>%{customdata[0]}</b><br>privacy %{x:.3f}, 10th percentile %{customdata[1]:.3f}<br>"
    "utility %{y:.3f}, 10th percentile %{customdata[2]:.3f}<br>fitness %{customdata[3]:.3f}<br>%{customdata[4]}"
)


def algorithm_figure(data: Algorithm, caption: str) -> Interactive:
    """Ellipses and centres by mechanism, the centre's shade its fitness; bins as dotted lines; winners by letter."""
    names = sorted({mechanism_of(text) for text in data.settings})
    of = np.array([mechanism_of(text) for text in data.settings])
    traces = []
    for name in names:
        rows = np.flatnonzero(of == name)
        x, y = _outlines(data, rows)
        traces.append(line(0, name, x, y, looks(names)[name] | {"linestyle": "-"}, "", hoverinfo="skip"))
        traces[-1]["line"]["width"] = 1.2
        traces.append(_centres(data, name, rows, first=name == names[0]))
    traces.append(_winners(data))
    low = max(0.0, float((data.utility - data.height).min(initial=1)))
    utility = axis("utility", range=[low - 0.04 * (1 - low), 1 + 0.1 * (1 - low)])
    bins: list[Spec] = [
        {"type": "line", "xref": "x", "yref": "y domain", "x0": edge, "x1": edge, "y0": 0, "y1": 1,
         "layer": "below", "line": {"color": QUIET, "width": 1.2, "dash": "dot"}}
        for edge in data.edges.tolist()
    ]  # fmt: skip
    panel = FigurePanel("", score_axis("privacy") | {"showgrid": False}, utility)
    made = interactive(caption, traces, [panel], height=HEIGHT, below=62, shapes=bins)
    for layout in (made.wide, made.narrow):
        layout["annotations"].append(SCALE_LABEL)
    return made


def _outlines(data: Algorithm, rows: IntArray) -> tuple[list[float | None], ...]:
    """Ellipses as one broken line; a small one still has some area to be seen, as in the drawn figure."""
    angle = np.linspace(0, 2 * np.pi, CORNERS)
    width, height = np.maximum(data.width, 0.008), np.maximum(data.height, 0.009)
    x, y = (
        np.concatenate([centre[rows, None] + half[rows, None] * turn, np.full((len(rows), 1), np.nan)], axis=1)
        for centre, half, turn in ((data.privacy, width, np.cos(angle)), (data.utility, height, np.sin(angle)))
    )
    return plain(x.ravel()), plain(y.ravel())


def _centres(data: Algorithm, name: str, rows: IntArray, *, first: bool) -> Spec:
    fitness: FloatArray = data.fitness[rows]
    scale = {
        "orientation": "h", "thickness": 9, "len": 1, "x": 0, "xanchor": "left", "y": -SCALE / HEIGHT, "yanchor": "top",
        "outlinewidth": 0,
    }  # fmt: skip
    marker = {
        "color": plain(fitness), "colorscale": _steps(CIVIDIS), "size": 8, "line": {"width": 1, "color": QUIET},
        "cmin": float(data.fitness.min(initial=2)), "cmax": float(data.fitness.max(initial=0)), "showscale": first,
    }  # fmt: skip
    told = [
        [
            data.settings[row],
            float(data.privacy[row] - data.width[row]),
            float(data.utility[row] - data.height[row]),
            float(data.fitness[row]),
            "admissible" if data.admissible[row] else f"not admissible: privacy disperses by {data.width[row]:.2f}",
        ]
        for row in rows.tolist()
    ]
    made = points(0, name, plain(data.privacy[rows]), plain(data.utility[rows]), marker, HOVER)
    made |= {"customdata": told, "showlegend": False}
    if first:
        marker["colorbar"] = scale
    return made


def _winners(data: Algorithm) -> Spec:
    places = list(data.winners.values())
    marker = {"symbol": "circle-open", "size": 17, "color": MENU_COLOUR, "line": {"width": 3}}
    told = [[name, data.settings[place]] for name, place in data.winners.items()]
    hover = "<b>%{customdata[0]}</b>, %{customdata[1]}<br>privacy %{x:.3f}, utility %{y:.3f}<br>the best of its bin"
    sides = [_side(data, place, before) for before, place in zip([None, *places], places, strict=False)]
    made = points(0, "winners", plain(data.privacy[places]), plain(data.utility[places]), marker, hover)
    return made | {
        "mode": "markers+text", "text": [f"<b>{name}</b>" for name in data.winners], "textposition": sides,
        "textfont": {"size": 12}, "customdata": told,
    }  # fmt: skip


def _side(data: Algorithm, place: int, before: int | None) -> str:
    """Where a name has room: below where the one before it stands as high, and not beyond the edge."""
    level = before is not None and abs(data.utility[place] - data.utility[before]) < NEAR
    return f"{'bottom' if level else 'top'} {'right' if data.privacy[place] < NEAR_EDGE else 'center'}"


def _steps(colours: tuple[str, ...]) -> list[list[float | str]]:
    return [[place / (len(colours) - 1), colour] for place, colour in enumerate(colours)]
