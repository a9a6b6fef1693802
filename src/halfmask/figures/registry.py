"""The list of all figures, each with data, caption, drawing and place on the page.

To add a figure, write a module with its data, caption and plot, like `halfmask.figures.trade_off`, and add an entry
here. The report and its files then contain it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from halfmask.errors import OptionError, RunError
from halfmask.figures import (
    algorithm,
    equal_noise,
    equal_readings,
    equal_utility,
    error_distributions,
    guarantee_curves,
    heatmaps,
    lasting_promises,
    limit_of_noise,
    offer_beside_paper,
    promises_and_errors,
    readings_overview,
    score_and_attacks,
    simulated_days,
    trade_off,
    trajectories,
    utility_by_users,
    what_money_buys,
)
from halfmask.figures.plot import Plot
from halfmask.figures.results_folder import ResultsFolder
from halfmask.figures.style import FORMATS, Figure, inline_svgs, save
from halfmask.menus.question import reports_a_day
from halfmask.profiles.show import picture_data

Place = Literal["cover", "offer", "menu", "costs", "mixes", "protection", "pay", "data"]
"""Sections of the page, in order."""


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure.

    ``data``      returns the figure's data; None if the folder lacks a part
    ``of_study``  whether it needs the study's samples
    """

    name: str
    title: str
    place: Place
    data: Callable[[ResultsFolder], Any]
    caption: Callable[[Any], str]
    draw: Callable[[Any], Figure]
    of_study: bool = False


@dataclass(frozen=True)
class Drawing:
    """A figure to be drawn, with its title and caption."""

    name: str
    title: str
    caption: str
    draw: Callable[[], Figure]


def drawings(inputs: ResultsFolder) -> Iterator[Drawing]:
    """Yield the figures for which a folder has the parts. Those that need the study come last, because it is read only
    then.
    """
    for kind in sorted(FIGURES, key=lambda kind: kind.of_study):
        data = kind.data(inputs.whole if kind.of_study else inputs)
        if data is not None:
            yield Drawing(kind.name, kind.title, kind.caption(data), partial(kind.draw, data))


