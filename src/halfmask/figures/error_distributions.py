"""Cumulative distributions of the six metrics by mechanism (Fig. 2 of the paper)."""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.evaluation.metrics import METRICS
from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot
from halfmask.figures.study_samples import Samples
from halfmask.figures.style import mechanism_looks
from halfmask.figures.wording import in_a_list, share_text

POINTS = 250
DECADES = 5
IN_BITS = {"local_entropy", "global_entropy"}
_TITLES = {
    "local_mean": "Local error: mean",
    "global_mean": "Global error: mean",
    "local_std": "Local error: standard deviation",
    "global_std": "Global error: standard deviation",
    "local_entropy": "Local error: entropy",
    "global_entropy": "Global error: entropy",
}


@dataclass(frozen=True, eq=False)
class Curve:
    """An empirical distribution function: a share ``share`` of the samples is at or below ``value``."""

    value: FloatArray
    share: FloatArray


def cdf_data(samples: Samples, points: int = POINTS) -> dict[str, dict[str, Curve]]:
    """Return, for each metric and mechanism, the distribution over all samples of all settings.

    As in the paper, settings that break the constraint are included. Infinite and missing errors are left out.
    """
    curves: dict[str, dict[str, Curve]] = {}
    for index, metric in enumerate(METRICS):
        curves[metric] = {}
        for name in samples.names():
            values = samples.metrics[samples.mechanisms == name, :, index].ravel()
            values = np.sort(values[np.isfinite(values)])
            if len(values):
                rank = np.unique(np.linspace(0, len(values) - 1, points).round().astype(int))
                curves[metric][name] = Curve(values[rank], (rank + 1) / len(values))
    return curves


def cdf_caption(data: dict[str, dict[str, Curve]]) -> str:
    """Return the caption of Fig. 2."""
    facts = []
    for name, curve in data["global_mean"].items():
        middle = float(np.interp(0.5, curve.share, curve.value))
        facts.append(f"{share_text(middle)} with {name} (the largest is {share_text(float(curve.value[-1]))})")
    return (
        "How often each of the six error metrics is at or below a value, over all samples of all settings of a "
        "mechanism, those too noisy for the menu included. Privacy is made of the local errors, those of single "
        "readings; utility of the global errors, those of the totals. A curve further right means more error. "
        f"What to see: half of all samples have a mean global error of at most {in_a_list(facts)}. "
        f"Axes of means and deviations are logarithmic and show the upper {DECADES} decades."
    )


def cdf_plot(data: dict[str, dict[str, Curve]]) -> Plot:
    """Plot the six metrics: local errors on the left, global errors on the right."""
    below = PlotAxis("samples below (%)", limits=(0, 102))
    found: list[Subplot] = []
    for metric, title in _TITLES.items():
        styles, bits = mechanism_looks(list(data[metric])), " bits" if metric in IN_BITS else ""
        marks = [Mark(name, curve.value, curve.share * 100, styles[name]) for name, curve in data[metric].items()]
        found.append(Subplot(title, _axis(data[metric], bits), below, marks, legend="" if found else "upper left"))
    return Plot(found, inches=2.4)


def _axis(curves: dict[str, Curve], bits: str) -> PlotAxis:
    """Return a linear axis for bits, or a logarithmic one for errors that shows only the upper decades.

    Without the limit, tiny errors of settings that hardly mask would leave no room for the others.
    """
    largest = max((float(curve.value[-1]) for curve in curves.values()), default=0.0)
    if bits or largest <= 0:
        return PlotAxis("entropy (bits)" if bits else "error (1 = 100 %)")
    upper = (largest / 10**DECADES, 2 * largest)
    return PlotAxis("error (1 = 100 %)", log=True, limits=upper)
