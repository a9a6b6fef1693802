"""What settings protect, to look into: score and attacks, guarantees, and the limit of all additive noise."""

from collections.abc import Sequence

from halfmask.audits.noise_at_equal_utility import FAMILIES, LIMIT, SHOWN
from halfmask.figures.interactive.layout import FigurePanel, Interactive, Spec, axis, interactive, place, score_axis
from halfmask.figures.interactive.marks import MENU_COLOUR, line, plain, points
from halfmask.figures.limit_of_noise import DENSEST, LimitFigure, together
from halfmask.figures.protection import FLOOR, MEASURES, USUAL, Curves, ProtectionMeasures
from halfmask.figures.style import QUIET, look
from halfmask_device.decimals import upwards

SYMBOLS = {"o": "circle", "s": "square-open", "^": "triangle-up-open", "D": "diamond-open"}


def protection_figure(data: ProtectionMeasures, caption: str) -> Interactive:
    """One panel: a row a setting, a mark a measure."""
    traces: list[Spec] = []
    for order, (name, (mark, words)) in enumerate(MEASURES.items()):
        held = [(value, id) for value, id in zip(data.measures[name], data.ids, strict=True) if value is not None]
        marker = {"symbol": SYMBOLS[mark], "size": 12, "color": look(order)["color"], "line": {"width": 2}}
        x, y = plain([value for value, _ in held]), [id for _, id in held]
        traces.append(points(0, words, x, y, marker, f"<b>%{{y}}</b><br>{words}: %{{x:.2f}}"))
    rows = axis("setting", type="category", categoryorder="array", categoryarray=data.ids)
    panel = FigurePanel("", score_axis("0: nothing hidden, 1: nothing learned"), rows)
    return interactive(caption, traces, [panel], height=60 + 44 * len(data.ids))


def guarantee_figure(data: Curves, caption: str) -> Interactive:
    """Two panels: one report, and a day of them."""
    traces: list[Spec] = []
    panels: list[FigurePanel] = []
    for title, curves in (("One report", data.one), (f"A day of {data.day:,} reports", data.whole_day)):
        number, first = len(panels), not panels
        if data.instead:  # first, so that it lies below the others
            _, setting, one, day = data.instead
            thick = {"line": {"color": QUIET, "width": 6}, "showlegend": first}
            traces.append(_bound(number, setting, data.epsilon, one if first else day, {"color": QUIET}) | thick)
        for order, (id, deltas) in enumerate(curves.items()):
            traces.append(_bound(number, id, data.epsilon, deltas, look(order)) | {"showlegend": first})
        deltas_axis = axis("delta (upper bound)", type="log", range=[-9, 0.3], dtick=3, exponentformat="power")
        panels.append(FigurePanel(title, axis("epsilon"), deltas_axis))
    usual = [
        {"type": "line", "xref": f"x{place(number)} domain", "yref": f"y{place(number)}", "x0": 0, "x1": 1}
        | {"y0": USUAL, "y1": USUAL, "line": {"color": QUIET, "width": 1}}
        for number in range(2)
    ]
    return interactive(caption, traces, panels, height=290, shapes=usual)


def _bound(panel: int, name: str, epsilon: Sequence[float], deltas: Sequence[float], look: Spec) -> Spec:
    """delta over epsilon; what is shown of it is rounded up."""
    y = plain([max(delta, FLOOR) for delta in deltas])
    hover = f"<b>{name}</b><br>epsilon %{{x}}: delta at most %{{customdata}}"
    return line(panel, name, epsilon, y, look, hover, customdata=[upwards(delta) for delta in deltas])


def limit_figure(data: LimitFigure, caption: str) -> Interactive:
    """Four panels, as drawn: the limit, how close noise comes, what it looks like, and what the best guess leaves."""
    traces: list[Spec] = []
    for name, band in data.bands.items():
        hover = f"best {name}<br>privacy %{{x:.2f}}, utility %{{y:.3f}}"
        traces.append(line(0, name, plain(band.at), plain(band.high), _look(name), hover))
    hover = "the limit<br>privacy %{x:.2f}, utility %{y:.3f}"
    traces.append(line(0, LIMIT, plain(data.noise.privacy), plain(data.noise.utility), _look(LIMIT), hover))
    names, privacy, utility = zip(*together(data.places), strict=True)
    traces.append(_menu(0, names, privacy, utility, ["bottom right", *["top right"] * (len(names) - 1)]))
    known = set(data.bands) | {LIMIT}
    for name, share in data.noise.shares.items():
        hover = f"{name}, deviation %{{x:.3g}}<br>%{{y:.1f}} % of the limit"
        shown = name not in known
        deviations, shares = plain(data.noise.deviation), plain(100 * share)
        traces.append(line(1, name, deviations, shares, _look(name), hover, showlegend=shown))
    near = {id: place for id, place in data.near.items() if place[0] >= data.noise.deviation[0]}
    sizes, parts = [size for size, _ in near.values()], [100 * part for _, part in near.values()]
    traces.append(_menu(1, list(near), sizes, parts, ["bottom left"] * len(near)))
    for number, curves, x in ((2, data.noise.laws, data.noise.at), (3, data.noise.errors, data.noise.deviation)):
        for name, values in curves.items():
            hover = f"{name}<br>%{{x:.3g}}: %{{y:.3g}}"
            traces.append(line(number, name, plain(x), plain(values), _look(name), hover, showlegend=False))
    top = min(1.15 * float(data.noise.laws[LIMIT].max()), DENSEST)
    size_axis = axis(data.deviation, type="log", tickformat=",.6~g", dtick=1)
    panels = [
        FigurePanel("The limit of all additive noise", score_axis("privacy"), axis("utility")),
        FigurePanel("How close noise comes to it", size_axis, axis("privacy, % of the limit")),
        FigurePanel(
            data.title,
            axis("|noise| in deviations", range=[0, SHOWN]),
            axis("density", range=[0, top]),
        ),
        FigurePanel(
            "What the best guess leaves", size_axis, axis("error, in deviations of the readings", range=[0, 1])
        ),
    ]
    return interactive(caption, traces, panels, height=270)


def _look(name: str) -> Spec:
    """Colours as drawn; the limit in grey, which light and dark pages both show."""
    if name == LIMIT:
        return {"color": QUIET}
    order = [*FAMILIES[:2], "menu", *FAMILIES[2:]]
    return look(order.index(name) if name in order else len(order))


def _menu(panel: int, ids: Sequence[str], x: Sequence[float], y: Sequence[float], sides: Sequence[str]) -> Spec:
    """The menu's settings as points with their names, each to its side."""
    marker = {"size": 8, "color": MENU_COLOUR}
    made = points(panel, "menu", plain(x), plain(y), marker, "<b>%{text}</b><br>%{x:.3g}, %{y:.3g}")
    return made | {"mode": "markers+text", "text": list(ids), "textposition": list(sides), "showlegend": panel == 0}
