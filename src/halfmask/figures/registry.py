"""The one list of all figures: data, caption, drawing, interactive form and place on the page.

To add a figure, write a module with its data, caption and plot, as `halfmask.figures.trade_off` does, and add its
entry here. The report, its files and the explore page then show it.

`all_drawn` draws them: panels for a page, and files.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from halfmask.errors import OptionError, RunError
from halfmask.figures.algorithm import Algorithm, algorithm_caption, algorithm_data, algorithm_figure, draw_algorithm
from halfmask.figures.equal_noise import noise_caption, noise_data, noise_plot
from halfmask.figures.equal_readings import equal_readings_caption, equal_readings_data, equal_readings_plot
from halfmask.figures.equal_utility import equal_caption, equal_data, equal_plot
from halfmask.figures.error_distributions import cdf_caption, cdf_data, cdf_plot
from halfmask.figures.guarantee_curves import guarantee_caption, guarantee_data, guarantee_plot
from halfmask.figures.heatmaps import draw_heatmaps, heatmap_caption, heatmap_data, heatmap_figure
from halfmask.figures.interactive import Interactive
from halfmask.figures.lasting_promises import lasting_caption, lasting_data, lasting_plot
from halfmask.figures.limit_of_noise import LimitFigure, limit_caption, limit_data, limit_plot
from halfmask.figures.offer_beside_paper import draw_offer, offer_caption, offer_data, offer_figure
from halfmask.figures.plot import Plot
from halfmask.figures.readings_overview import draw_readings, readings_caption, readings_figure
from halfmask.figures.results_folder import ResultsFolder
from halfmask.figures.score_and_attacks import protection_caption, protection_data, protection_plot
from halfmask.figures.simulated_days import simulated_caption, simulated_plot
from halfmask.figures.style import FORMATS, inline_svgs, save
from halfmask.figures.trade_off import trade_off_caption, trade_off_data, trade_off_plot
from halfmask.figures.trajectories import Trajectories, cloud_data, trajectory_caption, trajectory_data, trajectory_plot
from halfmask.figures.utility_by_users import users_caption, users_data, users_plot
from halfmask.figures.what_money_buys import pay_caption, pay_data, pay_plot
from halfmask.menus.setting_protection import reports_a_day
from halfmask.profiles.show import picture_data

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Place = Literal["menu", "costs", "mixes", "protection", "pay", "data"]
"""Sections of the page, in its order."""
MORE_ELLIPSES = 16
"""Ellipses per bin of the interactive figure, which can be looked into."""


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure that a folder may have.

    ``data``          the function that returns its data; None if the folder lacks a part
    ``follows_menu``  whether another menu, other weights or another constraint change it
    ``of_study``      whether it needs the study's samples

    Figures of a card do not follow the menu: the card is of the folder's own menu, and a new audit takes too long.
    """

    name: str
    title: str
    place: Place
    data: Callable[[ResultsFolder], Any]
    caption: Callable[[Any], str]
    draw: "Callable[[Any], Figure]"
    interactive: Callable[[Any, str, ResultsFolder], Interactive]
    follows_menu: bool = False
    of_study: bool = False


@dataclass(frozen=True)
class Drawing:
    """A figure to be drawn, with what a page says of it."""

    name: str
    title: str
    caption: str
    draw: "Callable[[], Figure]"


def drawings(inputs: ResultsFolder) -> Iterator[Drawing]:
    """Yield the figures that the folder's parts allow. Those of the study come last, because it is read only then."""
    for kind in sorted(FIGURES, key=lambda kind: kind.of_study):
        data = kind.data(inputs.whole if kind.of_study else inputs)
        if data is not None:
            yield Drawing(kind.name, kind.title, kind.caption(data), partial(kind.draw, data))


def interactive_figures(inputs: ResultsFolder, *, follows_menu: bool | None = None) -> Iterator[Interactive]:
    """Yield the interactive figures that the folder's parts allow.

    ``follows_menu``: True selects those that follow the menu, False the others, None all.
    """
    for kind in FIGURES:
        if follows_menu is None or kind.follows_menu == follows_menu:
            data = kind.data(inputs)
            if data is not None:
                yield replace(kind.interactive(data, kind.caption(data), inputs), name=kind.name, title=kind.title)


