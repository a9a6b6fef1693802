"""Privacy and utility against the amount of noise (Fig. 3 of the paper)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.figures.study_samples import Samples
from halfmask.figures.style import looks, panels, summed
from halfmask.mechanisms.mechanism import mechanism

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

READINGS = 100_000
WINDOW = 0.02
POINTS = 250


@dataclass(frozen=True, eq=False)
class NoiseCurve:
    """Moving averages over settings in order of their noise; ``total`` is E|psi| x 100,000, in ``unit``."""

    total: FloatArray
    privacy: FloatArray
    utility: FloatArray
    unit: str = ""


@dataclass(frozen=True)
class Difference:
    """How much more ``first`` has than ``second`` at equal noise, on average over the range that both cover."""

    first: str
    second: str
    privacy: float
    utility: float


def noise_data(samples: Samples, window: float = WINDOW, unit: str = "") -> dict[str, NoiseCurve]:
    """By mechanism, the smoothed medians of privacy and utility of the settings that keep the constraint.

    A point averages ``window`` of the mechanism's settings, and no fewer than one; the ends of the range are cut
    by half a window rather than averaged over fewer. Only mechanisms that add noise of their own size can be
    compared so: relative noise has a total that depends on the readings, and direct mechanisms have no law.
    """
    curves = {}
    for name in samples.names():
        found = np.flatnonzero((samples.mechanisms == name) & samples.kept)
        if name == "none" or not len(found) or mechanism(name).kind != "additive":
            continue
        total = READINGS * mean_noise(name, [samples.parameters[index] for index in found])
        order = np.argsort(total, kind="stable")
        columns = (total, samples.scores["privacy_median"][found], samples.scores["utility_median"][found])
        width = max(round(window * len(found)), 1)
        noise, q, u = (_moving_average(column[order], width) for column in columns)
        thin = np.unique(np.linspace(0, len(noise) - 1, POINTS).round().astype(int))
        curves[name] = NoiseCurve(noise[thin], q[thin], u[thin], unit)
    return curves


def mean_noise(name: str, parameters: list[list[float]]) -> FloatArray:
    """E|psi| of settings of one mechanism, whatever their numbers of parameters."""
    law = mechanism(name)
    mean = np.zeros(len(parameters))
    lengths = np.array([len(row) for row in parameters])
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        mean[rows] = law.moments(np.array([parameters[row] for row in rows], float).reshape(len(rows), length))[:, 0]
    return mean


def difference(curves: dict[str, NoiseCurve]) -> Difference | None:
    """The first two mechanisms compared at equal noise; None where they share no range."""
    names = sorted(curves)[:2]
    if len(names) < 2:
        return None
    a, b = curves[names[0]], curves[names[1]]
    low, high = max(a.total.min(), b.total.min()), min(a.total.max(), b.total.max())
    if low >= high:
        return None
    at = np.linspace(low, high, 200)
    gaps = [
        float(np.mean(np.interp(at, a.total, getattr(a, score)) - np.interp(at, b.total, getattr(b, score))))
        for score in ("privacy", "utility")
    ]
    return Difference(names[0], names[1], *gaps)


def _moving_average(values: FloatArray, width: int) -> FloatArray:
    total = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray((total[width:] - total[:-width]) / width)


def draw_noise(data: dict[str, NoiseCurve]) -> "Figure":
    """Two panels over the same amount of noise."""
    with panels(2, height=3.2, share="x") as (figure, axes):
        for axis, score in zip(axes, ("privacy", "utility"), strict=True):
            for name, curve in data.items():
                axis.plot(curve.total, getattr(curve, score), label=name, **looks(list(data))[name])
            axis.set(title=score.capitalize(), ylabel=f"median {score}")
            axis.set_xlabel(total_label(data))
            axis.set_xlim(left=0)
            axis.xaxis.set_major_formatter(_short_number)
            axis.xaxis.set_major_locator(_few_ticks())
        axes[0].legend(loc="lower right")
    return figure


def total_label(data: dict[str, NoiseCurve]) -> str:
    """What the axis of both panels is."""
    return summed("total |noise| on 100,000 readings", next(iter(data.values())).unit)


def _short_number(value: float, _: float) -> str:
    return f"{value / 1e6:,g} M" if value >= 1e6 else f"{value:,.0f}"


def _few_ticks() -> "MaxNLocator":
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5)