def by_place(names: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
    """Return, for each section of the page, its figures that are in ``names``, with consecutive numbers."""
    shown = [kind for place in get_args(Place) for kind in FIGURES if kind.place == place and kind.name in names]
    found: dict[str, list[tuple[int, str]]] = {place: [] for place in get_args(Place)}
    for number, kind in enumerate(shown, start=1):
        found[kind.place].append((number, kind.name))
    return found


def _of(data: Callable[..., Any], *parts: str) -> Callable[[ResultsFolder], Any]:
    """Return a function that computes a figure's data from parts of a folder, or returns None if one is missing."""

    def made(inputs: ResultsFolder) -> Any:
        held = [getattr(inputs, part) for part in parts]
        return None if any(each is None for each in held) else data(*held)

    return made


def _filled(data: Callable[[ResultsFolder], Any], part: str) -> Callable[[ResultsFolder], Any]:
    """Return a function that computes a figure's data, or returns None if the named field of the data is empty."""
    return lambda inputs: found if (found := data(inputs)) is not None and len(getattr(found, part)) else None


def _drawn(plot: Callable[[Any], Plot], data: Any) -> Figure:
    return plot(data).draw()


def _plotted(plot: Callable[[Any], Plot]) -> Callable[[Any], Figure]:
    """Return a function that draws a declared plot."""
    return partial(_drawn, plot)


FIGURES = (
    FigureKind(
        "levels", "What each level promises, and what it costs", "cover",
        lambda inputs: promises_and_errors.promises_and_errors_data(inputs.offer, inputs.profile),
        promises_and_errors.promises_and_errors_caption, _plotted(promises_and_errors.promises_and_errors_plot),
    ),
    FigureKind(
        "offer", "The offer beside the paper's menu", "menu",
        _of(offer_beside_paper.offer_data, "offer", "menu"),
        offer_beside_paper.offer_caption, _plotted(offer_beside_paper.offer_plot),
    ),
    FigureKind(
        "algorithm", "How the menu is chosen", "menu",
        _of(algorithm.algorithm_data, "samples", "menu"),
        algorithm.algorithm_caption, algorithm.draw_algorithm, of_study=True,
    ),
    FigureKind(
        "users", "More users, better totals", "menu",
        _of(utility_by_users.users_data, "of_menu"),
        utility_by_users.users_caption, _plotted(utility_by_users.users_plot), of_study=True,
    ),
    FigureKind(
        "trajectories", "What privacy costs", "costs",
        lambda inputs: trajectories.trajectory_data(inputs.samples, inputs.of_menu) if inputs.samples else None,
        trajectories.trajectory_caption, partial(_drawn, trajectories.trajectory_plot), of_study=True,
    ),
    FigureKind(
        "noise", "Mechanisms at equal noise", "costs",
        lambda inputs: (equal_noise.noise_data(inputs.samples, unit=inputs.unit) or None) if inputs.samples else None,
        equal_noise.noise_caption, _plotted(equal_noise.noise_plot), of_study=True,
    ),
    FigureKind(
        "cdfs", "Errors by mechanism", "costs",
        _of(error_distributions.cdf_data, "samples"),
        error_distributions.cdf_caption, _plotted(error_distributions.cdf_plot), of_study=True,
    ),
    FigureKind(
        "mixes", "When everyone chooses freely", "mixes",
        _filled(_of(heatmaps.heatmap_data, "mix", "menu"), "shares"),
        heatmaps.heatmap_caption, heatmaps.draw_heatmaps,
    ),
    FigureKind(
        "protection", "Score and attacks", "protection",
        _filled(_of(score_and_attacks.protection_data, "card"), "ids"),
        score_and_attacks.protection_caption, _plotted(score_and_attacks.protection_plot),
    ),
    FigureKind(
        "guarantees", "What is guaranteed", "protection",
        _filled(_of(guarantee_curves.guarantee_data, "card", "unit"), "one"),
        guarantee_curves.guarantee_caption, _plotted(guarantee_curves.guarantee_plot),
    ),
    FigureKind(
        "trade-off", "How an attacker errs", "protection",
        _of(trade_off.trade_off_data, "card", "unit"),
        trade_off.trade_off_caption, _plotted(trade_off.trade_off_plot),
    ),
    FigureKind(
        "equal-readings", "One secret, told many times", "protection",
        _of(equal_readings.equal_readings_data, "card", "unit"),
        equal_readings.equal_readings_caption, _plotted(equal_readings.equal_readings_plot),
    ),
    FigureKind(
        "lasting", "How long the offer's promises last", "offer",
        lambda inputs: lasting_promises.lasting_data(inputs.offer, reports_a_day(inputs.profile))
        if inputs.profile else None,
        lasting_promises.lasting_caption, _plotted(lasting_promises.lasting_plot),
    ),
    FigureKind(
        "limit", "How good noise can be", "protection",
        lambda inputs: inputs.card and inputs.menu
        and limit_of_noise.limit_data(inputs.card, inputs.menu, inputs.samples, inputs.unit),
        limit_of_noise.limit_caption, _plotted(limit_of_noise.limit_plot), of_study=True,
    ),
    FigureKind(
        "pay", "What money buys", "pay",
        _of(what_money_buys.pay_data, "schedule"),
        what_money_buys.pay_caption, _plotted(what_money_buys.pay_plot),
    ),
    FigureKind(
        "equal-utility", "More producers against less noise", "pay",
        _of(equal_utility.equal_data, "schedule"),
        equal_utility.equal_caption, _plotted(equal_utility.equal_plot),
    ),
    FigureKind(
        "simulated", "A population, day by day", "pay",
        lambda inputs: inputs.days,
        simulated_days.simulated_caption, _plotted(simulated_days.simulated_plot),
    ),
    FigureKind(
        "readings", "The readings", "data",
        lambda inputs: replace(picture_data(inputs.profile), unit=inputs.unit)
        if inputs.profile and inputs.profile.readings else None,
        readings_overview.readings_caption, _plotted(readings_overview.readings_plot),
    ),
)  # fmt: skip
"""In the order of the report."""


@dataclass(frozen=True)
class DrawnFigure:
    """A figure for a page. Each panel is an ``<svg>``."""

    name: str
    title: str
    caption: str
    panels: tuple[str, ...]


def all_drawn(
    drawings: Iterable[Drawing], folder: Path = Path("figures"), formats: Sequence[str] = ()
) -> list[DrawnFigure]:
    """Draw each figure once, for the page and as a file of each format.

    Raise a RunError if the folder cannot be created.
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
    """Raise an OptionError if figures cannot be drawn in one of these formats."""
    for kind in formats:
        if kind not in FORMATS:
            raise OptionError(f"figures are drawn as {', '.join(FORMATS)}, not as '{kind}'", kind="format")
