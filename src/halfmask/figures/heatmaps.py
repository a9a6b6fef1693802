"""Privacy and utility if users choose freely, by dominant setting and its share (Fig. 5 of the paper)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray
from halfmask.choice.mix import SCORES, Mix, by_dominant
from halfmask.figures.style import Axes, Figure, ink_on, subplots
from halfmask.figures.wording import percents
from halfmask.menus.menu import Menu
from halfmask.menus.menu_scale import OUTSIDE, outside

SHORT_OUTSIDE = "outside"
CELL_TITLES = {
    "privacy_median": "Privacy: median",
    "privacy_iqr": "Privacy: interquartile range",
    "utility_median": "Utility: median",
    "utility_iqr": "Utility: interquartile range",
}


# ColorBrewer's YlGnBu and YlOrBr, whose colours differ in lightness.
SHADES = {
    "median": ("#ffffd9", "#c7e9b4", "#41b6c4", "#225ea8", "#081d58"),
    "iqr": ("#ffffe5", "#fee391", "#fe9929", "#cc4c02", "#662506"),
}


@dataclass(frozen=True, eq=False)
class HeatMaps:
    """Cells (dominant share, dominant setting) by the names in `CELL_TITLES`; NaN without a mix.

    ``shares``    descending from 100 %
    ``settings``  in descending order of utility
    ``mixes``     number of mixes per cell
    ``outside``   cells without a number, because their scores are outside the study's range
    """

    shares: FloatArray
    settings: list[str]
    cells: dict[str, FloatArray]
    mixes: IntArray
    outside: dict[str, npt.NDArray[np.bool_]]


def heatmap_data(mix: Mix, menu: Menu | None = None) -> HeatMaps:
    """Return median and interquartile range over all mixes in which one setting has strictly the largest share."""
    utility = {each.id: each.utility.median for each in menu.settings} if menu else mix.about["utility"]
    held = [each for each in by_dominant(mix) if each.id in utility]
    shares = sorted({each.share for each in held}, reverse=True)
    names = sorted({each.id for each in held}, key=lambda name: (-utility[name], name))
    cells = {name: np.full((len(shares), len(names)), np.nan) for name in CELL_TITLES}
    mixes = np.zeros((len(shares), len(names)), np.int64)
    beyond = {name: np.zeros(mixes.shape, bool) for name in CELL_TITLES}
    for each in held:
        place = shares.index(each.share), names.index(each.id)
        mixes[place] = each.rows
        for score in SCORES:
            low, middle, high = quartiles = getattr(each, score)
            for name, value in ((f"{score}_median", middle), (f"{score}_iqr", high - low)):
                beyond[name][place] = outside(quartiles)
                cells[name][place] = np.nan if outside(quartiles) else value
    return HeatMaps(np.array(shares), names, cells, mixes, beyond)


def draw_heatmaps(data: HeatMaps) -> Figure:
    """Draw four maps with the numbers in their cells."""
    with subplots(len(CELL_TITLES), height=0.75 + 0.3 * max(len(data.shares), 4)) as (figure, all_axes):
        for axes_, (name, title) in zip(all_axes, CELL_TITLES.items(), strict=True):
            _draw_map(axes_, data, name)
            axes_.set_title(title)
            axes_.set_xlabel("dominant setting (highest utility first)")
            axes_.set_ylabel("its share of users")
    return figure


def _draw_map(axis: Axes, data: HeatMaps, name: str) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list(name, _shades(name))
    axis.pcolormesh(np.ma.masked_invalid(_shaded(data, name)), cmap=shades, edgecolors="white", linewidth=0.8)
    axis.set_xticks(np.arange(len(data.settings)) + 0.5, [name.replace(" ", "\n") for name in data.settings])
    axis.set_yticks(np.arange(len(data.shares)) + 0.5, [percents(share) for share in data.shares])
    axis.invert_yaxis()
    axis.grid(visible=False)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    for row, column, text, ink in _labels(data, name):
        size = 7.5 if text == SHORT_OUTSIDE else 8.5
        axis.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=size, color=ink)


def heatmap_caption(data: HeatMaps) -> str:
    """Return the caption of Fig. 5."""
    spread, utility, dip = (data.cells[name] for name in ("privacy_iqr", "utility_median", "utility_iqr"))
    text = (
        "Users choose freely from the menu. A column holds the mixes in which one setting has strictly the most users, "
        f"a row the share that it has, from {percents(data.shares[0])} down to {percents(data.shares[-1])}; the "
        f"numbers are over {int(data.mixes.sum()):,} such mixes, repeats counted."
    )
    if any(cells.any() for cells in data.outside.values()):
        text += (
            f" “{SHORT_OUTSIDE}”: {OUTSIDE}, as errors exceed the largest that were tried; such mixes have no score."
        )
    if np.isnan(spread).all() or np.isnan(utility).all():
        return text
    most, least = math.ceil(100 * np.nanmax(spread) - 1e-9) / 100, math.floor(100 * np.nanmin(utility - dip)) / 100
    return (
        f"{text} What to see: privacy follows the dominant setting and differs between mixes by an interquartile range "
        f"of up to {most:.2f}; median utility less its interquartile range is nowhere below {max(least, 0.0):.2f}."
    )


def _shades(name: str) -> Sequence[str]:
    return SHADES[name.rpartition("_")[2]]


def _shaded(data: HeatMaps, name: str) -> FloatArray:
    """Return the numbers by which cells are coloured. Cells outside the study's range count as the largest."""
    return np.where(data.outside[name], np.nanmax(data.cells[name], initial=0.0), data.cells[name])


def _labels(data: HeatMaps, name: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield row, column, text and text colour of each cell with a mix.

    The text is black or white, whichever is readable on the cell's colour.
    """
    cells = _shaded(data, name)
    low, high = np.nanmin(cells, initial=np.inf), np.nanmax(cells, initial=0.0)
    for row, column in np.argwhere(np.isfinite(cells)).tolist():
        text = SHORT_OUTSIDE if data.outside[name][row, column] else f"{cells[row, column]:.2f}"
        yield (
            row,
            column,
            text,
            ink_on(_shade(float((cells[row, column] - low) / ((high - low) or 1.0)), _shades(name))),
        )


def _shade(place: float, colours: Sequence[str]) -> str:
    """Return the colour at a position from 0 to 1 of a colour scale."""
    at = np.linspace(0, 1, len(colours))
    parts = ([int(each[k : k + 2], 16) for each in colours] for k in (1, 3, 5))
    return "#" + "".join(f"{round(float(np.interp(place, at, part))):02x}" for part in parts)
