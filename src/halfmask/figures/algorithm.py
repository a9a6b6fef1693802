"""The steps of the algorithm on the user's data (Fig. 1 of the paper): settings, bins, fitness, winners."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray
from halfmask.figures.study_samples import Samples
from halfmask.figures.style import INK, QUIET, Axes, Figure, subplots
from halfmask.menus.menu import Menu

if TYPE_CHECKING:
    from matplotlib.collections import EllipseCollection

ELLIPSES_A_BIN = 10
SHADES = 24


@dataclass(frozen=True, eq=False)
class Algorithm:
    """A sample of the settings, small enough to be readable. It includes all winners.

    ``width``, ``height``  half axes of the ellipse: median minus tenth percentile, of privacy and of utility
    ``fitness``            perc(U, 50) + perc(U, 10), which is largest for the winner of each bin
    ``admissible``         whether perc(Q, 50) - perc(Q, 10) < omega
    ``kept``               number of settings in the study that meet the constraint
    ``winners``            index of each menu id in the arrays, if the study contains its setting
    """

    settings: list[str]
    privacy: FloatArray
    utility: FloatArray
    width: FloatArray
    height: FloatArray
    fitness: FloatArray
    admissible: npt.NDArray[np.bool_]
    edges: FloatArray
    omega: float
    kept: int
    winners: dict[str, int]


def algorithm_data(samples: Samples, menu: Menu, a_bin: int = ELLIPSES_A_BIN) -> Algorithm:
    """Return, for each bin of the menu, the winner and settings evenly spaced by rank of privacy."""
    edges, omega = bin_edges(menu), menu_omega(menu)
    q, u = samples.scores["privacy_median"], samples.scores["utility_median"]
    place = {setting: index for index, setting in enumerate(samples.settings)}
    won = {each.id: place[str(each.setting)] for each in menu.settings if str(each.setting) in place}
    won = {name: index for name, index in won.items() if samples.kept[index]}
    bins = np.clip(np.searchsorted(edges, q, side="right") - 1, 0, len(edges) - 2)
    chosen = [_spread(np.flatnonzero(samples.kept & (bins == number)), q, a_bin) for number in range(len(edges) - 1)]
    shown = np.unique(np.concatenate([*chosen, np.array(list(won.values()), np.int64)])).astype(np.int64)
    width = (q - samples.scores["privacy_p10"])[shown]
    return Algorithm(
        settings=[samples.settings[index] for index in shown],
        privacy=q[shown],
        utility=u[shown],
        width=width,
        height=(u - samples.scores["utility_p10"])[shown],
        fitness=(u + samples.scores["utility_p10"])[shown],
        admissible=width < omega,
        edges=edges,
        omega=omega,
        kept=int(samples.kept.sum()),
        winners={name: int(np.searchsorted(shown, index)) for name, index in won.items()},
    )


def bin_edges(menu: Menu) -> FloatArray:
    """Return the edges of the menu's bins; [0, 1] if the menu does not record them."""
    bins = [*(each.bin for each in menu.settings), *(each.bin for each in menu.empty_bins)]
    widths = [high - low for low, high in bins if high > low]
    return np.linspace(0, 1, round(1 / widths[0]) + 1 if widths else 2)


def menu_omega(menu: Menu) -> float:
    """Return the bound on the dispersion of privacy with which the menu was chosen; by default half a bin."""
    said = menu.constraints.get("omega", menu.provenance.get("omega"))
    return float(np.diff(bin_edges(menu))[0] / 2) if said is None else float(said)


def _spread(found: IntArray, privacy: FloatArray, count: int) -> IntArray:
    if len(found) <= count:
        return found
    ranked = found[np.argsort(privacy[found], kind="stable")]
    return np.asarray(ranked[np.linspace(0, len(ranked) - 1, count).round().astype(int)])


