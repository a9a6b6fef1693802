"""The direct method: mask every reading of every sample, as in the paper, and measure the errors.

It serves everything without a closed form (mechanisms that depend on the value, aggregates such as a maximum), and
verifies the analytic method. Noise has one stream per setting, subset and block of users: equal seeds give equal
results to the last bit, for any number of threads, batches of the source and interruptions.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.data.panel import Panel
from halfmask.errors import OptionError
from halfmask.evaluation.aggregates import aggregate as aggregate_named
from halfmask.evaluation.aggregates import own_value
from halfmask.evaluation.direct.checkpoint import Checkpoint, describe
from halfmask.evaluation.direct.masked_sample import LocalEngine, Outcome, SampleQuestion
from halfmask.evaluation.direct.sorted_readings import gather
from halfmask.evaluation.metrics import (
    ErrorFunction,
    Summary,
    check_error_function,
    global_error,
    global_scale,
    summary,
)
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.setting import PrivacySetting, release_of
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released

Progress = Callable[[int, int], None]
"""Progress callback with the number of readings masked so far, and the number to mask in total."""

NONE = PrivacySetting("none")


class SampleEngine(Protocol):
    """Measures samples, on this machine or on Spark."""

    def outcomes(self, settings: Iterable[PrivacySetting], subset: Subset) -> Iterator[Outcome]:
        """Yield local metrics and aggregates of each setting, in order."""


def evaluate_direct(
    panel: Panel,
    profile: Profile,
    settings: Sequence[PrivacySetting],
    subsets: Sequence[Subset],
    *,
    aggregate: str = "sum",
    error: ErrorFunction = "relative",
    seed: int = 7,
    checkpoint: Path | None = None,
    resume: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> FloatArray:
    """Return the six metrics of each sample, (settings, subsets, 6) in the order of `METRICS`.

    ``profile``     of this panel's readings; gives policies, periods and the users behind the subsets' rows
    ``checkpoint``  folder in which finished samples are saved
    ``resume``      continue from the results in this folder
    ``progress``    progress callback
    """
    check_error_function(error)
    question = SampleQuestion(aggregate_named(aggregate), error, seed)
    masked = released(profile, release_of(settings))
    threads = len(os.sched_getaffinity(0)) if threads is None else threads
    if threads < 1:
        raise OptionError(f"threads {threads} is below 1", kind="number", field="threads")
    _check_subsets(masked, subsets)
    run = describe(masked, settings, subsets, aggregate, error, seed)
    kept = Checkpoint(checkpoint, run, (len(settings), len(subsets)), resume)
    missing = [kept.missing(j) for j in range(len(subsets))]
    if any(missing):
        with _engine(question, panel, profile, masked, threads, checkpoint) as engine:
            try:
                _evaluate(engine, question, masked, settings, subsets, missing, kept, progress)
            finally:
                kept.write()
    return kept.results


def _evaluate(
    engine: SampleEngine,
    question: SampleQuestion,
    profile: Profile,
    settings: Sequence[PrivacySetting],
    subsets: Sequence[Subset],
    missing: Sequence[Sequence[int]],
    kept: Checkpoint,
    progress: Progress | None,
) -> None:
    readings = [int(profile.rows["readings"][subset.rows].sum()) for subset in subsets]
    total = sum(n * len(some) for n, some in zip(readings, missing, strict=True))
    done = 0
    for j, subset in enumerate(subsets):
        if not missing[j]:
            continue
        outcomes = engine.outcomes([NONE, *(settings[i] for i in missing[j])], subset)
        _, true = next(outcomes)
        if question.aggregate.analytic:  # both methods leave out the same periods
            sums = profile.cells[subset.rows].sum(axis=0)
            held = sums[:, 0] > 0
            true[held] = np.where(own_value(question.aggregate.name, sums[held]) == 0, 0.0, true[held])
        for i, (local, masked) in zip(missing[j], outcomes, strict=True):
            kept.put(i, j, (*local, *_global(question, subset, masked, true)))
            done += readings[j]
            if progress:
                progress(done, total)


def _global(question: SampleQuestion, subset: Subset, masked: FloatArray, true: FloatArray) -> Summary:
    scale = global_scale(true) if question.error == "scaled" else None
    errors = global_error(masked, true, scale)
    if not len(errors):
        raise OptionError(
            f"{question.aggregate.name} is zero in every period of the {subset.size} users of repeat {subset.repeat}, "
            "so there is no global error: use another `aggregate`",
            kind="zero-aggregate",
        )
    return summary(errors)


@contextmanager
def _engine(
    question: SampleQuestion,
    panel: Panel,
    profile: Profile,
    masked: Profile,
    threads: int,
    checkpoint: Path | None,
) -> Iterator[SampleEngine]:
    """Prepare what is masked: the readings of ``profile``, or the users' totals, if ``masked`` is their profile.

    Totals are far fewer than readings, so they are always masked on this machine.
    """
    if panel.engine.name == "spark" and masked is profile:
        from halfmask.evaluation.direct.spark import SparkSamples

        with SparkSamples.on(question, panel, profile) as engine:
            yield engine
        return
    folder = str(checkpoint) if checkpoint else None
    readings = gather(panel, profile, folder)
    if masked is not profile:
        readings = readings.totals(masked)
    with ThreadPoolExecutor(threads) as pool:
        yield LocalEngine(question, masked, readings, pool, folder)


def _check_subsets(profile: Profile, subsets: Sequence[Subset]) -> None:
    for subset in subsets:
        if not len(subset.rows) or not np.any(profile.rows["sum_abs"][subset.rows] > 0):
            raise OptionError(
                f"the {subset.size} users of repeat {subset.repeat} have only zeros, so there is no local error: "
                "draw larger subsets, or leave such users out of the source",
                kind="all-zero",
            )
