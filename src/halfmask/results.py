"""What all results have in common: a file, a frame, a figure, and how they show themselves in a notebook."""

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
"""Where results are drawn and put into words. These rooms stand after this one: they are found by name, as plug-ins."""


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

    @naming_extras()
    def to_pandas(self) -> Any:
        """As a frame of pandas, where that is installed."""
        import narwhals as nw

        return nw.from_native(self.to_arrow(), eager_only=True).to_pandas()

    @naming_extras()
    def to_polars(self) -> Any:
        """As a frame of Polars, where that is installed."""
        import narwhals as nw

        return nw.from_native(self.to_arrow(), eager_only=True).to_polars()

    @naming_extras()
    def plot(self) -> "Figure":
        """Its figure in the report, as matplotlib has it."""
        figure: Figure = import_module(DRAWERS).draw_result(self)
        return figure

    def points(self) -> Sequence[tuple[float, float]]:
        """Privacy and utility, each from 0 to 1, of what is drawn small beside the table; nothing where it is empty."""
        return ()

    def _repr_html_(self) -> str | None:
        """As HTML; None without the extra ``pages``, and a notebook then shows the plain text."""
        try:
            with naming_extras():
                return str(import_module(PAGES).in_notebook(self))
        except ExtraError:
            return None
