"""The limit of all additive noise over the trajectories, the noise that reaches it, and how easily that is undone."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.audits.card import ReportCard
from halfmask.audits.noise_at_equal_utility import FAMILIES, LIMIT, SHOWN, NoiseAtEqualUtility
from halfmask.figures.study_samples import Samples
from halfmask.figures.style import INK, PALETTE, in_unit, look, panels, plain_log
from halfmask.figures.trajectories import NEAR, Band, band_over_privacy
from halfmask.menus.menu import Menu

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DENSEST = 5.0  # higher peaks are cut, so that the other laws can be seen


@dataclass(frozen=True)
class LimitFigure:
    """Everything that the figure of the limit draws.

    ``noise``   the limit and three families of noise, as the card has them
    ``bands``   utility over privacy of the study's settings, each at its medians, by mechanism
    ``near``    by id of the menu: deviation of its noise, and its privacy as a share of the limit
    ``places``  by id of the menu: privacy and utility
    """

    noise: NoiseAtEqualUtility
    bands: dict[str, Band]
    near: dict[str, tuple[float, float]]
    places: dict[str, tuple[float, float]]
    unit: str = ""

    @property
    def deviation(self) -> str:
        """What the axis of deviations is."""
        return in_unit("noise deviation", self.unit)

    @property
    def title(self) -> str:
        """Of the panel of laws."""
        return f"The noise, at deviation {self.noise.chosen:.2g} {self.unit}".strip()


def limit_data(card: ReportCard, menu: Menu, samples: Samples | None, unit: str = "") -> LimitFigure | None:
    """The figure's data; None where the card has no limit. Without a study, its trajectories are left out."""
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
    """Utility over privacy, a setting counting once, at its medians; the limit's are medians of the same samples."""
    q, u = samples.scores["privacy_median"], samples.scores["utility_median"]
    of = {name: samples.kept & (samples.mechanisms == name) for name in samples.names() if name != "none"}
    return {name: band_over_privacy(q[rows], u[rows]) for name, rows in of.items() if rows.any()}


def draw_limit(data: LimitFigure) -> "Figure":
    """Four panels: the limit over the trajectories, how close noise comes, what it looks like, and what it is worth."""
    with panels(4, height=3.2) as (figure, (paths, shares, laws, errors)):
        _draw_paths(paths, data)
        _draw_shares(shares, data)
        for name, density in data.noise.laws.items():
            laws.plot(data.noise.at, density, label=name, **_look(name))
        laws.set(title=data.title, xlabel="|noise| in deviations", ylabel="density")
        laws.set(xlim=(0, SHOWN), ylim=(0, min(1.15 * float(data.noise.laws[LIMIT].max()), DENSEST)))
        laws.legend(loc="upper right")
        for name, error in data.noise.errors.items():
            errors.plot(data.noise.deviation, error, label=name, **_look(name))
        errors.set(title="What the best guess leaves", xlabel=data.deviation, ylim=(0, 1))
        errors.set(ylabel="error of the best guess (deviations of the readings)")
        plain_log(errors)
        errors.legend(loc="upper left")
    return figure


def _look(name: str) -> dict[str, Any]:
    """The limit in ink; the paper's mechanisms as everywhere, the others without the menu's colour."""
    if name == LIMIT:
        return {"color": INK, "linestyle": "-", "linewidth": 2.4}
    order = [*FAMILIES[:2], "menu", *FAMILIES[2:]]
    return look(order.index(name) if name in order else len(order))


def _draw_paths(axis: "Axes", data: LimitFigure) -> None:
    for name, band in data.bands.items():
        axis.plot(band.at, band.high, label=f"best {name}", **_look(name))
    axis.plot(data.noise.privacy, data.noise.utility, label=LIMIT, **_look(LIMIT))
    for names, q, u in together(data.places):
        axis.plot([q], [u], "o", color=PALETTE[2], markersize=5)
        shift = (6, 4) if q > 2 * NEAR else (2, -13)  # nothing is drawn to the upper right of the limit
        axis.annotate(names, (q, u), xytext=shift, textcoords="offset points", fontweight="bold", fontsize=8.5)
    axis.set(title="The limit of all additive noise", xlabel="privacy", ylabel="utility", xlim=(-0.02, 1.02))
    axis.legend(loc="lower left")


def together(places: dict[str, tuple[float, float]]) -> list[tuple[str, float, float]]:
    """Names and places, with one label for settings too close to be told apart."""
    found: list[tuple[str, float, float]] = []
    for name, (q, u) in places.items():
        for number, (names, a, b) in enumerate(found):
            if abs(q - a) < NEAR and abs(u - b) < NEAR:
                found[number] = (f"{names}, {name}", a, b)
                break
        else:
            found.append((name, q, u))
    return found


def _draw_shares(axis: "Axes", data: LimitFigure) -> None:
    axis.axhline(100, **_look(LIMIT))
    for name, share in data.noise.shares.items():
        axis.plot(data.noise.deviation, 100 * share, label=name, **_look(name))
    for id, (deviation, part) in data.near.items():
        if deviation >= data.noise.deviation[0]:
            place = (deviation, 100 * part)
            axis.plot(*place, "o", color=PALETTE[2], markersize=5)
            axis.annotate(
                id, place, xytext=(-6, -3), textcoords="offset points", ha="right", fontweight="bold", fontsize=9
            )
    axis.set(title="How close noise comes to it", ylabel="privacy, % of the limit")
    axis.set(xlabel=data.deviation)
    plain_log(axis)
    low = axis.get_ylim()[0]
    axis.set_ylim(low - 0.35 * (100 - low), 100 + 0.05 * (100 - low))
    axis.legend(loc="lower right", ncols=3, columnspacing=1.0, handlelength=1.6)


def limit_caption(data: LimitFigure) -> str:
    """What the figure shows, with its own numbers."""
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
