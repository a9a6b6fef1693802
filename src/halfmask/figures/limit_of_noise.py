"""The limit of all additive noise, the noise that reaches it, and how easily that noise is undone."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.audits.card import ReportCard
from halfmask.audits.noise_at_equal_utility import FAMILIES, LIMIT, SHOWN, NoiseAtEqualUtility
from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot, score_scale
from halfmask.figures.study_samples import Samples
from halfmask.figures.style import INK, MENU_LOOK, line_style
from halfmask.figures.trajectories import NEAR, Band, band_over_privacy, one_label_each
from halfmask.figures.wording import in_unit
from halfmask.menus.menu import Menu

DENSEST = 5.0  # higher peaks are cut off, so that the other densities remain visible


@dataclass(frozen=True)
class LimitFigure:
    """The data of the figure.

    ``noise``   the limit and three families of noise, from the card
    ``bands``   by mechanism, utility over privacy of the study's settings
    ``near``    by menu id, standard deviation of the noise, and privacy as a share of the limit
    ``places``  by menu id, privacy and utility
    """

    noise: NoiseAtEqualUtility
    bands: dict[str, Band]
    near: dict[str, tuple[float, float]]
    places: dict[str, tuple[float, float]]
    unit: str = ""


def limit_data(card: ReportCard, menu: Menu, samples: Samples | None, unit: str = "") -> LimitFigure | None:
    """Return the figure's data; None if the card lacks the limit. Without a study, ``bands`` is empty."""
    if card.noise is None:
        return None
    near = {
        each.id: (std, each.limit.share)
        for each in card.cards
        if each.limit and each.limit.share is not None and (std := menu[each.id].noise_std)
    }
    return LimitFigure(
        noise=card.noise,
        bands=_by_mechanism(samples) if samples else {},
        near=near,
        places={each.id: (each.privacy.median, each.utility.median) for each in menu.settings},
        unit=unit,
    )


def _by_mechanism(samples: Samples) -> dict[str, Band]:
    """Return utility over privacy by mechanism. Each setting is one point, at the medians of its samples."""
    q, u = samples.scores["privacy_median"], samples.scores["utility_median"]
    of = {name: samples.kept & (samples.mechanisms == name) for name in samples.names() if name != "none"}
    return {name: band_over_privacy(q[rows], u[rows]) for name, rows in of.items() if rows.any()}


def limit_plot(data: LimitFigure) -> Plot:
    """Plot the limit with the study's settings, how near noise comes to it, its density, and its protection."""
    noise = data.noise
    paths = [
        Mark(name, at.at, at.high, _look(name),
             label=f"best {name}")
        for name, at in data.bands.items()
    ]  # fmt: skip
    paths.append(Mark(LIMIT, noise.privacy, noise.utility, _look(LIMIT)))
    texts = one_label_each(list(data.places), *zip(*data.places.values(), strict=True))
    sides = ["bottom left" if q > 2 * NEAR else "top right" for q, _ in data.places.values()]
    paths.append(_menu(data.places, texts, sides))  # no line is drawn there
    near = {id: (size, 100 * part) for id, (size, part) in data.near.items() if size >= noise.deviation[0]}
    shares = [
        Mark(
            name,
            noise.deviation,
            100 * share,
            _look(name),
        )
        for name, share in noise.shares.items()
    ]
    shares.append(_menu(near, list(near), ["bottom left"] * len(near)))
    low = min(float(np.min(mark.y)) for mark in shares if len(mark.y))
    of_limit = PlotAxis("privacy, % of the limit", limits=(low - 0.35 * (100 - low), 100 + 0.05 * (100 - low)))
    size = PlotAxis(in_unit("noise deviation", data.unit), log=True)
    deviations, top = PlotAxis("|noise| in deviations", limits=(0, SHOWN)), 1.15 * float(noise.laws[LIMIT].max())
    density = PlotAxis("density", limits=(0, min(top, DENSEST)))
    left = PlotAxis("error of the best guess (deviations of the readings)", limits=(0, 1))
    title = "The limit of all additive noise"
    least = min([float(np.min(noise.utility)), *(u for _, u in data.places.values())])
    utility = PlotAxis("utility", limits=(least - 0.25 * (1 - least), 1 + 0.1 * (1 - least)))  # with room for names
    return Plot(
        [
            Subplot(title, score_scale("privacy"), utility, paths, legend="lower left"),
            Subplot("How close noise comes to it", size, of_limit, shares, 100, legend="lower right", columns=3),
            Subplot(
                f"The noise, at deviation {noise.chosen:.2g} {data.unit}".strip(),
                deviations,
                density,
                _curves(noise.laws, noise.at),
                legend="upper right",
            ),
            Subplot(
                "What the best guess leaves", size, left, _curves(noise.errors, noise.deviation), legend="upper left"
            ),
        ],
        inches=3.2,
    )


def _curves(of: dict[str, FloatArray], at: FloatArray) -> list[Mark]:
    return [Mark(name, at, values, _look(name)) for name, values in of.items()]


def _menu(places: dict[str, tuple[float, float]], texts: list[str], sides: list[str]) -> Mark:
    """Return the menu's settings as labelled points."""
    x, y = ([place[axis] for place in places.values()] for axis in (0, 1))
    return Mark("menu", x, y, MENU_LOOK, shape="points", texts=texts, sides=sides, label="")


def _look(name: str) -> dict[str, Any]:
    """Return the style of a curve. The limit is black; other curves have fixed colours."""
    if name == LIMIT:
        return {"color": INK, "linestyle": "-", "linewidth": 2.4}
    order = [*FAMILIES[:2], "menu", *FAMILIES[2:]]
    return line_style(order.index(name) if name in order else len(order))


def limit_caption(data: LimitFigure) -> str:
    """Return the caption with the figure's numbers."""
    reached = np.stack(list(data.noise.shares.values()))
    last = {name: float(error[-1]) for name, error in data.noise.errors.items()}
    best = max(FAMILIES, key=lambda name: last[name])
    return (
        "The limit is the most privacy that any additive noise of a deviation, and so of a utility, can have on these "
        "readings; below it lie the study's best settings of each mechanism, and the menu (dots). "
        f"Laplace, one-term sine and Gaussian noise reach {reached.min():.0%} to {reached.max():.0%} of it. "
        "What to see: the noise that reaches the limit has nearly one magnitude, so that little but its sign is left "
        f"to guess. At the largest noise drawn the best guess of a reading errs by {last[LIMIT]:.2f} deviations of the "
        f"readings, against {last[best]:.2f} under {best} noise; 1 would be a report that tells nothing. The score "
        "alone must not decide."
    )
