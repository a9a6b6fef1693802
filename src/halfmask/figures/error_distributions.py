"""How large the six metrics are under each mechanism: cumulative distributions (Fig. 2 of the paper)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.evaluation.metrics import METRICS
from halfmask.figures.study_samples import Samples
from halfmask.figures.style import looks, panels, plain_log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    """An empirical distribution function: a share ``share`` of the samples lies at or below ``value``."""

    value: FloatArray
    share: FloatArray


def cdf_data(samples: Samples, points: int = POINTS) -> dict[str, dict[str, Curve]]:
    """For each metric and mechanism, the distribution over all samples of all settings.

    Settings that break the constraint are in it, as in the paper: the constraint comes after. Errors that are not
    finite are left out.
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


def draw_cdfs(data: dict[str, dict[str, Curve]]) -> "Figure":
    """Six panels: local errors on the left, global errors on the right."""
    with panels(len(_TITLES), height=2.4) as (figure, axes):
        for axis, (metric, title) in zip(axes, _TITLES.items(), strict=True):
            by_mechanism = data[metric]
            for name, curve in by_mechanism.items():
                axis.plot(curve.value, curve.share * 100, label=name, **looks(list(by_mechanism))[name])
            largest = max((float(curve.value[-1]) for curve in by_mechanism.values()), default=0.0)
            if metric not in IN_BITS and largest > 0:
                # Some settings hardly mask: without a cut they would press all others to the right edge.
                plain_log(axis)
                axis.set_xlim(largest / 10**DECADES, largest * 2)
            axis.set(title=title, ylim=(0, 102))
            axis.set_xlabel("entropy (bits)" if metric in IN_BITS else "error (1 = 100 %)")
            axis.set_ylabel("samples below (%)")
        axes[0].legend(loc="upper left")
    return figure
