"""The direct method on Spark: partitions mask whole blocks of users and return partial sums, or all masked values if
the aggregate needs them.

A block's readings are masked with the same stream as on one machine, so only the order of sums differs. A worker keeps
one block in memory: about 2^16 readings, or those of one row of the profile if it has more. Spark's workers do not know
mechanisms registered in Python: install these as plug-ins.
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from halfmask.arrays import FloatArray, IntArray
from halfmask.data.engines.spark import lazy, without_pandas
from halfmask.data.panel import Panel
from halfmask.errors import SourceError
from halfmask.evaluation.aggregates import PeriodSums, value_of
from halfmask.evaluation.direct.compiled_loops import PeriodArray
from halfmask.evaluation.direct.masked_sample import Outcome, SampleQuestion, mask_block
from halfmask.evaluation.direct.sample_state import LocalState, RunningPeriods
from halfmask.evaluation.direct.sorted_readings import ReadingsBlock, block_of_row, scales, usable_frame
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.periods import Period
from halfmask.profiles.profile import Profile, bucket_label
from halfmask.profiles.usable import Frame

SETTINGS_A_JOB = 16
Batches = Iterator[pa.RecordBatch]

STATES = "sample INT, state BINARY"
VALUES = "sample INT, period INT, value DOUBLE"


@dataclass(frozen=True)
class Job:
    """Some settings on one subset, as sent to the workers."""

    question: SampleQuestion
    settings: Sequence[PrivacySetting]
    subset: Subset
    period: Period
    periods: IntArray

    def states(self, batches: Batches) -> Batches:
        """Yield the states of a partition's readings, one per setting."""
        periods = len(self.periods)
        kept = [(LocalState(), RunningPeriods(self.question.aggregate, periods)) for _ in self.settings]
        for block in self._blocks(batches):
            for setting, (local, running) in zip(self.settings, kept, strict=True):
                mask_block(self.question, setting, self.subset, block, local, running)
        states = [pack(local, running.sums) for local, running in kept]
        yield pa.record_batch(
            {"sample": pa.array(range(len(states)), pa.int32()), "state": pa.array(states, pa.binary())}
        )

    def values(self, batches: Batches) -> Batches:
        """Yield every masked value of a partition with its period, for aggregates that need all values."""
        for block in self._blocks(batches):
            for sample, setting in enumerate(self.settings):
                kept = _Kept()
                mask_block(self.question, setting, self.subset, block, LocalState(), kept)
                columns = {"sample": pa.array(np.full(len(block.values), sample, np.int32))}
                yield pa.record_batch(
                    columns | {"period": np.concatenate(kept.periods), "value": np.concatenate(kept.masked)}
                )

    def reduce(self, group: pa.Table) -> pa.Table:
        """Return the aggregate of one sample and period, from its values in ascending order."""
        function = self.question.aggregate.function
        values = np.sort(group["value"].to_numpy())
        value = function(values) if function else np.nan
        return group.slice(0, 1).set_column(2, "value", pa.array([value]))

    def _blocks(self, batches: Batches) -> Iterator[ReadingsBlock]:
        """Yield the subset's part of each block; a partition contains its blocks one after the other."""
        for number, table in _runs(batches, "block"):
            rows = np.asarray(table["row"])
            mine = table.filter(pa.array(np.isin(rows, self.subset.rows)))
            if mine.num_rows:
                yield self._block(number, mine)

    def _block(self, number: int, table: pa.Table) -> ReadingsBlock:
        values = np.array(table["value"])
        starts = self.period.start(np.array(table["time"]))
        names = table["name"].combine_chunks().dictionary_encode().indices
        ends = np.append(np.flatnonzero(np.diff(np.asarray(names))) + 1, len(values))
        divisor = scales(values, ends) if self.question.error == "scaled" else values
        return ReadingsBlock(number, values, np.searchsorted(self.periods, starts).astype(np.int32), ends, divisor)


class _Kept:
    """Collects masked values and periods of pieces."""

    def __init__(self) -> None:
        self.masked: list[FloatArray] = []
        self.periods: list[PeriodArray] = []

    def add(self, masked: FloatArray, periods: PeriodArray) -> None:
        self.masked.append(masked)
        self.periods.append(periods)


def _runs(batches: Batches, column: str) -> Iterator[tuple[int, pa.Table]]:
    """Yield consecutive rows with equal numbers in a column, across batches."""
    held: list[pa.RecordBatch] = []
    current = None
    for batch in batches:
        numbers = np.asarray(batch.column(column))
        edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
        for start, end in pairwise(edges):
            if start < end and numbers[start] != current:
                if held:
                    yield int(current or 0), pa.Table.from_batches(held)
                held, current = [], numbers[start]
            held.append(batch.slice(start, end - start))
    if held:
        yield int(current or 0), pa.Table.from_batches(held)


def pack(local: LocalState, sums: PeriodSums) -> bytes:
    """Return a state as bytes that numpy reads without pickle; empty bins are left out."""
    bins = np.flatnonzero(local.counts[: local.top])
    stream = io.BytesIO()
    np.savez(
        stream, moments=np.array([local.n, local.mean, local.squares]), bins=bins, counts=local.counts[bins],
        beyond=np.concatenate([np.zeros(0), *local.beyond]), n=sums.n, total=sums.total, squares=sums.squares,
        least=sums.least, largest=sums.largest,
    )  # fmt: skip
    return stream.getvalue()


