"""The base class of all results: a file, a table, a figure, and how a notebook shows them."""

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
"""Where results are drawn and put into words. These rooms come after this one: they are found by name, as plug-ins."""


class Shown(ABC):
    """A value that a notebook shows as a table, and that converts to a frame and a figure."""

    @abstractmethod
    def to_arrow(self) -> "pa.Table":
        """Return it as an Arrow table."""

    @naming_extras()
    def to_pandas(self) -> Any:
        """Return it as a pandas frame, if pandas is installed."""
        import narwhals as nw

        return nw.from_native(self.to_arrow(), eager_only=True).to_pandas()

    @naming_extras()
    def to_polars(self) -> Any:
        """Return it as a Polars frame, if Polars is installed."""
        import narwhals as nw

        return nw.from_native(self.to_arrow(), eager_only=True).to_polars()

    @naming_extras()
    def plot(self) -> "Figure":
        """Return the figure that the report has of it, drawn by matplotlib."""
        figure: Figure = import_module(DRAWERS).draw_result(self)
        return figure

    def points(self) -> Sequence[tuple[float, float]]:
        """Return the points of a small curve next to the table: privacy and utility, from 0 to 1.

        Empty if there is none.
        """
        return ()

    def _repr_html_(self) -> str | None:
        """Return the result as HTML; None without the extra ``pages``, so that a notebook shows the plain text."""
        try:
            with naming_extras():
                return str(import_module(PAGES).in_notebook(self))
        except ExtraError:
            return None


class Result(Shown):
    """The result of a command that can be written to a file and read back as an equal object."""

    @classmethod
    @abstractmethod
    def read(cls, path: str | Path) -> Self:
        """Return the result in a file.

        A missing, foreign, damaged or newer file is a FileFormatError that says which.
        """

    @abstractmethod
    def write(self, path: str | Path) -> None:
        """Write the result to a file; equal results give equal bytes."""