def draw_algorithm(data: Algorithm) -> Figure:
    """Draw four subplots, one per step of the algorithm, and the colour scale of fitness."""
    with subplots(4, share="xy") as (figure, axes):
        _ellipses(axes[0], data, facecolors="none", edgecolors="#0072B2")
        _ellipses(axes[1], data, facecolors="none", edgecolors="#0072B2")
        scored = _ellipses(axes[2], data, cmap=_shades(), edgecolors=INK, linewidths=0.4, alpha=0.85)
        _ellipses(axes[3], data, facecolors="none", edgecolors=QUIET, alpha=0.5)
        _winners(axes[3], data, scored)
        titles = ("1  Each setting, tried", "2  Privacy cut into bins", "3  Fitness of each", "4  The best of each bin")
        low = max(0.0, float((data.utility - data.height).min(initial=1)))
        for axis, title in zip(axes, titles, strict=True):
            axis.set(title=title, xlim=(-0.02, 1.02), ylim=(low - 0.04 * (1 - low), 1 + 0.14 * (1 - low)))
            axis.set(xlabel="privacy", ylabel="utility")
        for axis in axes[1:]:
            axis.vlines(data.edges, 0, 1, color=INK, linewidth=0.8, linestyle=":", transform=axis.get_xaxis_transform())
            axis.grid(visible=False, axis="x")
        scale = axes[2].inset_axes((0.05, 0.2, 0.4, 0.045))  # noise of little privacy and little utility is not there
        bar = figure.colorbar(scored, cax=scale, orientation="horizontal")
        bar.set_label("fitness: lighter is better", fontsize=9)
        bar.outline.set_linewidth(0.5)
    return figure


def _shades() -> Any:
    """Return a colour scale of few shades. 256 shades would make a large file without a visible difference."""
    from matplotlib import colormaps

    return colormaps["cividis"].resampled(SHADES)


def _ellipses(axis: Axes, data: Algorithm, **how: Any) -> "EllipseCollection":
    from matplotlib.collections import EllipseCollection

    # Large ellipses are drawn first. Each needs a least size to be visible.
    order = np.argsort(-data.width * data.height, kind="stable")
    centres = np.column_stack([data.privacy, data.utility])[order]
    width, height = np.maximum(2 * data.width[order], 0.016), np.maximum(2 * data.height[order], 0.018)
    drawn = EllipseCollection(
        width, height, np.zeros(len(width)), units="xy", offsets=centres, offset_transform=axis.transData,
        **{"linewidths": 0.8} | how,
    )  # fmt: skip
    if "cmap" in how:
        drawn.set_array(data.fitness[order])
    axis.add_collection(drawn)
    return drawn


def _winners(axis: Axes, data: Algorithm, scored: "EllipseCollection") -> None:
    for name, place in data.winners.items():
        at = (data.privacy[place], data.utility[place])
        axis.plot(*at, marker="o", markersize=7, color=scored.to_rgba(data.fitness[place]), markeredgecolor=INK)
        axis.annotate(name, at, xytext=(6, 6), textcoords="offset points", fontweight="bold", fontsize=9)


def algorithm_caption(data: Algorithm) -> str:
    """Return the caption of Fig. 1."""
    text = (
        f"Each ellipse is one privacy setting ({len(data.settings)} of the {data.kept:,} that keep the "
        "constraint are drawn): its centre is the median privacy and utility over all groups of users tried, its half "
        "axes are how far the tenth percentiles lie below. "
        f"Privacy is cut into {len(data.edges) - 1} bins; in each, the setting of highest fitness wins, among those "
        f"whose privacy falls less than {data.omega:g} from median to tenth percentile."
    )
    ordered = sorted(data.winners.items(), key=lambda item: data.privacy[item[1]])
    if len(ordered) > 1:
        (first, a), (last, b) = ordered[0], ordered[-1]
        text += (
            f" What to see: from {first} to {last}, privacy goes from {data.privacy[a]:.2f} to {data.privacy[b]:.2f} "
            f"and fitness from {data.fitness[a]:.2f} to {data.fitness[b]:.2f}."
        )
    return text