def by_place(names: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
    """Return for each section of the page those of its figures that are in ``names``, numbered through the page."""
    shown = [kind for place in get_args(Place) for kind in FIGURES if kind.place == place and kind.name in names]
    found: dict[str, list[tuple[int, str]]] = {place: [] for place in get_args(Place)}
    for number, kind in enumerate(shown, start=1):
        found[kind.place].append((number, kind.name))
    return found


def _of(part: str, data: Callable[..., Any]) -> Callable[[ResultsFolder], Any]:
    """Return a function that takes a figure's data from one part of the folder.

    It returns None if the part is missing.
    """
    return lambda inputs: None if getattr(inputs, part) is None else data(getattr(inputs, part))


def _filled(found: Any, part: str) -> Any:
    """Return a figure's data; None if nothing is in the named part of it."""
    return found if len(getattr(found, part)) else None


def _with_unit(data: Callable[..., Any]) -> Callable[[ResultsFolder], Any]:
    """Return a function that makes a figure's data from the card and the unit of readings.

    It returns None without a card.
    """
    return lambda inputs: None if inputs.card is None else data(inputs.card, inputs.unit)


def _drawn(plot: Callable[[Any], Plot], data: Any) -> "Figure":
    return plot(data).draw()


def _both(
    plot: Callable[[Any], Plot],
) -> "tuple[Callable[[Any], Figure], Callable[[Any, str, ResultsFolder], Interactive]]":
    """Return the functions that draw a declared plot and that make it interactive."""
    return partial(_drawn, plot), lambda data, caption, _: plot(data).interactive(caption)


def _algorithm(inputs: ResultsFolder) -> Algorithm | None:
    return algorithm_data(inputs.samples, inputs.menu) if inputs.samples and inputs.menu else None


def _algorithm_twin(data: Algorithm, caption: str, inputs: ResultsFolder) -> Interactive:
    """Return the interactive figure, which has more ellipses; the caption says how many."""
    if inputs.samples and inputs.menu:
        data = algorithm_data(inputs.samples, inputs.menu, MORE_ELLIPSES)
        caption = algorithm_caption(data)
    return algorithm_figure(data, caption)


def _trajectories_twin(data: Trajectories, caption: str, inputs: ResultsFolder) -> Interactive:
    """Return the interactive figure, which also has single settings; the caption says how many."""
    clouds = cloud_data(inputs.samples) if inputs.samples else {}
    if clouds:
        drawn, of = sum(len(each.settings) for each in clouds.values()), sum(each.of for each in clouds.values())
        caption += f" Points over the first panel are single settings at their medians: {drawn:,} of {of:,} are drawn."
    return trajectory_plot(data, clouds, inputs.menu).interactive(caption)


def _limit(inputs: ResultsFolder) -> LimitFigure | None:
    return limit_data(inputs.card, inputs.menu, inputs.samples, inputs.unit) if inputs.card and inputs.menu else None


FIGURES = (
    FigureKind(
        "offer", "The offer beside the paper's menu", "menu",
        lambda inputs: offer_data(inputs.offer, inputs.menu), offer_caption, draw_offer,
        lambda data, caption, _: offer_figure(data, caption), follows_menu=True,
    ),
    FigureKind(
        "algorithm", "How the menu is chosen", "menu", _algorithm, algorithm_caption, draw_algorithm, _algorithm_twin,
        follows_menu=True, of_study=True,
    ),
    FigureKind(
        "users", "More users, better totals", "menu", _of("of_menu", users_data), users_caption,
        partial(_drawn, users_plot),
        lambda data, caption, inputs: users_plot(data, inputs.menu).interactive(caption),
        follows_menu=True, of_study=True,
    ),
    FigureKind(
        "trajectories", "What privacy costs", "costs",
        lambda inputs: trajectory_data(inputs.samples, inputs.of_menu) if inputs.samples else None,
        trajectory_caption, partial(_drawn, trajectory_plot), _trajectories_twin, follows_menu=True, of_study=True,
    ),
    FigureKind(
        "noise", "Mechanisms at equal noise", "costs",
        lambda inputs: (noise_data(inputs.samples, unit=inputs.unit) or None) if inputs.samples else None,
        noise_caption, *_both(noise_plot), follows_menu=True, of_study=True,
    ),
    FigureKind(
        "cdfs", "Errors by mechanism", "costs", _of("samples", cdf_data), cdf_caption, *_both(cdf_plot), of_study=True,
    ),
    FigureKind(
        "mixes", "When everyone chooses freely", "mixes",
        lambda inputs: _filled(heatmap_data(inputs.mix, inputs.menu), "shares") if inputs.mix and inputs.menu else None,
        heatmap_caption, draw_heatmaps, lambda data, caption, _: heatmap_figure(data, caption), follows_menu=True,
    ),
    FigureKind(
        "protection", "Score and attacks", "protection",
        lambda inputs: _filled(protection_data(inputs.card), "ids") if inputs.card else None,
        protection_caption, *_both(protection_plot),
    ),
    FigureKind(
        "guarantees", "What is guaranteed", "protection",
        lambda inputs: _filled(guarantee_data(inputs.card, inputs.unit), "one") if inputs.card else None,
        guarantee_caption, *_both(guarantee_plot),
    ),
    FigureKind(
        "trade-off", "How an attacker errs", "protection", _with_unit(trade_off_data), trade_off_caption,
        *_both(trade_off_plot),
    ),
    FigureKind(
        "equal-readings", "One secret, told many times", "protection", _with_unit(equal_readings_data),
        equal_readings_caption, *_both(equal_readings_plot),
    ),
    FigureKind(
        "lasting", "How long the offer's promises last", "protection",
        lambda inputs: lasting_data(inputs.offer, reports_a_day(inputs.profile)) if inputs.profile else None,
        lasting_caption, *_both(lasting_plot),
    ),
    FigureKind(
        "limit", "How good noise can be", "protection", _limit, limit_caption, *_both(limit_plot), of_study=True,
    ),
    FigureKind("pay", "What money buys", "pay", _of("schedule", pay_data), pay_caption, *_both(pay_plot)),
    FigureKind(
        "equal-utility", "More producers against less noise", "pay", _of("schedule", equal_data), equal_caption,
        *_both(equal_plot),
    ),
    FigureKind(
        "simulated", "A population, day by day", "pay", lambda inputs: inputs.days, simulated_caption,
        *_both(simulated_plot),
    ),
    FigureKind(
        "readings", "The readings", "data",
        lambda inputs: replace(picture_data(inputs.profile), unit=inputs.unit)
        if inputs.profile and inputs.profile.readings else None,
        readings_caption, draw_readings, lambda data, caption, _: readings_figure(data, caption),
    ),
)  # fmt: skip
"""In the order of the report."""


@dataclass(frozen=True)
class DrawnFigure:
    """A figure for a page; each panel is an ``<svg>``."""

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
