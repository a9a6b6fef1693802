"""Privacy and utility against the amount of noise (Fig. 3 of the paper)."""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot
from halfmask.figures.study_samples import Samples
from halfmask.figures.style import mechanism_looks
from halfmask.figures.wording import summed
from halfmask.mechanisms.mechanism_registry import mechanism

READINGS = 100_000
WINDOW = 0.02
POINTS = 250


@dataclass(frozen=True, eq=False)
class NoiseCurve:
    """Moving averages over settings in order of their noise.

    ``total``  E|psi| x 100,000, in ``unit``
    """

    total: FloatArray
    privacy: FloatArray
    utility: FloatArray
    unit: str = ""


@dataclass(frozen=True)
class Difference:
    """The mean difference between two mechanisms at equal noise, over the range that both cover."""

    first: str
    second: str
    privacy: float
    utility: float


def noise_data(samples: Samples, window: float = WINDOW, unit: str = "") -> dict[str, NoiseCurve]:
    """Return, by mechanism, smoothed medians of privacy and utility of the settings that meet the constraint.

    A point is the average over ``window``, a share of the mechanism's settings. The ends of the range are left out, so
    that all points average equally many settings. Only additive noise is shown: the total of relative noise depends on
    the readings, and direct mechanisms have none.
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
    """Return E|psi| of settings of one mechanism. Their numbers of parameters may differ."""
    law = mechanism(name)
    mean = np.zeros(len(parameters))
    lengths = np.array([len(row) for row in parameters])
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        mean[rows] = law.moments(np.array([parameters[row] for row in rows], float).reshape(len(rows), length))[:, 0]
    return mean


def gap_at_equal_noise(curves: dict[str, NoiseCurve]) -> Difference | None:
    """Return the difference between the first two mechanisms by name; None without two that overlap."""
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


def noise_caption(data: dict[str, NoiseCurve]) -> str:
    """Return the caption of Fig. 3."""
    text = (
        "Median privacy and utility of the settings that keep the constraint, by the total absolute noise that "
        "they add to 100,000 readings; moving averages."
    )
    found = gap_at_equal_noise(data)
    if found is None:
        return text
    more, less = _points(found.privacy), _points(found.utility)
    return (
        f"{text} What to see: at equal noise, {found.first} has {more} privacy and {less} utility than {found.second}, "
        "on average over the range that both cover."
    )


def _points(gap: float) -> str:
    """Return a difference of scores in words, in hundredths."""
    return f"{abs(gap) * 100:.1f} points {'more' if gap >= 0 else 'less'}"


def noise_plot(data: dict[str, NoiseCurve]) -> Plot:
    """Plot privacy and utility over the amount of noise."""
    what = summed("total |noise| on 100,000 readings", next(iter(data.values())).unit)
    total = PlotAxis(what, limits=(0, None))
    styles = mechanism_looks(list(data))
    return Plot(
        [
            Subplot(
                score.capitalize(), total, PlotAxis(f"median {score}"),
                [Mark(name, at.total, getattr(at, score), styles[name])
                 for name, at in data.items()],
                legend="lower right" if score == "privacy" else "",
            )
            for score in ("privacy", "utility")
        ],
        inches=3.2, share="x",
    )  # fmt: skip
