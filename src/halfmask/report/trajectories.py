"""Utility over privacy: median line and range from least to most (Fig. 4 of the paper), and over the users."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfmask.profiles.bins import FloatArray, IntArray
from halfmask.report.menu import MenuSamples
from halfmask.report.samples import Samples
from halfmask.report.style import look, looks, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEP = 0.01
GROUPS = 8


@dataclass(frozen=True, eq=False)
class Band:
    """Median, least and most of utility at each place ``at``: a privacy, or a number of users."""

    at: FloatArray
    median: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Trajectories:
    """Bands by mechanism and by menu id, over all sizes and over the large ones (``large`` in words)."""

    mechanisms: dict[str, Band]
    menu: dict[str, Band]
    large_mechanisms: dict[str, Band]
    large_menu: dict[str, Band]
    large: str


def trajectory_data(samples: Samples, menu: MenuSamples | None) -> Trajectories:
    """Everything that Fig. 4 draws; without a menu, or in a summary, the parts that need it are empty."""
    every = np.ones(len(samples.users), bool)
    large, words = samples.large() if samples.sized else (np.zeros_like(every), "")
    return Trajectories(
        _by_mechanism(samples, every),
        _by_id(menu, every) if menu and samples.sized else {},
        _by_mechanism(samples, large),
        _by_id(menu, large) if menu and samples.sized else {},
        words,
    )


def band_over_privacy(privacy: FloatArray, utility: FloatArray, step: float = STEP) -> Band:
    """Median and range of utility in steps of privacy, each placed at the middle of its step."""
    return _band((np.floor(privacy / step + 1e-9) + 0.5) * step, utility)


def band_of_groups(privacy: FloatArray, utility: FloatArray, groups: int = GROUPS) -> Band:
    """The same for one setting, whose privacy hardly varies: in equal groups by rank, placed at their median."""
    order = np.argsort(privacy, kind="stable")
    place = np.empty(len(privacy))
    for part in np.array_split(order, min(groups, max(len(order) // 3, 1))):
        place[part] = np.median(privacy[part])
    return _band(place, utility)


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


def _by_id(menu: MenuSamples, chosen: npt.NDArray[np.bool_]) -> dict[str, Band]:
    return {
        name: band_of_groups(menu.privacy[row, chosen], menu.utility[row, chosen])
        for row, name in enumerate(menu.ids)
    }  # fmt: skip


def _band(at: FloatArray, values: FloatArray) -> Band:
    """Median and range of the values at each distinct place."""
    order = np.lexsort((values, at))
    at, values = at[order], values[order]
    starts = np.flatnonzero(np.concatenate([[True], at[1:] != at[:-1]]))
    ends: IntArray = np.concatenate([starts[1:], [len(at)]]) - 1
    median = (values[(starts + ends) // 2] + values[(starts + ends + 1) // 2]) / 2
    return Band(at[starts], median, values[starts], values[ends])


def draw_trajectories(data: Trajectories, columns: int = 2) -> "Figure":
    """Mechanisms and menu, for all sizes and for the large ones."""
    drawn = [
        ("By mechanism, all sizes", data.mechanisms),
        ("The menu, all sizes", data.menu),
        (f"By mechanism, {data.large}", data.large_mechanisms),
        (f"The menu, {data.large}", data.large_menu),
    ]
    drawn = [(title, bands) for title, bands in drawn if bands]
    with styled():
        figure, axes = panels(len(drawn), columns, sharex=True, sharey=True)
        for axis, (title, bands) in zip(axes, drawn, strict=True):
            of_menu = bands is data.menu or bands is data.large_menu
            _draw_bands(axis, bands, _menu_looks(bands) if of_menu else looks(list(bands)), named=of_menu)
            axis.set(title=title, xlim=(-0.02, 1.02))
            axis.set_xlabel("privacy")
            axis.set_ylabel("utility")
            axis.label_outer()
            if not of_menu:
                axis.legend(loc="lower left")
    return figure


def draw_users(data: dict[str, Band], columns: int = 2) -> "Figure":
    """One panel: as more people share, totals get better."""
    from matplotlib.ticker import NullFormatter

    with styled():
        figure, (axis,) = panels(1, 1, height=3.6)
        figure.set_figwidth(7.2 if columns > 1 else 5.0)
        styles = _menu_looks(data)
        for name, band in data.items():
            axis.plot(band.at, band.median, marker="o", markersize=3.5, **styles[name])
            axis.fill_between(band.at, band.low, band.high, color=styles[name]["color"], alpha=0.18, linewidth=0)
        axis.set(xscale="log", xlabel="number of users", ylabel="utility")
        _users_ticks(axis, data)
        axis.xaxis.set_minor_formatter(NullFormatter())
        for name, height in _apart(data, axis):
            axis.annotate(
                name, (1.01, height), xycoords=("axes fraction", "data"), va="center", fontweight="bold",
                color=styles[name]["color"], annotation_clip=False,
            )  # fmt: skip
    return figure


def _draw_bands(axis: "Axes", bands: dict[str, Band], styles: dict[str, dict[str, Any]], named: bool) -> None:
    for name, band in bands.items():
        colour = styles[name]["color"]
        axis.fill_between(band.at, band.low, band.high, color=colour, alpha=0.2, linewidth=0)
        axis.plot(band.at, band.median, label=name, **styles[name])
        if named:
            # A setting of nearly constant privacy has no width to fill: its range is a stroke.
            middle = float(np.median(band.at))
            axis.vlines(middle, band.low.min(), band.high.max(), color=colour, linewidth=1.2)
            axis.annotate(
                name, (middle, band.high.max()), xytext=(0, 4), textcoords="offset points", ha="center",
                fontweight="bold", color=colour,
            )  # fmt: skip


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
    gap, last = (high - low) * 0.055, -np.inf
    for name, band in sorted(data.items(), key=lambda item: float(item[1].median[-1])):
        last = max(float(band.median[-1]), last + gap)
        yield name, last
