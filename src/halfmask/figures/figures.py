"""All figures of a folder as files."""

from collections.abc import Sequence
from pathlib import Path

from halfmask.errors import OptionError, RunError
from halfmask.figures.inputs import Inputs
from halfmask.figures.registry import Drawing
from halfmask.figures.style import FORMATS, save


def write_figures(inputs: Inputs, drawn: Sequence[Drawing], formats: Sequence[str]) -> list[Path]:
    """The files of figures that are at hand already."""
    target = inputs.folder / "figures"
    try:
        target.mkdir(exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot make the folder {target}: {error.strerror or error}") from error
    written = []
    for drawing in drawn:
        figure = drawing.draw(2)
        written += [save(figure, target / f"{drawing.name}.{kind}") for kind in formats]
    return written


def check_formats(formats: Sequence[str]) -> None:
    """Raise an OptionError unless every format is one that figures are drawn as."""
    for kind in formats:
        if kind not in FORMATS:
            raise OptionError(f"figures are drawn as {', '.join(FORMATS)}, not as '{kind}'")
