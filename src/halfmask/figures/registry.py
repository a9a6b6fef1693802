"""The one list of all figures: data, caption, drawing, interactive twin and place on the page.

To add a figure, write a module with its four functions, as `halfmask.figures.trade_off` does, and add its entry here:
the report, its files and the explore page show it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from halfmask.figures import captions
from halfmask.figures.algorithm import Algorithm, algorithm_data, draw_algorithm
from halfmask.figures.equal_noise import draw_noise, noise_data
from halfmask.figures.equal_readings import (
    draw_equal_readings,
    equal_readings_caption,
    equal_readings_data,
    equal_readings_figure,
)
from halfmask.figures.equal_utility import draw_equal, equal_caption, equal_data, equal_figure
from halfmask.figures.error_distributions import cdf_data, draw_cdfs
from halfmask.figures.heatmaps import HeatMaps, draw_heatmaps, heatmap_data
from halfmask.figures.interactive.algorithm import algorithm_figure
from halfmask.figures.interactive.cloud import cloud_data
from halfmask.figures.interactive.curves import cdf_figure, noise_figure, users_figure
from halfmask.figures.interactive.heatmaps import heatmap_figure
from halfmask.figures.interactive.layout import Interactive
from halfmask.figures.interactive.protection import guarantee_figure, limit_figure, protection_figure
from halfmask.figures.interactive.readings import readings_figure
from halfmask.figures.interactive.trajectories import trajectory_figure
from halfmask.figures.lasting_promises import (
    LastingPromises,
    draw_lasting,
    lasting_caption,
    lasting_data,
    lasting_figure,
)
from halfmask.figures.limit_of_noise import LimitFigure, draw_limit, limit_caption, limit_data
from halfmask.figures.offer_beside_paper import draw_offer, offer_caption, offer_data, offer_figure
from halfmask.figures.protection import (
    Curves,
    ProtectionMeasures,
    curve_data,
    draw_curves,
    draw_protection,
    protection_data,
)
from halfmask.figures.readings import draw_readings
from halfmask.figures.results_folder import ResultsFolder
from halfmask.figures.simulated_days import draw_simulated, simulated_caption, simulated_figure
from halfmask.figures.trade_off import draw_trade_off, trade_off_caption, trade_off_data, trade_off_figure
from halfmask.figures.trajectories import Band, Trajectories, draw_trajectories, draw_users, trajectory_data, users_data
from halfmask.figures.what_money_buys import draw_pay, pay_caption, pay_data, pay_figure
from halfmask.menus.setting_protection import reports_a_day
from halfmask.profiles.show import ProfilePicture, picture_data

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Place = Literal["menu", "costs", "mixes", "protection", "pay", "data"]
"""Sections of the page, in its order."""
MORE_ELLIPSES = 16
"""Ellipses per bin of the interactive figure, which can be looked into."""


@dataclass(frozen=True)
class FigureKind:
    """A figure that a folder may have.

    ``data`` gives None where the folder lacks a part. ``follows_menu``: another menu, other weights or another
    constraint change it. A card is of the folder's own menu, and an audit takes longer than a page can wait: its
    figures stay. ``of_study``: it needs the study's samples.
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
    """The figures that the folder's parts allow; those of the study come last, and only then is it read."""
    for kind in sorted(FIGURES, key=lambda kind: kind.of_study):
        data = kind.data(inputs.whole if kind.of_study else inputs)
        if data is not None:
            yield Drawing(kind.name, kind.title, kind.caption(data), partial(kind.draw, data))


def interactive_figures(inputs: ResultsFolder, *, follows_menu: bool | None = None) -> Iterator[Interactive]:
    """The same figures to look into; only those that another menu changes, or that none does, where that is said."""
    for kind in FIGURES:
        if follows_menu is None or kind.follows_menu == follows_menu:
            data = kind.data(inputs)
            if data is not None:
                yield replace(kind.interactive(data, kind.caption(data), inputs), name=kind.name, title=kind.title)


