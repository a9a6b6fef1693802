"""A study read back as arrays, with privacy and utility of every sample, for figures and tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import FileFormatError
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.scores import Constraint, Weights, normalisers, passing, privacy, utility
from halfmask.evaluation.study import read_study
from halfmask.menus.menu import Menu

SCORES = ("privacy_median", "privacy_p10", "utility_median", "utility_p10")
LARGE = 1000


@dataclass(frozen=True, eq=False)
class Scale:
    """What turns metrics into privacy and utility: normalisers, weights and the constraint of one study."""

    largest: FloatArray
    weights: Weights
    constraint: Constraint


@dataclass(frozen=True, eq=False)
class Samples:
    """All samples of all settings of a study.

    ``settings``, ``mechanisms``, ``parameters``  of each of S settings
    ``users``              of each of K samples, the same for every setting; all 0 in a summary, where sizes are pooled
    ``metrics``            (S, K, 6)
    ``kept``               (S,) whether the setting keeps the constraint
    ``privacy``, ``utility``  (S, K); meaningful where kept
    ``scores``             (S,) medians and tenth percentiles by the names in `SCORES`; NaN where not kept
    """

    settings: list[str]
    mechanisms: npt.NDArray[np.str_]
    parameters: list[list[float]]
    users: IntArray
    metrics: FloatArray
    kept: npt.NDArray[np.bool_]
    privacy: FloatArray
    utility: FloatArray
    scores: dict[str, FloatArray]
    scale: Scale
    about: dict[str, Any]

    @property
    def sized(self) -> bool:
        """Whether samples of different sizes can be told apart."""
        return bool((self.users > 0).any())

    def names(self) -> list[str]:
        """The mechanisms in order of the alphabet."""
        return [str(name) for name in np.unique(self.mechanisms)]

    def large(self) -> tuple[npt.NDArray[np.bool_], str]:
        """Which samples have more than 1,000 users, and that in words.

        Where none has, those with at least half as many users as the largest.
        """
        if (self.users > LARGE).any():
            return self.users > LARGE, f"more than {LARGE:,} users"
        enough = -(-int(self.users.max()) // 2)
        return self.users >= enough, f"{enough:,} users or more"


def read_samples(path: str | Path, menu: Menu | None = None) -> Samples:
    """The samples of ``study.parquet``, scored with the menu's normalisers, or the study's own where there is none."""
    table, about = read_study(path)
    table = table.unify_dictionaries().combine_chunks()
    column = table["setting"].chunk(0) if table["setting"].num_chunks else None
    if column is None or not len(column):
        raise FileFormatError(f"{path} holds no sample: make it anew with 'halfmask evaluate'")
    codes = column.indices.to_numpy()
    summary = about.get("form") == "summary"
    order = _order(codes, table, summary)
    count = len(column.dictionary)
    if len(codes) % count or (np.bincount(codes, minlength=count) != len(codes) // count).any():
        raise FileFormatError(f"{path}: settings have different numbers of samples; make it with 'halfmask evaluate'")
    first = order.reshape(count, -1)[:, 0]
    metrics = np.stack([table[name].to_numpy()[order] for name in METRICS], axis=-1).reshape(count, -1, len(METRICS))
    users = np.zeros(1, np.int64) if summary else table["users"].to_numpy()[order].reshape(count, -1)[0]
    scale = scale_of(metrics, menu if menu is not None or not summary else about)
    scores = _read_scores(table, first) if summary else None
    named = table.select(["mechanism", "parameters"]).take(pa.array(first))
    return _scored(
        column.dictionary.to_pylist(), np.array(named["mechanism"].to_pylist()), named["parameters"].to_pylist(),
        users, metrics, scale, scores, about,
    )  # fmt: skip


def scale_of(metrics: FloatArray, source: Menu | dict[str, Any] | None) -> Scale:
    """The normalisers, weights and constraint of a menu or of what a summary says of itself; else the defaults."""
    if isinstance(source, Menu):
        bounds = source.constraints
        default = Constraint()
        held = Constraint(bounds.get("max_mean", default.max_mean), bounds.get("max_std", default.max_std))
        return Scale(source.largest, source.weights, held)
    if source is not None:
        weights = Weights(tuple(source["weights"]["privacy"]), tuple(source["weights"]["utility"]))
        largest = np.array([source["normalisers"][name] for name in METRICS])
        return Scale(largest, weights, Constraint(**source["constraints"]))
    return Scale(normalisers(metrics, passing(metrics, Constraint())), Weights(), Constraint())


def _order(codes: IntArray, table: pa.Table, summary: bool) -> IntArray:
    """Rows by setting, then users, then repeat."""
    if summary:
        return np.argsort(codes, kind="stable")
    return np.lexsort((table["repeat"].to_numpy(), table["users"].to_numpy(), codes))


def _read_scores(table: pa.Table, first: IntArray) -> dict[str, FloatArray]:
    return {name: table[name].to_numpy(zero_copy_only=False)[first] for name in SCORES}


def _scored(
    settings: list[str],
    mechanisms: npt.NDArray[np.str_],
    parameters: list[list[float]],
    users: IntArray,
    metrics: FloatArray,
    scale: Scale,
    scores: dict[str, FloatArray] | None,
    about: dict[str, Any],
) -> Samples:
    if scores is None:
        kept = passing(metrics, scale.constraint)
        q, u = privacy(metrics, scale.largest, scale.weights), utility(metrics, scale.largest, scale.weights)
        scores = {}
        for name, values in (("privacy", q), ("utility", u)):
            tenth, median = np.full((2, len(settings)), np.nan)
            tenth[kept], median[kept] = np.percentile(values[kept], (10, 50), axis=1)
            scores |= {f"{name}_median": median, f"{name}_p10": tenth}
    else:
        kept = np.isfinite(scores["privacy_median"])
        q, u = scores["privacy_median"][:, None], scores["utility_median"][:, None]
    return Samples(settings, mechanisms, parameters, users, metrics, kept, q, u, scores, scale, about)
