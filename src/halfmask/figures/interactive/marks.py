"""Lines, bands and points of interactive figures, in the colours and dashes of the drawn ones."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halfmask.figures.interactive.layout import Spec, axes
from halfmask.figures.style import PALETTE
from halfmask.figures.trajectories import Band

DIGITS = 6
WIDTH = 2
MENU_COLOUR = PALETTE[2]


def plain(values: npt.NDArray[Any] | Sequence[float]) -> list[float | None]:
    """Numbers as JSON has them: six digits, which no screen can tell from more, and null for what is not finite."""
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values]


def faint(colour: str, strength: float) -> str:
    """A colour of the palette, see-through."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{strength:g})"


def stroke(look: Spec) -> Spec:
    """A look of `figures.style` as plotly writes it."""
    return {"color": look["color"], "width": WIDTH, "dash": dashes(look.get("linestyle", "-"))}


def dashes(linestyle: str | tuple[int, tuple[float, ...]]) -> str:
    """Dashes in pixels; matplotlib counts them in widths of the line."""
    return "solid" if isinstance(linestyle, str) else ",".join(f"{length * WIDTH:g}px" for length in linestyle[1])


def line(panel: int, name: str, x: Iterable[Any], y: Iterable[Any], look: Spec, hover: str, **more: Any) -> Spec:
    """A line; lines of one name are one entry of the legend and are switched together."""
    return {
        "type": "scatter", "mode": "lines", "name": name, "legendgroup": name, "x": list(x), "y": list(y),
        "line": stroke(look), "hovertemplate": f"{hover}<extra></extra>", **axes(panel), **more,
    }  # fmt: skip


def band(panel: int, name: str, found: Band, colour: str) -> Spec:
    """From the least to the most of a band; it goes with the legend's entry of its name."""
    return {
        "type": "scatter", "mode": "lines", "name": name, "legendgroup": name, "showlegend": False,
        "x": plain(np.concatenate([found.at, found.at[::-1]])),
        "y": plain(np.concatenate([found.low, found.high[::-1]])),
        "fill": "toself", "fillcolor": faint(colour, 0.2), "line": {"width": 0}, "hoverinfo": "skip", **axes(panel),
    }  # fmt: skip


def points(panel: int, name: str, x: Iterable[Any], y: Iterable[Any], marker: Spec, hover: str, **more: Any) -> Spec:
    """Single marks."""
    return {
        "type": "scatter", "mode": "markers", "name": name, "legendgroup": name, "x": list(x), "y": list(y),
        "marker": marker, "hovertemplate": f"{hover}<extra></extra>", **axes(panel), **more,
    }  # fmt: skip


def mechanism_of(setting: str) -> str:
    """The mechanism in a setting's text."""
    return setting.partition(":")[0]