def unpack(state: bytes) -> tuple[LocalState, PeriodSums]:
    """Return the state that `pack` encoded."""
    with np.load(io.BytesIO(state), allow_pickle=False) as held:
        local = LocalState()
        n, local.mean, local.squares = held["moments"].tolist()
        local.n = int(n)
        local.counts[held["bins"]] = held["counts"]
        local.top = int(held["bins"].max(initial=-1)) + 1
        local.beyond.append(held["beyond"])
        sums = PeriodSums(*(held[name] for name in ("n", "total", "squares", "least", "largest")))
    return local, sums


class SparkSamples:
    """Measures samples from readings on Spark, several settings per job."""

    def __init__(self, question: SampleQuestion, profile: Profile, panel: Panel, frame: Any) -> None:
        self.question, self.profile, self.panel, self.frame = question, profile, panel, frame

    @classmethod
    @contextmanager
    def on(cls, question: SampleQuestion, panel: Panel, profile: Profile) -> Iterator["SparkSamples"]:
        """Yield the samples of a panel whose readings are partitioned by block once, and kept there until the end."""
        with panel.guard():
            frame = located(panel, profile)
            _check(frame, panel, profile)
            native = frame.to_native()
            allowed = int(native.sparkSession.conf.get("spark.sql.shuffle.partitions"))
            partitions = min(allowed, len(np.unique(block_of_row(profile))))
            parted = (
                native.repartition(partitions, "block").sortWithinPartitions("block", "row", "name", "time").persist()
            )
        try:
            yield cls(question, profile, panel, parted)
        finally:
            parted.unpersist()

    def outcomes(self, settings: Iterable[PrivacySetting], subset: Subset) -> Iterator[Outcome]:
        """Yield one outcome per setting, one job after the other."""
        waiting = list(settings)
        for start in range(0, len(waiting), SETTINGS_A_JOB):
            some = waiting[start : start + SETTINGS_A_JOB]
            rows = np.unique(subset.rows)
            job = Job(self.question, some, replace(subset, rows=rows), self.profile.period, self.profile.periods)
            with self.panel.guard(), without_pandas():
                outcomes = self._run(job)
            yield from outcomes

    def _run(self, job: Job) -> list[Outcome]:
        states = self.frame.mapInArrow(job.states, STATES).toArrow()
        totals = [(LocalState(), PeriodSums.empty(len(job.periods))) for _ in job.settings]
        for sample, state in zip(states["sample"].to_pylist(), states["state"].to_pylist(), strict=True):
            local, sums = unpack(state)
            totals[sample][0].absorb(local)
            totals[sample][1].add(sums)
        if job.question.aggregate.function is None:
            values = [
                value_of(job.question.aggregate, sums, s) for s, (_, sums) in zip(job.settings, totals, strict=True)
            ]
        else:
            values = list(self._gathered(job))
        return [(local.summary(), value) for (local, _), value in zip(totals, values, strict=True)]

    def _gathered(self, job: Job) -> FloatArray:
        """Return aggregates of gathered values: mask again with the same noise, and group the values by period."""
        values = self.frame.mapInArrow(job.values, VALUES)
        table = values.groupBy("sample", "period").applyInArrow(lambda group: job.reduce(group), VALUES).toArrow()
        result = np.full((len(job.settings), len(job.periods)), np.nan)
        result[np.asarray(table["sample"]), np.asarray(table["period"])] = np.asarray(table["value"])
        return result


def located(panel: Panel, profile: Profile) -> Frame:
    """Return usable readings with their row and block of the profile; null for users who are not in the profile."""
    frame = usable_frame(panel, profile).with_columns(name=nw.col("user").cast(nw.String))
    place = {"row": np.arange(len(profile)), "block": block_of_row(profile)}
    if profile.buckets:
        number = {bucket_label(bucket): bucket for bucket in range(profile.buckets)}
        labels = pa.array([number[label] for label in profile.labels.tolist()], pa.int64())
        # As `bucket_of` has it.
        label = f"CAST(conv(substr(md5(name), 1, 8), 16, 10) AS BIGINT) % {profile.buckets} AS label"
        frame = lazy(frame.to_native().selectExpr("*", label))
    else:
        labels = pa.array(profile.labels.tolist(), pa.string())
        frame = frame.with_columns(label=nw.col("name"))
    rows = panel.engine.table(pa.table({"label": labels, **place}))
    return frame.join(rows, on="label", how="left").select("name", "time", "value", "row", "block")


def _check(frame: Frame, panel: Panel, profile: Profile) -> None:
    """Raise a SourceError unless every row has as many readings as in the profile."""
    counted = panel.engine.collect(frame.group_by("row").agg(nw.len().alias("count")))
    held = dict(zip(counted["row"].to_pylist(), counted["count"].to_pylist(), strict=True))
    if None in held:
        raise SourceError(
            f"{panel.source}: {held[None]} readings are of users that the profile has not: profile it first",
            kind="unknown-user",
        )
    for row, expected in enumerate(profile.rows["readings"].tolist()):
        if held.get(row, 0) != expected:
            raise SourceError(
                f"{panel.source}: {profile.labels[row]} has {held.get(row, 0)} usable readings, not {expected}: "
                "profile this source, or give the one that was profiled",
                kind="other-readings",
            )
