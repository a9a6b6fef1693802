"""Lines to look into: the six metrics (Fig. 2 of the paper), the noise (Fig. 3), and utility against users."""

import numpy as np

from halfmask.figures.equal_noise import NoiseCurve, total_label
from halfmask.figures.error_distributions import DECADES, IN_BITS, Curve
from halfmask.figures.interactive.layout import FigurePanel, Interactive, Spec, axis, interactive
from halfmask.figures.interactive.marks import band, line, plain, stroke
from halfmask.figures.style import look, looks
from halfmask.figures.trajectories import Band
from halfmask.menus.menu import Menu
from halfmask.menus.menu_scale import score_words

MOMENTS = {"mean": "mean", "std": "standard deviation", "entropy": "entropy"}


def cdf_figure(data: dict[str, dict[str, Curve]], caption: str) -> Interactive:
    """Six panels: local errors on the left, global errors on the right."""
    traces: list[Spec] = []
    panels: list[FigurePanel] = []
    for moment, words in MOMENTS.items():
        for level in ("local", "global"):
            metric = f"{level}_{moment}"
            bits = metric in IN_BITS
            hover = f"%{{fullData.name}}: %{{y:.1f}} % of samples<br>have at most %{{x:.4g}}{' bits' if bits else ''}"
            for name, curve in data[metric].items():
                style = looks(list(data[metric]))[name]
                x, y = plain(curve.value), plain(curve.share * 100)
                traces.append(line(len(panels), name, x, y, style, hover, showlegend=not panels))
            y_axis = axis("samples below (%)", range=[0, 102])
            panels.append(FigurePanel(f"{level.capitalize()} error: {words}", _metric_axis(data[metric], bits), y_axis))
    return interactive(caption, traces, panels, height=200)


def _metric_axis(curves: dict[str, Curve], bits: bool) -> Spec:
    """Bits on a plain axis, errors on a logarithmic one that shows the upper decades."""
    largest = max((float(curve.value[-1]) for curve in curves.values()), default=0.0)
    if bits or largest <= 0:
        return axis("entropy (bits)" if bits else "error (1 = 100 %)")
    top = float(np.log10(largest))
    return axis("error (1 = 100 %)", type="log", range=[top - DECADES, top + np.log10(2)], dtick=1, tickformat=",.6~g")


def noise_figure(data: dict[str, NoiseCurve], caption: str) -> Interactive:
    """Two panels over the same amount of noise."""
    traces: list[Spec] = []
    panels: list[FigurePanel] = []
    for score in ("privacy", "utility"):
        hover = f"%{{fullData.name}}<br>total |noise| %{{x:,.4g}}<br>median {score} %{{y:.3f}}"
        for name, curve in data.items():
            y = plain(getattr(curve, score))
            traces.append(
                line(len(panels), name, plain(curve.total), y, looks(list(data))[name], hover, showlegend=not panels)
            )
        total = axis(total_label(data), rangemode="tozero", nticks=6, tickformat=".3~s")
        panels.append(FigurePanel(score.capitalize(), total, axis(f"median {score}")))
    return interactive(caption, traces, panels, height=290)


def users_figure(data: dict[str, Band], menu: Menu | None, caption: str) -> Interactive:
    """One panel: utility of each menu setting as more people share."""
    traces = []
    for place, (name, found) in enumerate(data.items()):
        style = look(place)
        about = ""
        if menu:
            score = score_words(menu[name].privacy.median, known=menu[name].outside)
            about = f", {menu[name].setting}, privacy {score}"
        hover = (
            f"<b>{name}</b>{about}<br>%{{x:,}} users: utility %{{y:.3f}}"
            "<br>from %{customdata[0]:.3f} to %{customdata[1]:.3f}"
        )
        traces.append(band(0, name, found, style["color"]))
        traces.append(line(0, name, plain(found.at), plain(found.median), style, hover))
        traces[-1] |= {"mode": "lines+markers", "marker": {"size": 6}, "line": stroke(style)}
        traces[-1]["customdata"] = list(zip(plain(found.low), plain(found.high), strict=True))
    panel = FigurePanel("", axis("number of users", type="log", **_users_ticks(data)), axis("utility"))
    return interactive(caption, traces, [panel], height=330)


def _users_ticks(data: dict[str, Band]) -> Spec:
    shown: list[float] = []
    for size in sorted({float(at) for found in data.values() for at in found.at}):
        if not shown or size >= 1.6 * shown[-1]:
            shown.append(size)
    return {"tickvals": shown, "ticktext": [f"{size:,.0f}" for size in shown]}
