"""All figures of a folder, drawn: panels for a page, and files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from halfmask.errors import OptionError, RunError
from halfmask.figures.registry import Drawing
from halfmask.figures.style import FORMATS, inline_svgs, save


@dataclass(frozen=True)
class DrawnFigure:
    """A figure as a page shows it: each panel is an ``<svg>``."""

    name: str
    title: str
    caption: str
    panels: tuple[str, ...]


def all_drawn(
    drawings: Iterable[Drawing], folder: Path = Path("figures"), formats: Sequence[str] = ()
) -> list[DrawnFigure]:
    """Draw each figure once, for the page and for files in the folder, one per format.

    Without a format no file is written. A folder that cannot be made is a RunError.
    """
    try:
        if formats:
            folder.mkdir(exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot make the folder {folder}: {error.strerror or error}", kind="folder") from error
    found = []
    for each in drawings:
        figure = each.draw()
        for kind in formats:
            save(figure, folder / f"{each.name}.{kind}")
        found.append(DrawnFigure(each.name, each.title, each.caption, tuple(inline_svgs(figure, each.name))))
    return found


def check_formats(formats: Sequence[str]) -> None:
    """Raise an OptionError unless every format is one that figures are drawn as."""
    for kind in formats:
        if kind not in FORMATS:
            raise OptionError(f"figures are drawn as {', '.join(FORMATS)}, not as '{kind}'", kind="format")