def by_place(names: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
    """Of each section of the page, its figures among ``names``, numbered through the page."""
    shown = [kind for place in get_args(Place) for kind in FIGURES if kind.place == place and kind.name in names]
    found: dict[str, list[tuple[int, str]]] = {place: [] for place in get_args(Place)}
    for number, kind in enumerate(shown, start=1):
        found[kind.place].append((number, kind.name))
    return found


def _twin(figure: Callable[[Any, str], Interactive]) -> Callable[[Any, str, ResultsFolder], Interactive]:
    """A twin that needs no more than the drawing's data."""
    return lambda data, caption, _: figure(data, caption)


def _algorithm(inputs: ResultsFolder) -> Algorithm | None:
    return algorithm_data(inputs.samples, inputs.menu) if inputs.samples and inputs.menu else None


def _algorithm_twin(data: Algorithm, caption: str, inputs: ResultsFolder) -> Interactive:
    """More ellipses, and the caption says how many."""
    if inputs.samples and inputs.menu:
        data = algorithm_data(inputs.samples, inputs.menu, MORE_ELLIPSES)
        caption = captions.algorithm_caption(data)
    return algorithm_figure(data, caption)


def _users(inputs: ResultsFolder) -> dict[str, Band] | None:
    of_menu = inputs.of_menu
    return users_data(of_menu) if of_menu and len(set(of_menu.users.tolist())) > 1 else None


def _trajectories_twin(data: Trajectories, caption: str, inputs: ResultsFolder) -> Interactive:
    clouds = cloud_data(inputs.samples) if inputs.samples else {}
    return trajectory_figure(data, clouds, inputs.menu, caption)


def _mixes(inputs: ResultsFolder) -> HeatMaps | None:
    found = heatmap_data(inputs.mix, inputs.menu) if inputs.mix and inputs.menu else None
    return found if found and len(found.shares) else None


def _protection(inputs: ResultsFolder) -> ProtectionMeasures | None:
    found = protection_data(inputs.card) if inputs.card else None
    return found if found and found.ids else None


def _guarantees(inputs: ResultsFolder) -> Curves | None:
    found = curve_data(inputs.card, inputs.unit) if inputs.card else None
    return found if found and found.one else None


def _lasting(inputs: ResultsFolder) -> LastingPromises | None:
    return lasting_data(inputs.offer, reports_a_day(inputs.profile)) if inputs.profile else None


def _limit(inputs: ResultsFolder) -> LimitFigure | None:
    if not inputs.card or not inputs.menu:
        return None
    return limit_data(inputs.card, inputs.menu, inputs.samples, inputs.unit)


def _readings(inputs: ResultsFolder) -> ProfilePicture | None:
    if not inputs.profile or not inputs.profile.readings:
        return None
    return replace(picture_data(inputs.profile), unit=inputs.unit)


FIGURES = (
    FigureKind(
        "offer", "The offer beside the paper's menu", "menu",
        lambda inputs: offer_data(inputs.offer, inputs.menu), offer_caption, draw_offer, _twin(offer_figure),
        follows_menu=True,
    ),
    FigureKind(
        "algorithm", "How the menu is chosen", "menu", _algorithm, captions.algorithm_caption, draw_algorithm,
        _algorithm_twin, follows_menu=True, of_study=True,
    ),
    FigureKind(
        "users", "More users, better totals", "menu", _users, captions.users_caption, draw_users,
        lambda data, caption, inputs: users_figure(data, inputs.menu, caption), follows_menu=True,
        of_study=True,
    ),
    FigureKind(
        "trajectories", "What privacy costs", "costs",
        lambda inputs: trajectory_data(inputs.samples, inputs.of_menu) if inputs.samples else None,
        captions.trajectory_caption, draw_trajectories, _trajectories_twin, follows_menu=True,
        of_study=True,
    ),
    FigureKind(
        "noise", "Mechanisms at equal noise", "costs",
        lambda inputs: (noise_data(inputs.samples, unit=inputs.unit) or None) if inputs.samples else None,
        captions.noise_caption, draw_noise, _twin(noise_figure), follows_menu=True, of_study=True,
    ),
    FigureKind(
        "cdfs", "Errors by mechanism", "costs",
        lambda inputs: cdf_data(inputs.samples) if inputs.samples else None,
        captions.cdf_caption, draw_cdfs, _twin(cdf_figure), of_study=True,
    ),
    FigureKind(
        "mixes", "When everyone chooses freely", "mixes", _mixes, captions.heatmap_caption, draw_heatmaps,
        _twin(heatmap_figure), follows_menu=True,
    ),
    FigureKind(
        "protection", "Score and attacks", "protection", _protection, captions.protection_caption, draw_protection,
        _twin(protection_figure),
    ),
    FigureKind(
        "guarantees", "What is guaranteed", "protection", _guarantees, captions.curves_caption, draw_curves,
        _twin(guarantee_figure),
    ),
    FigureKind(
        "trade-off", "How an attacker errs", "protection",
        lambda inputs: trade_off_data(inputs.card, inputs.unit) if inputs.card else None,
        trade_off_caption, draw_trade_off, _twin(trade_off_figure),
    ),
    FigureKind(
        "equal-readings", "One secret, told many times", "protection",
        lambda inputs: equal_readings_data(inputs.card, inputs.unit) if inputs.card else None,
        equal_readings_caption, draw_equal_readings, _twin(equal_readings_figure),
    ),
    FigureKind(
        "lasting", "How long the offer's promises last", "protection",
        _lasting, lasting_caption, draw_lasting, _twin(lasting_figure),
    ),
    FigureKind(
        "limit", "How good noise can be", "protection",
        _limit, limit_caption, draw_limit, _twin(limit_figure), of_study=True,
    ),
    FigureKind(
        "pay", "What money buys", "pay", lambda inputs: pay_data(inputs.schedule) if inputs.schedule else None,
        pay_caption, draw_pay, _twin(pay_figure),
    ),
    FigureKind(
        "equal-utility", "More producers against less noise", "pay",
        lambda inputs: equal_data(inputs.schedule) if inputs.schedule else None,
        equal_caption, draw_equal, _twin(equal_figure),
    ),
    FigureKind(
        "simulated", "A population, day by day", "pay", lambda inputs: inputs.days,
        simulated_caption, draw_simulated, _twin(simulated_figure),
    ),
    FigureKind(
        "readings", "The readings", "data",
        _readings, captions.readings_caption, draw_readings, _twin(readings_figure),
    ),
)  # fmt: skip
"""In the order of the report."""
