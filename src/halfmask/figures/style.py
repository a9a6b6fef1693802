"""How figures look, in one place: colours that colour-blind people can tell apart, one ink, no decoration.

Nothing of pyplot is used. Settings of matplotlib hold only inside `styled`, so that neither the caller's nor the
user's own are touched or heard: the same data give the same bytes everywhere (with the same versions).
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask.errors import OptionError
from halfmask.files import whole_file
from halfmask.mechanisms.grid import PAPER
from halfmask_device.decimals import upwards

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1b1f24"
QUIET = "#8a9099"
# Okabe and Ito, without yellow (too light for lines on white) and black (lost on dark).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
FORMATS = ("png", "svg", "pdf")
PANEL = (4.3, 3.0)
_SETTINGS: dict[str, Any] = {
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.labelsize": 10,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": QUIET,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "figure.dpi": 150,
    "figure.constrained_layout.h_pad": 0.09,
    "svg.hashsalt": "halfmask",
    "pdf.fonttype": 42,
}


def sized(value: float, unit: str) -> str:
    """A number to three digits with its unit, for a sentence."""
    return f"{value:.3g} {unit}".strip()


def at_least(bound: float) -> str:
    """Three digits of a lower bound, rounded down: never more than is sure."""
    return f"{-float(upwards(-bound)):g}"


def in_unit(what: str, unit: str) -> str:
    """The words of an axis with its unit."""
    return f"{what} ({unit or 'in the unit of the readings'})"


@contextmanager
def styled(**more: Any) -> Iterator[None]:
    """Matplotlib's own defaults with ours on top, for the time of a ``with``."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        values: Any = matplotlib.rcParams
        values.update(_SETTINGS | more)
        yield


def panels(count: int, columns: int, height: float = PANEL[1], **sharing: Any) -> "tuple[Figure, list[Axes]]":
    """A figure of ``count`` equal panels in rows of at most ``columns``; to be called inside `styled`."""
    from matplotlib.figure import Figure

    columns = min(columns, count)
    rows = -(-count // columns)
    width = PANEL[0] * columns if columns > 1 else 5.0
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **sharing)
    axes = [grid[place // columns][place % columns] for place in range(rows * columns)]
    for spare in axes[count:]:
        spare.remove()
    return figure, axes[:count]


def plain_log(axis: "Axes") -> None:
    """A logarithmic x axis with a tick a decade, in plain figures: quicker to read than powers, and to draw."""
    axis.set_xscale("log")
    axis.minorticks_off()
    axis.xaxis.set_major_formatter("{x:,g}")


def looks(names: list[str]) -> dict[str, dict[str, Any]]:
    """Colour and dashes of each mechanism: those of the paper always have the same, the others in their order."""
    order = [*PAPER, *(name for name in names if name not in PAPER)]
    return {name: look(order.index(name)) for name in names}


def look(place: int) -> dict[str, Any]:
    """Colour and dashes of the line at a place in a series; dashes tell lines apart where colours are not seen."""
    return {"color": PALETTE[place % len(PALETTE)], "linestyle": DASHES[place % len(DASHES)]}


def save(figure: "Figure", path: str | Path) -> Path:
    """Write a figure on white; the kind of file follows from the name, and no date goes in."""
    target = Path(path)
    kind = target.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise OptionError(f"{target}: figures are drawn as {', '.join(FORMATS)}, not as '{kind}'")
    with styled(), whole_file(target) as temporary:
        figure.savefig(temporary, format=kind, facecolor="white", metadata=_undated(kind))
    return target


def inline_svg(figure: "Figure", name: str, label: str) -> str:
    """A figure as an ``<svg>`` to stand in a page: no background, ink in the page's text colour, letters as text.

    Every id is prefixed with ``name``, so that many of them can stand in one page; nothing refers outside.
    """
    buffer = io.StringIO()
    with styled(**{"svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", facecolor="none", metadata=_undated("svg"))
    text = buffer.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"| (?:width|height)="[\d.]+pt"| version="[^"]*"', "", text)
    text = text.replace("xlink:href", "href").replace(INK, "currentColor")
    for mark in (' id="', 'href="#', "url(#"):
        text = text.replace(mark, f"{mark}{name}-")
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def _undated(kind: str) -> dict[str, Any]:
    return {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
