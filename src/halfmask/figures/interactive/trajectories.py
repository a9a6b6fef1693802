"""Utility over privacy (Fig. 4 of the paper), to look into: bands, the menu, and single settings."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.figures.interactive.cloud import Cloud
from halfmask.figures.interactive.layout import FigurePanel, Interactive, Spec, axis, interactive, score_axis
from halfmask.figures.interactive.marks import MENU_COLOUR, band, faint, line, plain, points
from halfmask.figures.style import look, looks
from halfmask.figures.trajectories import NEAR, Band, MenuBand, Trajectories
from halfmask.menus.menu import Menu

EDGE = 0.3
"""Privacy from either end that a label has no room within."""
MENU_LOOK: Spec = look(2) | {"linestyle": "-"}


def trajectory_figure(data: Trajectories, clouds: dict[str, Cloud], menu: Menu | None, caption: str) -> Interactive:
    """Mechanisms and menu, for all sizes and for the large ones; single settings over the first panel."""
    texts = {each.id: str(each.setting) for each in menu.settings} if menu else {}
    traces: list[Spec] = []
    titles: list[str] = []
    shown: list[tuple[str, dict[str, Band] | MenuBand | None]] = [
        ("By mechanism, all sizes", data.mechanisms),
        ("The menu, all sizes", data.menu),
        (f"By mechanism, {data.large}", data.large_mechanisms),
        (f"The menu, {data.large}", data.large_menu),
    ]
    for title, found in shown:
        if not found:
            continue
        number = len(titles)
        titles.append(title)
        if isinstance(found, MenuBand):
            traces += _menu(number, found, texts, legend=found is data.menu)
        else:
            if found is data.mechanisms:  # below the lines, which would drown in them
                traces += [_cloud(number, name, each, list(found)) for name, each in clouds.items() if name in found]
            for name, each in found.items():
                traces += _mechanism(number, name, each, looks(list(found))[name], legend=found is data.mechanisms)
    low = min((value for trace in traces for value in trace["y"] if value is not None), default=0.0)
    panels = [
        FigurePanel(title, score_axis("privacy"), axis("utility", range=[low - 0.05 * (1 - low), 1 + 0.12 * (1 - low)]))
        for title in titles
    ]
    if clouds:
        drawn, of = sum(len(each.settings) for each in clouds.values()), sum(each.of for each in clouds.values())
        caption += f" Points over the first panel are single settings at their medians: {drawn:,} of {of:,} are drawn."
    return interactive(caption, traces, panels, height=280)


def _mechanism(panel: int, name: str, found: Band, style: Spec, *, legend: bool) -> list[Spec]:
    hover = (
        f"{name} at privacy %{{x:.2f}}<br>median utility %{{y:.3f}}<br>from %{{customdata[0]:.3f}} to "
        "%{customdata[1]:.3f}"
    )
    told = list(zip(plain(found.low), plain(found.high), strict=True))
    x, y = plain(found.at), plain(found.median)
    return [
        band(panel, name, found, style["color"]),
        line(panel, name, x, y, style, hover, customdata=told, showlegend=legend),
    ]


def _cloud(panel: int, name: str, found: Cloud, names: list[str]) -> Spec:
    hover = "<b>%{customdata}</b><br>median privacy %{x:.3f}<br>median utility %{y:.3f}"
    marker = {"size": 4, "color": faint(looks(names)[name]["color"], 0.45)}
    made = points(panel, name, plain(found.privacy), plain(found.utility), marker, hover)
    return made | {"customdata": found.settings, "showlegend": False}


def _menu(panel: int, found: MenuBand, texts: dict[str, str], *, legend: bool) -> list[Spec]:
    """The band through the menu's settings, each with its range both ways and its letter."""
    at = found.band
    hover = (
        "<b>%{customdata[0]}</b>, %{customdata[1]}<br>privacy %{x:.3f}, from %{customdata[2]:.3f} to "
        "%{customdata[3]:.3f}<br>utility %{y:.3f}, from %{customdata[4]:.3f} to %{customdata[5]:.3f}"
    )
    ranges = np.stack([*found.spread, at.low, at.high], axis=1)
    told = [[name, texts.get(name, ""), *plain(row)] for name, row in zip(found.ids, ranges, strict=True)]
    made = line(panel, "menu", plain(at.at), plain(at.median), MENU_LOOK, hover, customdata=told, showlegend=legend)
    made |= {
        "mode": "lines+markers+text",
        "marker": {"size": 9, "color": MENU_COLOUR},
        "text": _letters(found),
        "textposition": _sides(found),
        "error_x": _ranges(at.at, *found.spread),
        "error_y": _ranges(at.median, at.low, at.high),
    }
    return [band(panel, "menu", at, MENU_COLOUR), made]


def _ranges(middle: FloatArray, low: FloatArray, high: FloatArray) -> Spec:
    return {
        "type": "data", "symmetric": False, "array": plain(high - middle), "arrayminus": plain(middle - low),
        "thickness": 1.2, "width": 0, "color": MENU_COLOUR,
    }  # fmt: skip


def _sides(found: MenuBand) -> list[str]:
    """Labels stand above and below the line in turn, and not beyond the edges: names are longer than letters."""
    shown, places = np.cumsum([bool(letter) for letter in _letters(found)]), found.band.at
    above = np.where(places < 1 - EDGE, "top right", "top center")
    below = np.where(places > EDGE, "bottom left", "bottom center")
    return [str(side) for side in np.where(shown % 2 == 1, above, below)]


def _letters(found: MenuBand) -> list[str]:
    """A letter beside each setting; of several in one spot the first has them all."""
    letters: list[str] = []
    last: tuple[int, float, float] | None = None
    for place, (name, at, height) in enumerate(zip(found.ids, found.band.at, found.band.median, strict=True)):
        if last and abs(at - last[1]) < NEAR and abs(height - last[2]) < NEAR:
            letters[last[0]] = f"{letters[last[0]][:-4]}, {name}</b>"
            letters.append("")
        else:
            letters.append(f"<b>{name}</b>")
            last = (place, float(at), float(height))
    return letters
