"""Utility over privacy, as a median line with a range (Fig. 4 of the paper) and as single settings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray
from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot, score_scale
from halfmask.figures.study_samples import MenuSamples, Samples
from halfmask.figures.style import MENU_LOOK, mechanism_looks

STEP = 0.01
RARE = 0.001
NEAR = 0.04
EDGE = 0.3
"""Labels closer than this to an end of the axis have too little room."""


@dataclass(frozen=True, eq=False)
class Band:
    """Median, minimum and maximum of utility at each ``at``, which is a privacy or a number of users."""

    at: FloatArray
    median: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Trajectories:
    """Utility over privacy by mechanism and through the menu's settings: for samples of all sizes, and for large ones
    only.
    """

    mechanisms: dict[str, Band]
    menu: "MenuBand | None"
    large_mechanisms: dict[str, Band]
    large_menu: "MenuBand | None"
    large: str


@dataclass(frozen=True, eq=False)
class MenuBand:
    """Utility of a menu's settings in order of median privacy.

    ``spread``  lowest and highest privacy of each setting
    """

    ids: list[str]
    band: Band
    spread: FloatArray


def trajectory_data(samples: Samples, menu: MenuSamples | None) -> Trajectories:
    """Return the data of Fig. 4. Parts are empty without a menu or sizes, or if all samples are large."""
    every = np.ones(len(samples.users), bool)
    if not samples.sized:
        return Trajectories(_by_mechanism(samples, every), None, {}, None, "")
    large, words = samples.large()
    whole = _by_mechanism(samples, every), menu_band(menu, every) if menu else None
    if large.all():
        return Trajectories(*whole, {}, None, "")
    return Trajectories(*whole, _by_mechanism(samples, large), menu_band(menu, large) if menu else None, words)


def band_over_privacy(privacy: FloatArray, utility: FloatArray, step: float = STEP) -> Band:
    """Return median and range of utility in steps of privacy, each at the middle of its step.

    Steps with fewer than one in a thousand samples are left out, because their median would not be typical.
    """
    place = np.floor(privacy / step + 1e-9)
    counts = np.bincount(place.astype(int))
    enough = counts[place.astype(int)] >= RARE * len(place)
    return band_at((place[enough] + 0.5) * step, utility[enough])


def menu_band(menu: MenuSamples, chosen: npt.NDArray[np.bool_]) -> MenuBand:
    """Return median and range of utility of each setting, in order of median privacy."""
    privacy, utility = menu.privacy[:, chosen], menu.utility[:, chosen]
    at = np.median(privacy, axis=1)
    order = np.lexsort((-np.median(utility, axis=1), at))
    band = Band(at[order], np.median(utility, axis=1)[order], utility.min(axis=1)[order], utility.max(axis=1)[order])
    return MenuBand(
        [menu.ids[row] for row in order], band, np.stack([privacy.min(axis=1), privacy.max(axis=1)])[:, order]
    )


def _by_mechanism(samples: Samples, chosen: npt.NDArray[np.bool_]) -> dict[str, Band]:
    bands = {}
    for name in samples.names():
        rows = np.flatnonzero(samples.kept & (samples.mechanisms == name))
        if len(rows) and chosen.any():
            part = np.ix_(rows, np.flatnonzero(chosen))
            bands[name] = band_over_privacy(samples.privacy[part].ravel(), samples.utility[part].ravel())
    return bands


def band_at(at: FloatArray, values: FloatArray) -> Band:
    """Return median and range of the values at each distinct ``at``."""
    order = np.lexsort((values, at))
    at, values = at[order], values[order]
    starts = np.flatnonzero(np.concatenate([[True], at[1:] != at[:-1]]))
    ends: IntArray = np.concatenate([starts[1:], [len(at)]]) - 1
    median = (values[(starts + ends) // 2] + values[(starts + ends + 1) // 2]) / 2
    return Band(at[starts], median, values[starts], values[ends])


def trajectory_caption(data: Trajectories) -> str:
    """Return the caption of Fig. 4."""
    text = "The line is the median utility at each privacy, the band runs from the least to the most utility seen."
    if data.menu is None:
        return text
    name, low, high = _last(data.menu)
    text += f" What to see: the utility of {name} lies between {low:.2f} and {high:.2f} over groups of all sizes"
    if data.large_menu is not None:
        _, low, high = _last(data.large_menu)
        text += f", and between {low:.2f} and {high:.2f} in groups of {data.large}"
    text += ". The band of the menu is drawn straight from setting to setting."
    if _reach(data.large_mechanisms) < _reach(data.mechanisms):
        text += " The highest privacy is reached by small groups only, whose totals are least exact."
    return text


def _reach(bands: dict[str, Band]) -> float:
    """Return the highest privacy of any band; 1 without bands."""
    return max((float(band.at[-1]) for band in bands.values()), default=1.0)


def _last(menu: MenuBand) -> tuple[str, float, float]:
    return menu.ids[-1], float(menu.band.low[-1]), float(menu.band.high[-1])


def trajectory_plot(data: Trajectories) -> Plot:
    """Plot mechanisms and menu, for all sizes and for large ones."""
    shown = [
        ("By mechanism, all sizes", _mechanism_marks(data.mechanisms)),
        ("The menu, all sizes", _menu_marks(data.menu)),
        (f"By mechanism, {data.large}", _mechanism_marks(data.large_mechanisms)),
        (f"The menu, {data.large}", _menu_marks(data.large_menu)),
    ]
    found = [marks for _, marks in shown if marks]
    low = min((float(np.min(mark.around[0])) for marks in found for mark in marks if mark.around), default=0.0)
    utility = PlotAxis("utility", limits=(low - 0.05 * (1 - low), 1 + 0.12 * (1 - low)))
    return Plot(
        [
            Subplot(title, score_scale("privacy"), utility, marks, legend="lower left" if "mechanism" in title else "")
            for title, marks in shown
            if marks
        ],
        share="xy",
    )


def _mechanism_marks(bands: dict[str, Band]) -> list[Mark]:
    """Return a median line with a band for each mechanism."""
    styles = mechanism_looks(list(bands))
    return [Mark(name, at.at, at.median, styles[name], around=(at.low, at.high)) for name, at in bands.items()]


def _menu_marks(found: MenuBand | None) -> list[Mark]:
    """Return the band through the menu's settings, each with its letter and its ranges of privacy and utility."""
    if found is None:
        return []
    at = found.band
    ends, spread = (at.low, at.high), (found.spread[0], found.spread[1])
    texts = one_label_each(found.ids, at.at, at.median)
    mark = Mark(
        "menu", at.at, at.median, MENU_LOOK, shape="both", size=6, around=ends, reach_x=spread,
        reach_y=ends, texts=texts, sides=_sides(texts, at.at),
    )  # fmt: skip
    return [mark]


def _sides(texts: Sequence[str], places: FloatArray) -> list[str]:
    """Return the sides of labels, alternately above and below the line.

    Near the left or right edge labels are centred, so that long names stay inside.
    """
    count = np.cumsum([bool(text) for text in texts])
    above = np.where(places < 1 - EDGE, "top right", "top center")
    below = np.where(places > EDGE, "bottom left", "bottom center")
    return [str(side) for side in np.where(count % 2 == 1, above, below)]


def one_label_each(names: Sequence[str], x: FloatArray | Sequence[float], y: FloatArray | Sequence[float]) -> list[str]:
    """Return a label for each point. If points are too close, the first is labelled with all names."""
    labels: list[str] = []
    for number, (name, *at) in enumerate(zip(names, x, y, strict=True)):
        near = (k for k in range(number) if labels[k] and max(abs(at[0] - x[k]), abs(at[1] - y[k])) < NEAR)
        first = next(near, None)
        labels.append(name if first is None else "")
        if first is not None:
            labels[first] += f", {name}"
    return labels
