"""The style of figures: colours that colour-blind people can distinguish, and no decoration.

pyplot is not used. Settings of matplotlib apply only inside `styled`, so the caller's settings are not changed, and the
user's have no effect. Equal data give equal bytes (with equal versions).
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from halfmask.errors import OptionError
from halfmask.files import whole_file
from halfmask.mechanisms.grid import PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
    from matplotlib.transforms import Bbox
else:  # matplotlib takes long to import, and belongs to an extra
    Axes = Figure = Any

INK = "#1b1f24"
QUIET = "#8a9099"
# Okabe and Ito, without yellow (too light for lines on white) and black (lost on dark).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
FORMATS = ("png", "svg", "pdf")
PANEL = (4.3, 3.0)
"""Width and height of a subplot, in inches."""
ALONE = 5.0
"""Width of a figure with one subplot."""
COLUMNS = 2
MARGINS = (0.75, 0.5, 0.15, 0.3)
PAD = 0.06
LETTERS = 11.0
"""Characters of a label per inch. Longer labels are wrapped."""
LINE = 1.8
"""Width of a line."""
_SETTINGS: dict[str, Any] = {
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titley": 1.0,  # matplotlib need not look for a place
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
    "lines.linewidth": LINE,
    "figure.dpi": 150,
    "svg.hashsalt": "halfmask",
    "pdf.fonttype": 42,
}


def ink_on(colour: str) -> str:
    """Return black or white, whichever has more contrast on a colour: at least 4.5."""
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in shares]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#ffffff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000000"


@contextmanager
def styled(**more: Any) -> Iterator[None]:
    """Use matplotlib's defaults with our settings until the block ends."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        values: Any = matplotlib.rcParams
        values.update(_SETTINGS | more)
        yield


