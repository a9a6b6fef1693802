"""All figures of a folder, drawn: panels for a page, and files."""

import pickle
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from halfmask.errors import OptionError, RunError
from halfmask.figures.drawing_process import DrawingProcess
from halfmask.figures.registry import Drawing
from halfmask.figures.style import FORMATS, inline_svgs, save


@dataclass(frozen=True)
class Files:
    """Where figures go as files, and in which formats; without any, none is written."""

    folder: Path = Path("figures")
    formats: tuple[str, ...] = ()

    def make_folder(self) -> None:
        """Make the folder that is written to; a RunError if that cannot be done."""
        try:
            if self.formats:
                self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise RunError(f"cannot make the folder {self.folder}: {error.strerror or error}", kind="folder") from error


NO_FILES = Files()


@dataclass(frozen=True)
class DrawnFigure:
    """A figure as a page shows it: each panel is an ``<svg>``."""

    name: str
    title: str
    caption: str
    panels: tuple[str, ...]


def drawn(drawing: Drawing, files: Files = NO_FILES) -> DrawnFigure:
    """Return a figure, drawn once for page and files."""
    figure = drawing.draw()
    for kind in files.formats:
        save(figure, files.folder / f"{drawing.name}.{kind}")
    return DrawnFigure(drawing.name, drawing.title, drawing.caption, tuple(inline_svgs(figure, drawing.name)))


def all_drawn(
    drawings: Iterable[Drawing], files: Files = NO_FILES, second: DrawingProcess | None = None
) -> list[DrawnFigure]:
    """All figures in their order; ``second`` draws as many as it can while this process makes data and draws.

    Which process draws a figure makes no difference to it. What the second process fails to draw is drawn here.
    """
    files.make_folder()
    waiting: SimpleQueue[Drawing | None] = SimpleQueue()
    order: list[str] = []
    found: dict[str, DrawnFigure] = {}

    def hand_over(to: DrawingProcess) -> Drawing | None:
        while (drawing := waiting.get()) is not None:
            try:
                found[drawing.name] = to.call(drawn, drawing, files)
            except (EOFError, OSError, pickle.PickleError, AttributeError):
                return drawing
        return None

    with ThreadPoolExecutor(1) as thread:
        failed = thread.submit(hand_over, second) if second else None
        try:
            for drawing in drawings:
                order.append(drawing.name)
                waiting.put(drawing)
            while (next_one := _next(waiting)) is not None:
                found[next_one.name] = drawn(next_one, files)
        finally:
            waiting.put(None)
    left = failed.result() if failed else None
    if left:
        found[left.name] = drawn(left, files)
    return [found[name] for name in order]


def _next(waiting: "SimpleQueue[Drawing | None]") -> Drawing | None:
    try:
        return waiting.get_nowait()
    except Empty:
        return None


def check_formats(formats: Sequence[str]) -> None:
    """Raise an OptionError unless every format is one that figures are drawn as."""
    for kind in formats:
        if kind not in FORMATS:
            raise OptionError(f"figures are drawn as {', '.join(FORMATS)}, not as '{kind}'", kind="format")
