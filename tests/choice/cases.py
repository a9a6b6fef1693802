"""Small panels and hand-made studies for choices."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.study import Study
from halfmask.mechanisms.grid import grid
from halfmask.menus.menu import Menu
from halfmask.menus.optimize import optimize
from tests.evaluation.direct_cases import Case, household

GRID = "laplace:b=0.01..3/0.01;sine:k=2,values=0.1|0.3|0.6|0.9|1.2"


def study_of(metrics: Mapping[str, Sequence[Sequence[float]]]) -> tuple[pa.Table, dict[str, Any]]:
    """A study as it is read from its file: six metrics of each sample of each setting."""
    rows = [(text, sample) for text, samples in metrics.items() for sample in samples]
    columns: dict[str, Any] = {
        "setting": [text for text, _ in rows],
        "mechanism": [text.partition(":")[0] for text, _ in rows],
    }
    for number, name in enumerate(METRICS):
        columns[name] = [float(sample[number]) for _, sample in rows]
    return pa.table(columns), {"form": "samples", "fingerprint": "0" * 16, "seed": 1, "aggregate": "sum"}


def samples(privacy: Sequence[float], utility: Sequence[float]) -> list[list[float]]:
    """Samples with these scores, given that some setting has all six metrics at their largest (`TOP`)."""
    pairs = zip(privacy, utility, strict=True)
    return [[q, q, q, 0.05 * (1 - u), 0.05 * (1 - u), 4 * (1 - u)] for q, u in pairs]


TOP = {"gaussian:9": samples([1.0], [0.0])}
"""Makes every normaliser what `samples` takes it to be: local metrics 1, global ones 0.05, 0.05 and 4."""


def summary_of(scores: Mapping[str, tuple[float, float, float, float]]) -> tuple[pa.Table, dict[str, Any]]:
    """A summary with these medians and 10th percentiles of privacy, then of utility."""
    table, about = study_of({text: [[1.0] * 6] for text in scores})
    for number, name in enumerate(("privacy_median", "privacy_p10", "utility_median", "utility_p10")):
        table = table.append_column(name, pa.array([each[number] for each in scores.values()]))
    made = {"weights": {"privacy": (0.2, 0.4, 0.4), "utility": (0.6, 0.2, 0.2)}}
    limits = {"constraints": {"max_mean": 0.1, "max_std": 0.1}, "normalisers": dict.fromkeys(METRICS, 1.0)}
    return table, {**about, **made, **limits, "form": "summary"}


@cache
def homes() -> Case:
    """Thirty users over twelve days, every two hours."""
    return household(users=30, days=12, step=2)


@cache
def evaluated() -> Study:
    """A study of `homes` on a coarse grid."""
    return evaluate_grid(homes().profile, grid(GRID), Experiment.on(homes().profile, sizes="10,20,all", repeats=5))


@cache
def menu() -> Menu:
    """The menu of that study, with a constraint wide enough for few users."""
    return optimize(as_read(evaluated()), max_mean=0.5, max_std=0.5, omega=0.2).menu


def as_read(study: Study) -> tuple[pa.Table, dict[str, Any]]:
    """A study's table and description without a file between."""
    flat = study.metrics.reshape(-1, 6)
    texts = np.repeat(study.grid.texts(), study.metrics.shape[1])
    columns: dict[str, Any] = {"setting": texts, "mechanism": [text.partition(":")[0] for text in texts]}
    columns |= {name: flat[:, number] for number, name in enumerate(METRICS)}
    return pa.table(columns), {**study.about, "form": "samples"}