@contextmanager
def subplots(count: int, height: float = PANEL[1], share: str = "") -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a figure of ``count`` equal subplots, two per row. Draw them within the block.

    ``share``  the axes that subplots have in common: "x", "y" or "xy"

    Each subplot is in a cell with its labels, so that a page can cut it out (`inline_svgs`). After the block, the
    margins of all cells are set to the largest that is needed. This is faster than matplotlib's constrained layout,
    which takes as long as the drawing.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with styled():
        rows, width = -(-count // COLUMNS), PANEL[0] * COLUMNS if count > 1 else ALONE
        figure = Figure(figsize=(width, height * rows))
        FigureCanvasAgg(figure)  # which can measure letters
        axes: list[Axes] = []
        for _ in range(count):
            common: dict[str, Any] = {f"share{axis}": axes[0] for axis in share if axes}
            axes.append(figure.add_axes((0, 0, 1, 1), label=str(len(axes)), **common))
        _place(figure, MARGINS)
        yield figure, axes
        _fit(figure)


def _cells(figure: Figure) -> "list[Bbox]":
    """Return the cell of each subplot, including margins, in inches."""
    from matplotlib.transforms import Bbox

    count = len(figure.axes)
    columns, rows = min(count, COLUMNS), -(-count // COLUMNS)
    width, height = figure.get_figwidth() / columns, figure.get_figheight() / rows
    corners = [(width * (place % columns), height * (rows - 1 - place // columns)) for place in range(count)]
    return [Bbox.from_bounds(x, y, width, height) for x, y in corners]


def _place(figure: Figure, margins: tuple[float, float, float, float]) -> None:
    """Put each subplot into its cell. Margins are left, bottom, right and top, in inches."""
    left, bottom, right, top = margins
    wide, high = figure.get_size_inches()
    for axes, cell in zip(figure.axes, _cells(figure), strict=True):
        inner = (cell.x0 + left) / wide, (cell.y0 + bottom) / high
        axes.set_position((*inner, (cell.width - left - right) / wide, (cell.height - bottom - top) / high))


def _fit(figure: Figure) -> None:
    """Set the margins that ticks, labels, titles and legends need, and fix the labels' positions."""
    found, labels = [], []
    for axes, cell in zip(figure.axes, _cells(figure), strict=True):
        for label, room in ((axes.xaxis.label, cell.width), (axes.yaxis.label, cell.height)):
            label.set_text(fill(label.get_text(), int(room * LETTERS)))
        inner, outer = axes.bbox.frozen(), axes.get_tightbbox(for_layout_only=True) or axes.bbox
        found.append((inner.x0 - outer.x0, inner.y0 - outer.y0, outer.x1 - inner.x1, outer.y1 - inner.y1))
        labels.append((axes.yaxis.label.get_position()[0] - inner.x0, axes.xaxis.label.get_position()[1] - inner.y0))
    left, bottom, right, top = (max(side) / figure.dpi + PAD for side in zip(*found, strict=True))
    _place(figure, (left, bottom, right, top))
    for axes, (beside, below) in zip(figure.axes, labels, strict=True):
        axes.yaxis.set_label_coords(beside / axes.bbox.width, 0.5)
        axes.xaxis.set_label_coords(0.5, below / axes.bbox.height)


def legend_above(axes: Axes, title: str = "", columns: int = 8) -> None:
    """Put the legend between the title and the subplot, so that it hides nothing."""
    heading = {"weight": "bold", "size": _SETTINGS["axes.titlesize"]}
    axes.legend(
        title=title, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, alignment="left", borderpad=0,
        borderaxespad=0.3, handlelength=1.7, columnspacing=1.1, title_fontproperties=heading,
    )  # fmt: skip


def short_number(value: float, _: object = None) -> str:
    """Format a tick: 12,000, or 3 M for millions."""
    return f"{value / 1e6:,g} M" if abs(value) >= 1e6 else f"{value:,.6g}"


def powers_of_ten(first: int, last: int, step: int) -> dict[float, str]:
    """Return ticks at powers of ten, with labels in plain characters such as 10⁻⁹."""
    raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    powers = range(first, last + 1, step)
    return {10.0**power: f"10{str(power).translate(raised)}" if power else "1" for power in powers}


def mechanism_looks(names: list[str]) -> dict[str, dict[str, Any]]:
    """Return colour and dashes of each mechanism. Those of the paper are always the same."""
    order = [*PAPER, *(name for name in names if name not in PAPER)]
    return {name: line_style(order.index(name)) for name in names}


def line_style(place: int) -> dict[str, Any]:
    """Return colour and dashes of the n-th line. Dashes distinguish lines without colours."""
    return {"color": PALETTE[place % len(PALETTE)], "linestyle": DASHES[place % len(DASHES)]}


MENU_LOOK: dict[str, Any] = {"color": PALETTE[2], "linestyle": "-"}


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure on white, without a date. The file's ending determines the format; without one it is PNG."""
    target = Path(path)
    kind = target.suffix.lstrip(".").lower() or "png"
    if kind not in FORMATS:
        raise OptionError(f"{target}: figures are drawn as {', '.join(FORMATS)}, not as '{kind}'", kind="format")
    with styled(), whole_file(target) as temporary:
        figure.savefig(temporary, format=kind, facecolor="white", metadata=_undated(kind))
    return target


def inline_svgs(figure: Figure, name: str) -> Iterator[str]:
    """Yield each subplot of a figure as an ``<svg>`` for a page.

    It is transparent, uses the page's text colour, and keeps letters as text. Every id begins with ``name`` and the
    subplot's number, so that a page can contain many. It refers to no other files.
    """
    with styled(**{"svg.fonttype": "none"}):
        for number, (axes, cell) in enumerate(zip(figure.axes, _cells(figure), strict=True), start=1):
            for each in figure.axes:
                each.set_visible(each is axes)
            buffer = io.StringIO()
            figure.savefig(buffer, format="svg", facecolor="none", bbox_inches=cell, metadata=_undated("svg"))
            yield _inline(buffer.getvalue(), f"{name}-{number}")
        for each in figure.axes:
            each.set_visible(True)


def _inline(text: str, prefix: str) -> str:
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"| (?:width|height)="[\d.]+pt"| version="[^"]*"', "", text)
    text = text.replace("xlink:href", "href").replace(INK, "currentColor")
    for mark in (' id="', 'href="#', "url(#"):
        text = text.replace(mark, f"{mark}{prefix}-")
    return text


def _undated(kind: str) -> dict[str, Any]:
    return {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
