"""The base class of all results, which can be stored, converted to a table, plotted, and shown in a notebook."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from halfmask.errors import ExtraError
from halfmask.extras import naming_extras

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

DRAWERS, PAGES = "halfmask.figures.result_figures", "halfmask.pages.result_tables"
"""The modules that draw results and describe them. They are imported by name, because they import this module."""


class Shown(ABC):
    """A value that a notebook shows as a table, and that can be converted to a data frame and a figure."""

    @abstractmethod
    def to_arrow(self) -> "pa.Table":
        """Convert to an Arrow table."""

    @naming_extras()
    def to_pandas(self) -> Any:
        """Convert to a pandas frame, if pandas is installed."""
        import narwhals as nw

        return nw.from_native(self.to_arrow(), eager_only=True).to_pandas()

    @naming_extras()
    def to_polars(self) -> Any:
        """Convert to a Polars frame, if Polars is installed."""
        import narwhals as nw

        return nw.from_native(self.to_arrow(), eager_only=True).to_polars()

    @naming_extras()
    def plot(self) -> "Figure":
        """Return the result's figure as in the report, drawn by matplotlib."""
        figure: Figure = import_module(DRAWERS).draw_result(self)
        return figure

    def points(self) -> Sequence[tuple[float, float]]:
        """Return points (privacy, utility), from 0 to 1, for a small curve next to the table; by default none."""
        return ()

    def _repr_html_(self) -> str | None:
        """Return the result as HTML; None without the extra ``pages``, so that a notebook shows plain text."""
        try:
            with naming_extras():
                return str(import_module(PAGES).in_notebook(self))
        except ExtraError:
            return None


class Result(Shown):
    """A command's result, which can be written to a file and read back as an equal object."""

    @classmethod
    @abstractmethod
    def read(cls, path: str | Path) -> Self:
        """Read a result from a file.

        Raise a FileFormatError if the file is missing, damaged, from a newer version or not such a result.
        """

    @abstractmethod
    def write(self, path: str | Path) -> None:
        """Write the result to a file; equal results give equal bytes."""
