"""A study: settings x samples -> six metrics, and its file.

`study.parquet` has one row a sample; a study of very many settings may be summed up instead, one row a setting.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from halfmask.arrays import IntArray
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.scores import Constraint, Weights, normalisers, passing, pooled, privacy, utility
from halfmask.files import about_table, read_table, whole_file
from halfmask.mechanisms.grid import Grid

FORMAT = "halfmask study"
VERSION = 1
_SETTINGS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Study:
    """Metrics (settings, samples, 6) with the users and the repeat of each sample."""

    grid: Grid
    users: IntArray
    repeat: IntArray
    metrics: npt.NDArray[np.floating]
    about: dict[str, Any] = field(default_factory=dict)


def write_study(study: Study, path: str | Path) -> None:
    """One row a sample, settings in the grid's order; the same study gives the same bytes."""
    schema = _schema(
        [("users", pa.int64()), ("repeat", pa.int64()), *((name, pa.float64()) for name in METRICS)],
        study.about,
        "samples",
    )
    samples, texts = len(study.users), study.grid.texts()
    with whole_file(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
        start = 0
        for block in study.grid.blocks:
            for first in range(0, len(block), _SETTINGS_AT_ONCE):
                rows = np.arange(first, min(first + _SETTINGS_AT_ONCE, len(block)))
                metrics = study.metrics[start + rows].reshape(-1, len(METRICS))
                columns = _setting_columns(texts, start, block.mechanism, block.parameters, np.repeat(rows, samples))
                columns["users"] = pa.array(np.tile(study.users, len(rows)))
                columns["repeat"] = pa.array(np.tile(study.repeat, len(rows)))
                for index, name in enumerate(METRICS):
                    columns[name] = pa.array(metrics[:, index].astype(np.float64))
                writer.write_table(pa.table(columns, schema=schema))
            start += len(block)


def write_summary(
    study: Study, path: str | Path, weights: Weights | None = None, constraint: Constraint | None = None
) -> None:
    """One row a setting: percentiles of privacy and utility over its samples, and the pooled metrics.

    Settings that break the constraint have their pooled metrics and no scores.
    """
    weights, constraint = weights or Weights(), constraint or Constraint()
    kept = passing(study.metrics, constraint)
    largest = normalisers(study.metrics, kept)
    about = {
        **study.about,
        "normalisers": dict(zip(METRICS, largest.tolist(), strict=True)),
        "weights": {"privacy": weights.privacy, "utility": weights.utility},
        "constraints": {"max_mean": constraint.max_mean, "max_std": constraint.max_std},
    }
    scores = ("privacy_median", "privacy_p10", "utility_median", "utility_p10")
    schema = _schema([(name, pa.float64()) for name in (*scores, *METRICS)], about, "summary")
    texts = study.grid.texts()
    with whole_file(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
        start = 0
        for block in study.grid.blocks:
            for first in range(0, len(block), _SETTINGS_AT_ONCE):
                rows = np.arange(first, min(first + _SETTINGS_AT_ONCE, len(block)))
                metrics = study.metrics[start + rows].astype(np.float64)
                columns = _setting_columns(texts, start, block.mechanism, block.parameters, rows)
                out = ~kept[start + rows]
                for score, values in (("privacy", privacy), ("utility", utility)):
                    tenth, median = np.percentile(values(metrics, largest, weights), (10, 50), axis=1)
                    columns[f"{score}_median"] = pa.array(median, mask=out)
                    columns[f"{score}_p10"] = pa.array(tenth, mask=out)
                for name, column in zip(METRICS, _pooled(metrics), strict=True):
                    columns[name] = pa.array(column)
                writer.write_table(pa.table(columns, schema=schema))
            start += len(block)


def read_study(path: str | Path) -> tuple[pa.Table, dict[str, Any]]:
    """The table of a study or of a summary, and what it says about itself (``form`` tells which)."""
    return read_table(path, FORMAT, VERSION, "halfmask evaluate")


def _schema(columns: list[tuple[str, pa.DataType]], about: dict[str, Any], form: str) -> pa.Schema:
    setting = [
        ("setting", pa.dictionary(pa.int32(), pa.string())),
        ("mechanism", pa.dictionary(pa.int32(), pa.string())),
        ("parameters", pa.list_(pa.float64())),
    ]
    return pa.schema([*setting, *columns], metadata=about_table(FORMAT, VERSION, {"form": form, **about}))


def _setting_columns(
    texts: list[str], start: int, mechanism: str, parameters: npt.NDArray[np.float64], rows: IntArray
) -> dict[str, pa.Array]:
    """Text, mechanism and parameters of the given rows of a block that starts at ``start``."""
    used, place = np.unique(rows, return_inverse=True)
    names = pa.array([texts[start + row] for row in used], pa.string())
    count = parameters.shape[1]
    offsets = pa.array(np.arange(len(rows) + 1, dtype=np.int32) * count)
    return {
        "setting": pa.DictionaryArray.from_arrays(pa.array(place.astype(np.int32)), names),
        "mechanism": pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(rows), np.int32)), pa.array([mechanism])),
        "parameters": pa.ListArray.from_arrays(offsets, pa.array(parameters[rows].ravel())),
    }


def _pooled(metrics: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
    """Each metric over all samples of a setting: pooled mean and deviation, mean entropy."""
    local = metrics[..., [0, 1, 2, 0, 1, 2]]
    local_mean, local_std = pooled(local)
    global_mean, global_std = pooled(metrics)
    return [local_mean, local_std, metrics[..., 2].mean(axis=1), global_mean, global_std, metrics[..., 5].mean(axis=1)]
