"""Utility over privacy: median line and range from least to most (Fig. 4 of the paper), and over the users."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray
from halfmask.figures.menu_samples import MenuSamples
from halfmask.figures.study_samples import Samples
from halfmask.figures.style import PALETTE, look, looks, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEP = 0.01
RARE = 0.001
NEAR = 0.04


@dataclass(frozen=True, eq=False)
class Band:
    """Median, least and most of utility at each place ``at``: a privacy, or a number of users."""

    at: FloatArray
    median: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Trajectories:
    """Bands by mechanism, and through the menu's settings, over all sizes and over the large ones (named in words).

    A menu's band has one place a setting, its median privacy; ``spread`` is the least and the most privacy of each.
    """

    mechanisms: dict[str, Band]
    menu: "MenuBand | None"
    large_mechanisms: dict[str, Band]
    large_menu: "MenuBand | None"
    large: str


@dataclass(frozen=True, eq=False)
class MenuBand:
    """The band through a menu's settings in order of privacy."""

    ids: list[str]
    band: Band
    spread: FloatArray


def trajectory_data(samples: Samples, menu: MenuSamples | None) -> Trajectories:
    """Everything that Fig. 4 draws; parts that need a menu, or samples of several sizes, are empty without."""
    every = np.ones(len(samples.users), bool)
    if not samples.sized:
        return Trajectories(_by_mechanism(samples, every), None, {}, None, "")
    large, words = samples.large()
    whole = _by_mechanism(samples, every), menu_band(menu, every) if menu else None
    if large.all():
        return Trajectories(*whole, {}, None, "")
    return Trajectories(*whole, _by_mechanism(samples, large), menu_band(menu, large) if menu else None, words)


def band_over_privacy(privacy: FloatArray, utility: FloatArray, step: float = STEP) -> Band:
    """Median and range of utility in steps of privacy, each placed at the middle of its step.

    Steps with fewer than one in a thousand of the samples are left out: their median is of a few odd samples.
    """
    place = np.floor(privacy / step + 1e-9)
    counts = np.bincount(place.astype(int))
    enough = counts[place.astype(int)] >= RARE * len(place)
    return _band((place[enough] + 0.5) * step, utility[enough])


def menu_band(menu: MenuSamples, chosen: npt.NDArray[np.bool_]) -> MenuBand:
    """Median and range of utility of each setting, in order of median privacy."""
    privacy, utility = menu.privacy[:, chosen], menu.utility[:, chosen]
    at = np.median(privacy, axis=1)
    order = np.lexsort((-np.median(utility, axis=1), at))
    band = Band(at[order], np.median(utility, axis=1)[order], utility.min(axis=1)[order], utility.max(axis=1)[order])
    return MenuBand(
        [menu.ids[row] for row in order], band, np.stack([privacy.min(axis=1), privacy.max(axis=1)])[:, order]
    )


def users_data(menu: MenuSamples) -> dict[str, Band]:
    """Utility of each menu setting against the number of users."""
    return {
        name: _band(menu.users.astype(float), menu.utility[row])
        for row, name in enumerate(menu.ids)
    }  # fmt: skip


def _by_mechanism(samples: Samples, chosen: npt.NDArray[np.bool_]) -> dict[str, Band]:
    bands = {}
    for name in samples.names():
        rows = np.flatnonzero(samples.kept & (samples.mechanisms == name))
        if len(rows) and chosen.any():
            part = np.ix_(rows, np.flatnonzero(chosen))
            bands[name] = band_over_privacy(samples.privacy[part].ravel(), samples.utility[part].ravel())
    return bands


