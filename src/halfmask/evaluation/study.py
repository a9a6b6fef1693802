"""A study: six metrics for each setting and sample, and its file.

`study.parquet` has one row per sample; a summary, for studies of very many settings, has one row per setting.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import FileFormatError
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.metrics import (
    GLOBAL_ENTROPY,
    GLOBAL_MEAN,
    GLOBAL_STD,
    LOCAL_ENTROPY,
    LOCAL_MEAN,
    LOCAL_STD,
    METRICS,
)
from halfmask.evaluation.scores import Constraint, Weights, normalisers, passing, pooled, privacy, utility
from halfmask.files import about_table, read_table, whole_file
from halfmask.mechanisms.grid import Block, Grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.results import Result
from halfmask_device.setting import split_release

FORMAT = "halfmask study"
VERSION = 1
_SETTINGS_AT_ONCE = 4096
_FEW_VALUES = ("setting", "mechanism", "parameters.list.element", "users", "repeat")
"""Columns with repeated values, which are stored with a dictionary. For metrics, a dictionary would be
as long as the column.
"""


SCORES = ("privacy_median", "privacy_p10", "utility_median", "utility_p10")


@dataclass(frozen=True, eq=False)
class Study(Result):
    """Metrics (settings, samples, 6), with number of users and repeat of each sample.

    A summary has one sample per setting, with 0 users and the pooled metrics. Its ``scores`` are medians and 10th
    percentiles of privacy and utility, by the names in `SCORES`; NaN if a setting breaks the constraint.
    """

    grid: Grid
    users: IntArray
    repeat: IntArray
    metrics: npt.NDArray[np.floating]
    about: dict[str, Any] = field(default_factory=dict)
    scores: Mapping[str, FloatArray] | None = None

    @property
    def experiment(self) -> Experiment:
        """The experiment of the study: settings, subsets of users and method."""
        return Experiment.of(self.about)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Study) and self.to_arrow().equals(other.to_arrow(), check_metadata=True)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Study of {len(self.grid):,} settings ({self.grid.name}) on {len(self.users)} samples>"

    @classmethod
    def read(cls, path: str | Path) -> "Study":
        """Return the study in a file; raise a FileFormatError if it is damaged or settings differ in
        their number of samples.
        """
        table, about = read_study(path)
        try:
            return _regrouped(table, about)
        except FileFormatError as error:
            raise FileFormatError(f"{path}: {error}", kind="samples", place=str(path)) from error
        except (KeyError, ValueError, pa.ArrowException) as error:
            raise FileFormatError(
                f"{path} is a damaged study ({error}): recreate it with 'halfmask evaluate'",
                kind="damaged",
                place=str(path),
            ) from error

    def write(self, path: str | Path) -> None:
        """Write `study.parquet`; equal studies give equal bytes."""
        with (
            whole_file(path) as temporary,
            pq.ParquetWriter(temporary, _schema(self), compression="zstd", use_dictionary=list(_FEW_VALUES)) as writer,
        ):
            for table in _tables(self):
                writer.write_table(table)

    def to_arrow(self) -> pa.Table:
        """Return the table of its file: one row per sample, or one per setting for a summary."""
        return pa.concat_tables(list(_tables(self))).combine_chunks()

    def points(self) -> list[tuple[float, float]]:
        """Return median privacy and utility in each of twenty levels of median privacy, by the default weights."""
        if self.scores is None:
            kept = passing(self.metrics, Constraint())
            if not kept.any():
                return []
            largest, held = normalisers(self.metrics, kept), self.metrics[kept]
            q, u = (np.median(score(held, largest, Weights()), axis=1) for score in (privacy, utility))
        else:
            q, u = (self.scores[f"{name}_median"] for name in ("privacy", "utility"))
            q, u = q[~np.isnan(q)], u[~np.isnan(u)]
        level = np.minimum((q * 20).astype(int), 19)
        return [(float(np.median(q[level == k])), float(np.median(u[level == k]))) for k in np.unique(level)]


def _tables(study: Study) -> Iterator[pa.Table]:
    """Yield the samples as tables, some thousand settings at a time."""
    schema, samples, texts, start = _schema(study), len(study.users), study.grid.texts(), 0
    for block in study.grid.blocks:
        for first in range(0, len(block), _SETTINGS_AT_ONCE):
            rows = np.arange(first, min(first + _SETTINGS_AT_ONCE, len(block)))
            some = slice(start + first, start + first + len(rows))
            metrics = study.metrics[some].reshape(-1, len(METRICS)).astype(np.float64)
            columns = _setting_columns(texts, start, block.mechanism, block.parameters, rows, samples)
            if study.scores is None:
                columns["users"] = pa.array(np.tile(study.users, len(rows)))
                columns["repeat"] = pa.array(np.tile(study.repeat, len(rows)))
                columns |= {name: pa.array(metrics[:, index]) for index, name in enumerate(METRICS)}
            else:  # what is not a number is null
                columns |= {name: pa.array(study.scores[name][some], from_pandas=True) for name in SCORES}
                columns |= {n: pa.array(metrics[:, index], from_pandas=True) for index, n in enumerate(METRICS)}
            yield pa.table(columns, schema=schema)
        start += len(block)


def _regrouped(table: pa.Table, about: dict[str, Any]) -> Study:
    """Return the study in a table of samples."""
    if not table.num_rows:
        raise ValueError("no rows")
    first, order, samples = groups(table)
    every = np.arange(table.num_rows) if order is None else order
    summary, users, repeat = about.get("form") == "summary", np.zeros(1, np.int64), np.zeros(1, np.int64)
    if not summary:
        every = _in_one_order(table, every, samples)
        users, repeat = (np.asarray(table[name])[every[:samples]] for name in ("users", "repeat"))
    metrics = np.stack([_numbers(table, name)[every].reshape(len(first), samples) for name in METRICS], axis=-1)
    named = table.select(["setting", "mechanism", "parameters"]).take(pa.array(first))
    return Study(
        grid=Grid(_blocks(named), str(about.get("grid", "settings"))),
        users=users,
        repeat=repeat,
        metrics=metrics,
        about={name: value for name, value in about.items() if name not in ("format", "version", "form")},
        scores={name: _numbers(table, name)[every] for name in SCORES} if summary else None,
    )


def _in_one_order(table: pa.Table, every: IntArray, samples: int) -> IntArray:
    """Return rows in an order in which all settings have the same subsets: the file's order, or else by
    users and repeat.
    """
    of = {name: np.asarray(table[name]) for name in ("users", "repeat")}

    def same(rows: IntArray) -> bool:
        return all((column[rows].reshape(-1, samples) == column[rows[:samples]]).all() for column in of.values())

    if same(every):
        return every
    setting = np.arange(len(every)) // samples
    by_subset = every[np.lexsort((of["repeat"][every], of["users"][every], setting))]
    if not same(by_subset):
        raise ValueError("settings have samples of different subsets")
    return by_subset


def _blocks(named: pa.Table) -> tuple[Block, ...]:
    """Return consecutive settings of one mechanism, with equally many parameters and the same inner
    setting, as blocks.
    """
    texts, mechanisms = (named[name].to_pylist() for name in ("setting", "mechanism"))
    laws = [split_release(text) for text in texts]
    endings = [(law.partition("/")[2], release) for law, release in laws]
    parameters = named["parameters"].combine_chunks()
    values, ends = np.asarray(parameters.flatten()), np.asarray(parameters.offsets) - parameters.offsets[0].as_py()
    keys = list(zip(mechanisms, np.diff(ends).tolist(), endings, strict=True))
    starts = [0, *(k for k in range(1, len(keys)) if keys[k] != keys[k - 1]), len(keys)]
    return tuple(
        Block(
            keys[low][0],
            values[ends[low] : ends[high]].reshape(high - low, keys[low][1]),
            PrivacySetting.parse(keys[low][2][0]) if keys[low][2][0] else None,
            keys[low][2][1],
        )
        for low, high in pairwise(starts)
    )


def groups(table: pa.Table) -> tuple[IntArray, IntArray | None, int]:
    """Return each setting's first row, an order that puts its rows together, and its number of rows.

    The order is None if they already are together.
    """
    column = table.column("setting")
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    chunks = column.unify_dictionaries().chunks
    codes = np.concatenate([np.asarray(chunk.indices) for chunk in chunks])
    order = None
    new = np.flatnonzero(np.concatenate([[True], np.diff(codes) != 0]))
    if len(new) > len(np.unique(codes)):
        order = np.argsort(codes, kind="stable")
        new = np.flatnonzero(np.concatenate([[True], np.diff(codes[order]) != 0]))
    counts = np.diff(new, append=len(codes))
    if (counts != counts[0]).any():
        odd = new[np.flatnonzero(counts != counts[0])[0]]
        text = column[int(odd if order is None else order[odd])].as_py()
        raise FileFormatError(
            f"setting {text} has not as many samples as the first, {counts[0]}: evaluate all on the same subsets",
            kind="samples",
        )
    first = new if order is None else order[new]
    if order is not None:  # settings in the order in which they first come
        ranks = np.argsort(first)
        order = order.reshape(len(new), -1)[ranks].ravel()
        first = first[ranks]
    return first, order, int(counts[0])


def _numbers(table: pa.Table, name: str) -> FloatArray:
    return np.asarray(table.column(name).to_numpy(), float)


def summed_up(study: Study, weights: Weights | None = None, constraint: Constraint | None = None) -> Study:
    """Return the summary of a study: percentiles of privacy and utility over each setting's samples, and
    pooled metrics.
    """
    weights, constraint = weights or Weights(), constraint or Constraint()
    kept = passing(study.metrics, constraint)
    largest = normalisers(study.metrics, kept)
    scores, together = {name: np.full(len(kept), np.nan) for name in SCORES}, np.empty((len(kept), 1, len(METRICS)))
    for first in range(0, len(kept), _SETTINGS_AT_ONCE):
        some = slice(first, first + _SETTINGS_AT_ONCE)
        metrics = study.metrics[some].astype(np.float64)
        for score, values in (("privacy", privacy), ("utility", utility)):
            found = np.where(kept[some], np.percentile(values(metrics, largest, weights), (10, 50), axis=1), np.nan)
            scores[f"{score}_p10"][some], scores[f"{score}_median"][some] = found
        together[some, 0] = np.stack(_pooled(metrics), axis=-1)
    about = {
        **study.about,
        "normalisers": dict(zip(METRICS, largest.tolist(), strict=True)),
        "weights": {"privacy": weights.privacy, "utility": weights.utility},
        "constraints": {"max_mean": constraint.max_mean, "max_std": constraint.max_std},
    }
    return Study(study.grid, np.zeros(1, np.int64), np.zeros(1, np.int64), together, about, scores)


def read_study(path: str | Path) -> tuple[pa.Table, dict[str, Any]]:
    """Return the table of a study or summary, and its description, in which ``form`` says which of the two it is."""
    return read_table(path, FORMAT, VERSION, "halfmask evaluate")


def _schema(study: Study) -> pa.Schema:
    setting = [
        ("setting", pa.dictionary(pa.int32(), pa.string())),
        ("mechanism", pa.dictionary(pa.int32(), pa.string())),
        ("parameters", pa.list_(pa.float64())),
    ]
    samples, numbers = [("users", pa.int64()), ("repeat", pa.int64())], [(name, pa.float64()) for name in METRICS]
    own = samples if study.scores is None else [(name, pa.float64()) for name in SCORES]
    about = {"form": "samples" if study.scores is None else "summary", **study.about}
    return pa.schema([*setting, *own, *numbers], metadata=about_table(FORMAT, VERSION, about))


def _setting_columns(
    texts: list[str], start: int, mechanism: str, parameters: npt.NDArray[np.float64], rows: IntArray, times: int
) -> dict[str, pa.Array]:
    """Return text, mechanism and parameters of the given rows of a block that starts at ``start``, each
    ``times`` times.
    """
    names = pa.array([texts[start + row] for row in rows], pa.string())
    place, count = np.repeat(np.arange(len(rows), dtype=np.int32), times), parameters.shape[1]
    offsets = pa.array(np.arange(len(place) + 1, dtype=np.int32) * count)
    return {
        "setting": pa.DictionaryArray.from_arrays(pa.array(place), names),
        "mechanism": pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(place), np.int32)), pa.array([mechanism])),
        "parameters": pa.ListArray.from_arrays(offsets, pa.array(np.repeat(parameters[rows], times, axis=0).ravel())),
    }


def _pooled(metrics: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
    """Return each metric over all samples of a setting: pooled mean and deviation, and mean entropy."""
    found = {}
    found[LOCAL_MEAN], found[LOCAL_STD] = pooled(metrics, (LOCAL_MEAN, LOCAL_STD))
    found[GLOBAL_MEAN], found[GLOBAL_STD] = pooled(metrics)
    for entropy in (LOCAL_ENTROPY, GLOBAL_ENTROPY):
        found[entropy] = metrics[..., entropy].mean(axis=1)
    return [found[column] for column in range(len(METRICS))]
