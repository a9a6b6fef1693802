"""Mixes by dominant setting and share (Fig. 5 of the paper), to look into."""

from collections.abc import Sequence

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.figures.heatmaps import CELL_TITLES, SHORT_OUTSIDE, HeatMaps, percent
from halfmask.figures.interactive.layout import FigurePanel, Interactive, Spec, axes, axis, interactive
from halfmask.figures.interactive.marks import plain
from halfmask.figures.style import ink_on

# ColorBrewer's YlGnBu and YlOrBr: told apart by lightness alone.
SHADES = {
    "median": ("#ffffd9", "#c7e9b4", "#41b6c4", "#225ea8", "#081d58"),
    "iqr": ("#ffffe5", "#fee391", "#fe9929", "#cc4c02", "#662506"),
}


def heatmap_figure(data: HeatMaps, caption: str) -> Interactive:
    """Four maps with the numbers in their cells."""
    traces, panels = [], []
    for number, (name, title) in enumerate(CELL_TITLES.items()):
        traces += [_map(number, data, name, title), _numbers(number, data, name)]
        x = axis("dominant setting", type="category", showgrid=False, zeroline=False, ticks="")
        y = axis("its share of users", type="category", autorange="reversed", showgrid=False, ticks="")
        panels.append(FigurePanel(title, x, y))
    height = 40 + 30 * max(len(data.shares), 4)
    return interactive(caption, traces, panels, height=height, legend=False)


def _map(number: int, data: HeatMaps, name: str, title: str) -> Spec:
    colours = SHADES[name.rpartition("_")[2]]
    cells = _shaded(data, name)
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
        "zmin": float(np.nanmin(cells)),
        "zmax": float(np.nanmax(cells)),
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "hovertemplate": f"<b>%{{x}}</b> dominant with %{{y}} of users<br>{title.lower()} %{{text}}<br>"
        "%{customdata:,} mixes, repeats counted<extra></extra>",
        **axes(number),
    }


def _shaded(data: HeatMaps, name: str) -> FloatArray:
    """What cells are coloured by: those outside of the study's range as the largest."""
    return np.where(data.outside[name], np.nanmax(data.cells[name], initial=0.0), data.cells[name])


def _numbers(number: int, data: HeatMaps, name: str) -> Spec:
    """The cells' numbers, each in black or white as its cell needs: plotly's own grey is too pale on middle shades."""
    colours, cells = SHADES[name.rpartition("_")[2]], _shaded(data, name)
    low, high = np.nanmin(cells), np.nanmax(cells)
    shown = [(row, column) for row, column in np.ndindex(cells.shape) if np.isfinite(cells[row, column])]
    inks = [ink_on(_shade(float((cells[place] - low) / ((high - low) or 1.0)), colours)) for place in shown]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [data.settings[column] for _, column in shown],
        "y": [percent(float(data.shares[row])) for row, _ in shown],
        "text": [_words(float(data.cells[name][place]), bool(data.outside[name][place])) for place in shown],
        "textfont": {"color": inks},
        "hoverinfo": "skip",
        "showlegend": False,
        **axes(number),
    }


def _shade(place: float, colours: Sequence[str]) -> str:
    """The colour at a place from 0 to 1 of a scale, as plotly mixes it."""
    at = np.linspace(0, 1, len(colours))
    parts = ([int(each[k : k + 2], 16) for each in colours] for k in (1, 3, 5))
    return "#" + "".join(f"{round(float(np.interp(place, at, part))):02x}" for part in parts)


def _words(value: float, beyond: bool) -> str:
    """What stands in a cell; nothing where no mix falls."""
    return SHORT_OUTSIDE if beyond else f"{value:.2f}" if np.isfinite(value) else ""
