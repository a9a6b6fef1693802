"""Privacy and utility of every setting of a study, from its samples or its summary."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.errors import FileFormatError, OptionError
from halfmask.evaluation.metrics import LOCAL_MEAN, METRICS
from halfmask.evaluation.scores import Constraint, Weights, normalisers, passing, privacy, utility
from halfmask.evaluation.study import SCORES, Study, groups, read_study
from halfmask.mechanisms.setting import PrivacySetting
from halfmask_device.setting import split_release


@dataclass(frozen=True, eq=False)
class StudyScores:
    """Scores of the settings in the study's order; NaN for settings that break the constraint.

    ``passes``  whether a setting keeps the constraint
    ``masks``   whether a setting changes any reading; otherwise it equals "none"
    """

    texts: pa.Array
    mechanisms: pa.Array
    privacy_median: FloatArray
    privacy_p10: FloatArray
    utility_median: FloatArray
    utility_p10: FloatArray
    passes: BoolArray
    masks: BoolArray
    normalisers: FloatArray
    weights: Weights
    constraint: Constraint

    def __len__(self) -> int:
        return len(self.texts)

    def setting(self, index: int) -> PrivacySetting:
        """Return the setting with this index."""
        return PrivacySetting.parse(self.texts[index].as_py())

    @property
    def spread(self) -> FloatArray:
        """perc(Q, 50) - perc(Q, 10)."""
        return self.privacy_median - self.privacy_p10

    @property
    def objective(self) -> FloatArray:
        """perc(U, 50) + perc(U, 10)."""
        return self.utility_median + self.utility_p10


Read = tuple[pa.Table, Mapping[str, Any]]
AnyStudy = Study | str | Path | Read


def opened_study(study: AnyStudy) -> Read:
    """Return a study's table and its description, from a file or an object."""
    if isinstance(study, str | Path):
        return read_study(study)
    if not isinstance(study, Study):
        return study
    form = "samples" if study.scores is None else "summary"
    return study.to_arrow(), {**study.about, "form": form}


def study_release(study: AnyStudy) -> str:
    """Return what the settings of a study mask."""
    table, _ = opened_study(study)
    return split_release(table.column("setting")[0].as_py())[1]


def score_study(
    table: pa.Table,
    about: Mapping[str, Any],
    weights: Weights | None = None,
    constraint: Constraint | None = None,
    largest: FloatArray | None = None,
) -> StudyScores:
    """Return the scores of a study's settings.

    A summary keeps the scores it was made with: other weights, constraints or normalisers are refused. ``largest`` are
    normalisers to use instead of the study's own, for a scale that several studies share.
    """
    missing = [name for name in ("setting", "mechanism", *METRICS) if name not in table.column_names]
    if missing or not table.num_rows:
        what = f"no column '{missing[0]}'" if missing else "no rows"
        raise FileFormatError(f"the study has {what}: recreate it with 'halfmask evaluate'", kind="column")
    if about.get("form") == "summary":
        if largest is not None:
            raise OptionError(
                "the study is a summary, whose scores cannot be put on another scale: keep every sample", kind="summary"
            )
        return _of_summary(table, about, weights, constraint)
    return _of_samples(table, weights or Weights(), constraint or Constraint(), largest)


def sample_metrics(table: pa.Table) -> tuple[IntArray, FloatArray]:
    """Return each setting's first row, and the metrics (settings, samples, 6) of a study that keeps every sample."""
    first, order, samples = groups(table)
    metrics = np.moveaxis(np.empty((len(METRICS), len(first), samples)), 0, -1)  # each metric's values lie together
    for index, name in enumerate(METRICS):
        values = _numbers(table, name)
        metrics[..., index] = (values if order is None else values[order]).reshape(len(first), samples)
    if np.isnan(metrics).any():
        raise FileFormatError(
            "the study holds metrics that are not numbers: recreate it with 'halfmask evaluate'", kind="number"
        )
    return first, metrics


def _of_samples(table: pa.Table, weights: Weights, constraint: Constraint, largest: FloatArray | None) -> StudyScores:
    first, metrics = sample_metrics(table)
    passes = passing(metrics, constraint)
    largest = normalisers(metrics, passes) if largest is None else largest
    kept = np.flatnonzero(passes)
    found = {name: np.full(len(first), np.nan) for name in SCORES}
    for what, formula in (("privacy", privacy), ("utility", utility)):
        low, median = _percentiles(formula(metrics, largest, weights)[kept])
        found[f"{what}_p10"][kept], found[f"{what}_median"][kept] = low, median
    rows = pa.array(first)
    return StudyScores(
        texts=_words(table, "setting").take(rows),
        mechanisms=_words(table, "mechanism").take(rows),
        **found,
        passes=passes,
        masks=metrics[..., LOCAL_MEAN].max(axis=1) > 0,
        normalisers=largest,
        weights=weights,
        constraint=constraint,
    )


def _of_summary(
    table: pa.Table, about: Mapping[str, Any], weights: Weights | None, constraint: Constraint | None
) -> StudyScores:
    made, limits = about["weights"], Constraint(**about["constraints"])
    own = Weights(tuple(made["privacy"]), tuple(made["utility"]))
    for what, asked, held in (("weights", weights, own), ("constraint", constraint, limits)):
        if asked is not None and asked != held:
            raise OptionError(
                f"the study is a summary made with the {what} {held}, not {asked}: take those, "
                "or evaluate again without `summary`",
                kind="summary",
            )
    scores = {name: _numbers(table, name) for name in SCORES}
    return StudyScores(
        texts=_words(table, "setting"),
        mechanisms=_words(table, "mechanism"),
        **scores,
        passes=~np.isnan(scores["privacy_median"]),
        masks=_numbers(table, "local_mean") > 0,
        normalisers=np.array([about["normalisers"][name] for name in METRICS]),
        weights=own,
        constraint=limits,
    )


def _percentiles(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the 10th percentile and the median of each row, interpolated linearly as by numpy.

    Rows are sorted once for both.
    """
    ordered = np.sort(values, axis=1)
    found = []
    for share in (0.1, 0.5):
        place = share * (values.shape[1] - 1)
        below = int(place)
        above = min(below + 1, values.shape[1] - 1)
        found.append(ordered[:, below] + (place - below) * (ordered[:, above] - ordered[:, below]))
    return found[0], found[1]


def _numbers(table: pa.Table, name: str) -> FloatArray:
    return np.asarray(table.column(name).to_numpy(), float)


def _words(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()) if name == "setting" else column.unify_dictionaries()
    return column.combine_chunks()
