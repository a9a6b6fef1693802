"""Settings as points, few enough to be drawn and looked at one by one."""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.figures.study_samples import Samples

MOST = 1200


@dataclass(frozen=True, eq=False)
class Cloud:
    """Some of the settings that keep the constraint: median privacy and utility; ``of`` says how many there are."""

    settings: list[str]
    privacy: FloatArray
    utility: FloatArray
    of: int


def cloud_data(samples: Samples, most: int = MOST) -> dict[str, Cloud]:
    """By mechanism, at most ``most`` settings in all: evenly spaced by rank of privacy, ends included.

    A mechanism has points in proportion to the square root of its settings, so that one with few is seen beside one
    with a million.
    """
    names = samples.names()
    rows = {name: np.flatnonzero(samples.kept & (samples.mechanisms == name)) for name in names}
    rows = {name: found for name, found in rows.items() if len(found)}
    roots = {name: np.sqrt(len(found)) for name, found in rows.items()}
    return {name: _cloud(samples, found, int(most * roots[name] / sum(roots.values()))) for name, found in rows.items()}


def _cloud(samples: Samples, rows: IntArray, most: int) -> Cloud:
    q, u = samples.scores["privacy_median"], samples.scores["utility_median"]
    ranked = rows[np.argsort(q[rows], kind="stable")]
    drawn = ranked[np.unique(np.linspace(0, len(ranked) - 1, max(min(most, len(ranked)), 1)).round().astype(int))]
    return Cloud([samples.settings[row] for row in drawn], q[drawn], u[drawn], len(rows))
