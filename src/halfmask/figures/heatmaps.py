"""Everyone chooses freely: privacy and utility by dominant setting and share (Fig. 5 of the paper)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray
from halfmask.choice.mix import Mix
from halfmask.figures.style import INK, ink_on, panels
from halfmask.menus.menu import Menu
from halfmask.menus.menu_scale import outside

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHORT_OUTSIDE = "outside"
CELL_TITLES = {
    "privacy_median": "Privacy: median",
    "privacy_iqr": "Privacy: interquartile range",
    "utility_median": "Utility: median",
    "utility_iqr": "Utility: interquartile range",
}


@dataclass(frozen=True, eq=False)
class HeatMaps:
    """Cells (dominant share, dominant setting) by the names in `CELL_TITLES`; NaN where no mix falls.

    ``shares`` descend from 100 %; ``settings`` are in order of utility, highest first; ``mixes`` counts rows a cell.
    ``outside``: cells of `CELL_TITLES` without a number, as their scores leave the study's range.
    """

    shares: FloatArray
    settings: list[str]
    cells: dict[str, FloatArray]
    mixes: IntArray
    outside: dict[str, npt.NDArray[np.bool_]]


def heatmap_data(mix: Mix, menu: Menu | None = None) -> HeatMaps:
    """Median and interquartile range over all mixes in which one setting has strictly the largest share."""
    table = mix.table
    utility = {each.id: each.utility.median for each in menu.settings} if menu else mix.about["utility"]
    order = sorted(utility, key=lambda name: (-utility[name], name))
    dominant = np.array(["" if name is None else name for name in table["dominant"].to_pylist()])
    share = np.round(table["dominant_share"].to_numpy(zero_copy_only=False).astype(float), 9)
    held = dominant != ""
    shares = np.unique(share[held])[::-1]
    names = [name for name in order if (dominant == name).any()]
    cells = {name: np.full((len(shares), len(names)), np.nan) for name in CELL_TITLES}
    mixes = np.zeros((len(shares), len(names)), np.int64)
    beyond = {name: np.zeros(mixes.shape, bool) for name in CELL_TITLES}
    values = {score: table[score].to_numpy() for score in ("privacy", "utility")}
    for column, id in enumerate(names):
        for row, level in enumerate(shares):
            found = (dominant == id) & (share == level)
            mixes[row, column] = found.sum()
            for score, all_values in values.items():
                if not found.any():
                    continue
                low, middle, high = quartiles = np.percentile(all_values[found], (25, 50, 75))
                for name, value in ((f"{score}_median", middle), (f"{score}_iqr", high - low)):
                    beyond[name][row, column] = outside(quartiles)
                    cells[name][row, column] = np.nan if outside(quartiles) else value
    return HeatMaps(shares, names, cells, mixes, beyond)


def draw_heatmaps(data: HeatMaps) -> "Figure":
    """Four maps with the numbers in their cells."""
    with panels(len(CELL_TITLES), height=0.75 + 0.3 * max(len(data.shares), 4)) as (figure, axes):
        for axis, (name, title) in zip(axes, CELL_TITLES.items(), strict=True):
            _draw_map(axis, data, name, "YlGnBu" if name.endswith("median") else "YlOrBr")
            axis.set_title(title)
            axis.set_xlabel("dominant setting (highest utility first)")
            axis.set_ylabel("its share of users")
    return figure


def _draw_map(axis: "Axes", data: HeatMaps, name: str, shades: str) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    cells = data.cells[name]
    shown = np.ma.masked_invalid(cells)
    mesh = axis.pcolormesh(shown, cmap=colormaps[shades], edgecolors="white", linewidth=0.8)
    axis.set_xticks(np.arange(len(data.settings)) + 0.5, [name.replace(" ", "\n") for name in data.settings])
    axis.set_yticks(np.arange(len(data.shares)) + 0.5, [percent(share) for share in data.shares])
    axis.invert_yaxis()
    axis.grid(visible=False)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    for row, column in np.argwhere(np.isfinite(cells)):
        axis.text(
            column + 0.5, row + 0.5, f"{cells[row, column]:.2f}", ha="center", va="center", fontsize=8.5,
            color=ink_on(to_hex(tuple(mesh.to_rgba(cells[row, column])))),
        )  # fmt: skip
    for row, column in np.argwhere(data.outside[name]):
        axis.text(column + 0.5, row + 0.5, SHORT_OUTSIDE, ha="center", va="center", fontsize=7.5, color=INK)


def percent(share: float) -> str:
    """A share as people write it: 100 %, 87.5 %."""
    return f"{share * 100:.4g} %"