def _band(at: FloatArray, values: FloatArray) -> Band:
    """Median and range of the values at each distinct place."""
    order = np.lexsort((values, at))
    at, values = at[order], values[order]
    starts = np.flatnonzero(np.concatenate([[True], at[1:] != at[:-1]]))
    ends: IntArray = np.concatenate([starts[1:], [len(at)]]) - 1
    median = (values[(starts + ends) // 2] + values[(starts + ends + 1) // 2]) / 2
    return Band(at[starts], median, values[starts], values[ends])


def draw_trajectories(data: Trajectories) -> "Figure":
    """Mechanisms and menu, for all sizes and for the large ones."""
    drawn: list[tuple[str, dict[str, Band] | MenuBand | None]] = [
        ("By mechanism, all sizes", data.mechanisms),
        ("The menu, all sizes", data.menu),
        (f"By mechanism, {data.large}", data.large_mechanisms),
        (f"The menu, {data.large}", data.large_menu),
    ]
    shown = [(title, bands) for title, bands in drawn if bands]
    with panels(len(shown), share="xy") as (figure, axes):
        for axis, (title, bands) in zip(axes, shown, strict=True):
            if isinstance(bands, MenuBand):
                _draw_menu(axis, bands)
            elif bands:
                for name, band in bands.items():
                    _draw_band(axis, band, name, looks(list(bands))[name])
                axis.legend(loc="lower left")
            axis.set(title=title, xlim=(-0.02, 1.02), xlabel="privacy", ylabel="utility")
            axis.margins(y=0.12)
    return figure


def draw_users(data: dict[str, Band]) -> "Figure":
    """One panel: as more people share, totals get better."""
    with panels(1, height=3.6) as (figure, (axis,)):
        styles = _menu_looks(data)
        for name, band in data.items():
            axis.plot(band.at, band.median, marker="o", markersize=3.5, **styles[name])
            axis.fill_between(band.at, band.low, band.high, color=styles[name]["color"], alpha=0.18, linewidth=0)
        axis.set(xscale="log", xlabel="number of users", ylabel="utility")
        _users_ticks(axis, data)
        axis.minorticks_off()
        for name, height in _apart(data, axis):
            axis.annotate(
                name, (1.01, height), xycoords=("axes fraction", "data"), va="center", fontweight="bold",
                color=styles[name]["color"], annotation_clip=False,
            )  # fmt: skip
    return figure


def _draw_band(axis: "Axes", band: Band, name: str, style: dict[str, Any]) -> None:
    axis.fill_between(band.at, band.low, band.high, color=style["color"], alpha=0.2, linewidth=0)
    axis.plot(band.at, band.median, label=name, **style)


def _draw_menu(axis: "Axes", menu: MenuBand) -> None:
    colour, band = PALETTE[2], menu.band
    _draw_band(axis, band, "menu", {"color": colour})
    axis.hlines(band.median, *menu.spread, color=colour, linewidth=1.2)
    axis.vlines(band.at, band.low, band.high, color=colour, linewidth=1.2)
    axis.plot(band.at, band.median, "o", color=colour, markersize=5)
    labels: list[tuple[str, float, float]] = []
    for name, at, height in zip(menu.ids, band.at, band.median, strict=True):
        if labels and abs(at - labels[-1][1]) < NEAR and abs(height - labels[-1][2]) < NEAR:
            labels[-1] = (f"{labels[-1][0]}, {name}", *labels[-1][1:])
        else:
            labels.append((name, float(at), float(height)))
    for number, (text, at, height) in enumerate(labels):  # above and below in turn: names are longer than letters
        beside, side = ((5, 6), "left") if number % 2 == 0 else ((-3, -14), "right")
        axis.annotate(
            text, (at, height), xytext=beside, textcoords="offset points", ha=side, fontweight="bold", fontsize=9
        )


def _menu_looks(names: dict[str, Band]) -> dict[str, dict[str, Any]]:
    return {name: look(place) for place, name in enumerate(names)}


def _users_ticks(axis: "Axes", data: dict[str, Band]) -> None:
    sizes = sorted({float(at) for band in data.values() for at in band.at})
    shown: list[float] = []
    for size in sizes:
        if not shown or size >= 1.6 * shown[-1]:
            shown.append(size)
    axis.set_xticks(shown, [f"{size:,.0f}" for size in shown])


def _apart(data: dict[str, Band], axis: "Axes") -> Iterator[tuple[str, float]]:
    """Heights for the names at the right end, moved apart where lines end close together."""
    low, high = axis.get_ylim()
    gap, last = (high - low) * 0.055, np.inf
    for name, band in sorted(data.items(), key=lambda item: -float(item[1].median[-1])):
        last = min(float(band.median[-1]), last - gap)
        yield name, last
