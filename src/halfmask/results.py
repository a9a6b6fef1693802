"""What all results have in common: a file, a frame, a figure, and how they show themselves in a notebook."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

DRAWERS = "halfmask.figures.results"
"""Where figures of results are drawn. That room stands after this one, so it is found by name, as a plug-in is."""


class Result(ABC):
    """Something that a command gives: it reads and writes itself, and the file gives the same object back."""

    @classmethod
    @abstractmethod
    def read(cls, path: str | Path) -> Self:
        """The result in a file; a missing, foreign, damaged or newer one is a FileFormatError that says which."""

    @abstractmethod
    def write(self, path: str | Path) -> None:
        """Write it; equal results give equal bytes."""

    @abstractmethod
    def to_arrow(self) -> "pa.Table":
        """As an Arrow table."""

    @abstractmethod
    def summary(self) -> list[list[str]]:
        """What it says, as a small table for people, headings first."""

    def to_pandas(self) -> Any:
        """As a frame of pandas, where that is installed."""
        import narwhals as nw

        return nw.from_native(self.to_arrow(), eager_only=True).to_pandas()

    def to_polars(self) -> Any:
        """As a frame of Polars, where that is installed."""
        import narwhals as nw

        return nw.from_native(self.to_arrow(), eager_only=True).to_polars()

    def plot(self) -> "Figure":
        """Its figure in the report, as matplotlib has it."""
        figure: Figure = import_module(DRAWERS).draw(self)
        return figure

    def points(self) -> Sequence[tuple[float, float]]:
        """Privacy and utility, each from 0 to 1, of what is drawn small beside the table; nothing where it is empty."""
        return ()

    def _repr_html_(self) -> str:
        return html_table(self.summary()) + trajectory(self.points())


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """A table; every text is escaped."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows[1:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def trajectory(points: Sequence[tuple[float, float]], width: int = 240, height: int = 120) -> str:
    """A line through points of privacy (to the right) and utility (up), as SVG."""
    if not points:
        return ""
    places = " ".join(f"{x * width:.1f},{(1 - y) * height:.1f}" for x, y in sorted(points))
    return (
        f'<svg role="img" aria-label="utility against privacy" width="{width}" height="{height}" '
        f'viewBox="-4 -4 {width + 8} {height + 8}"><rect width="{width}" height="{height}" fill="none" '
        f'stroke="#999"/><polyline points="{places}" fill="none" stroke="#0a6" stroke-width="2"/></svg>'
    )


def shortened(rows: Sequence[Sequence[str]], most: int = 12) -> list[list[str]]:
    """The first of many rows, and how many there are."""
    shown: list[list[str]] = [list(row) for row in rows[: most + 1]]
    left: Any = len(rows) - len(shown)
    return [*shown, [f"... and {left:,} more", *[""] * (len(rows[0]) - 1)]] if left > 0 else shown
