"""Mixes by dominant setting and share (Fig. 5 of the paper), to look into."""

import numpy as np

from halfmask.figures.heatmaps import CELL_TITLES, SHORT_OUTSIDE, HeatMaps, percent
from halfmask.figures.interactive.layout import FigurePanel, Interactive, Spec, axes, axis, interactive
from halfmask.figures.interactive.marks import plain

# ColorBrewer's YlGnBu and YlOrBr: told apart by lightness alone.
SHADES = {
    "median": ("#ffffd9", "#c7e9b4", "#41b6c4", "#225ea8", "#081d58"),
    "iqr": ("#ffffe5", "#fee391", "#fe9929", "#cc4c02", "#662506"),
}


def heatmap_figure(data: HeatMaps, caption: str) -> Interactive:
    """Four maps with the numbers in their cells."""
    traces, panels = [], []
    for number, (name, title) in enumerate(CELL_TITLES.items()):
        traces.append(_map(number, data, name, title))
        x = axis("dominant setting", type="category", showgrid=False, zeroline=False, ticks="")
        y = axis("its share of users", type="category", autorange="reversed", showgrid=False, ticks="")
        panels.append(FigurePanel(title, x, y))
    height = 40 + 30 * max(len(data.shares), 4)
    return interactive(caption, traces, panels, height=height, legend=False)


def _map(number: int, data: HeatMaps, name: str, title: str) -> Spec:
    colours = SHADES[name.rpartition("_")[2]]
    cells = np.where(data.outside[name], np.nanmax(data.cells[name], initial=0.0), data.cells[name])
    return {
        "type": "heatmap",
        "name": title,
        "x": data.settings,
        "y": [percent(share) for share in data.shares],
        "z": [plain(row) for row in cells],
        "text": [list(map(_words, *row)) for row in zip(data.cells[name], data.outside[name], strict=True)],
        "customdata": data.mixes.tolist(),
        "colorscale": [[place / (len(colours) - 1), colour] for place, colour in enumerate(colours)],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "texttemplate": "%{text}",
        "hovertemplate": f"<b>%{{x}}</b> dominant with %{{y}} of users<br>{title.lower()} %{{text}}<br>"
        "%{customdata:,} mixes, repeats counted<extra></extra>",
        **axes(number),
    }


def _words(value: float, beyond: bool) -> str:
    """What stands in a cell; nothing where no mix falls."""
    return SHORT_OUTSIDE if beyond else f"{value:.2f}" if np.isfinite(value) else ""
