"""Every figure of a report: its data, its words and its drawing, and all of them as files."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask.errors import OptionError, RunError
from halfmask.figures import captions
from halfmask.figures.algorithm import algorithm_data, draw_algorithm
from halfmask.figures.distributions import cdf_data, draw_cdfs
from halfmask.figures.heatmaps import draw_heatmaps, heatmap_data
from halfmask.figures.inputs import Inputs, read_inputs
from halfmask.figures.limit import draw_limit, limit_caption, limit_data
from halfmask.figures.noise import draw_noise, noise_data
from halfmask.figures.protection import curve_data, draw_curves, draw_protection, protection_data
from halfmask.figures.readings import draw_readings
from halfmask.figures.style import FORMATS, save
from halfmask.figures.trajectories import draw_trajectories, draw_users, trajectory_data, users_data
from halfmask.profiles.show import picture_data

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawing:
    """A figure to be drawn with so many panels a row: ``draw(2)`` for paper and desk, ``draw(1)`` for a phone."""

    name: str
    title: str
    caption: str
    draw: "Callable[[int], Figure]"


def drawings(inputs: Inputs) -> Iterator[Drawing]:
    """The figures that the folder's parts allow, in the order of the report."""
    samples, menu = inputs.samples, inputs.menu
    if samples and menu:
        steps = algorithm_data(samples, menu)
        told = captions.algorithm_caption(steps, samples)
        yield Drawing("algorithm", "How the menu is chosen", told, partial(draw_algorithm, steps))
    if inputs.of_menu and len(set(inputs.of_menu.users.tolist())) > 1:
        growth = users_data(inputs.of_menu)
        told = captions.users_caption(growth)
        yield Drawing("users", "More users, better totals", told, partial(draw_users, growth))
    if samples:
        paths = trajectory_data(samples, inputs.of_menu)
        told = captions.trajectory_caption(paths)
        yield Drawing("trajectories", "What privacy costs", told, partial(draw_trajectories, paths))
        amounts = noise_data(samples)
        if amounts:
            told = captions.noise_caption(amounts)
            yield Drawing("noise", "Mechanisms at equal noise", told, partial(draw_noise, amounts))
        curves = cdf_data(samples)
        yield Drawing("cdfs", "Errors by mechanism", captions.cdf_caption(curves), partial(draw_cdfs, curves))
    if inputs.mix and menu:
        maps = heatmap_data(inputs.mix, menu)
        if len(maps.shares):
            told = captions.heatmap_caption(maps)
            yield Drawing("mixes", "When everyone chooses freely", told, partial(draw_heatmaps, maps))
    if inputs.card:
        measured = protection_data(inputs.card)
        if measured.ids:
            told = captions.protection_caption(measured)
            yield Drawing("protection", "Score and attacks", told, partial(draw_protection, measured))
            bounds = curve_data(inputs.card)
            told = captions.curves_caption(bounds)
            yield Drawing("guarantees", "What is guaranteed", told, partial(draw_curves, bounds))
        limit = limit_data(inputs.card, menu, samples) if menu else None
        if limit:
            yield Drawing("limit", "How good noise can be", limit_caption(limit), partial(draw_limit, limit))
    if inputs.profile and inputs.profile.readings:
        picture = picture_data(inputs.profile)
        told = "How large readings are, on a logarithmic axis, and the total of each period over time."
        yield Drawing("readings", "The readings", told, partial(draw_readings, picture))


def save_figures(folder: str | Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Draw every figure of a folder to ``folder/figures/NAME.png|svg|pdf``; equal inputs give equal bytes."""
    check_formats(formats)
    inputs = read_inputs(folder)
    return write_figures(inputs, list(drawings(inputs)), formats)


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
