"""The pass over the readings as expressions that any engine runs: DuckDB, Spark, and what else Narwhals speaks.

Two group-bys, each one scan of the source: sums per user and chunk of time, and counts per user and bin. A chunk
holds at most 48 steps, so the sum of 2^slot is exact in a double, and it has as many bits set as there are readings
exactly when no two of them share a slot: that finds duplicates without a sort.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa

from halfmask.arrays import FloatArray, IntArray
from halfmask.data.panel import Engine, Panel
from halfmask.profiles.bins import BINS_PER_OCTAVE, GUARD, SMALLEST
from halfmask.profiles.engines import Frame, keep, with_bits_set, with_bucket
from halfmask.profiles.periods import Period
from halfmask.profiles.profile import ALWAYS, CELL_COLUMNS, NEVER, OF_USERS, SCALES, Counts, Profile, bucket_label
from halfmask.profiles.tally import Plan

LARGEST = float(np.finfo(np.float64).max)


class UsersThere(NamedTuple):
    """The users where the engine is: number and span of their readings, and how often their means rose and fell."""

    spans: Frame
    changes: Frame


def usable(plan: Plan) -> nw.Expr:
    """Finite and plausible. NaN is larger than every number on these engines, so one comparison drops it too."""
    finite = nw.col("value").abs() <= LARGEST
    return finite & (nw.col("value") >= max(plan.low, -LARGEST)) & (nw.col("value") <= min(plan.high, LARGEST))


def plain(value: nw.Expr) -> nw.Expr:
    """The value, 0 where it is smaller than `SMALLEST`."""
    return nw.when(value.abs() < SMALLEST).then(nw.lit(0.0)).otherwise(value)


def placed(frame: Frame, plan: Plan) -> Frame:
    """Rows with a user and a time, with the chunk they fall in and that chunk's start."""
    frame = frame.filter(~nw.col("user").is_null() & ~nw.col("time").is_null())
    chunk = ((nw.col("time") - plan.origin) // plan.chunk).cast(nw.Int64)
    return frame.with_columns(chunk=chunk)


def cells(frame: Frame, plan: Plan) -> Frame:
    """Counts and sums per user and chunk: what a profile keeps of a cell, and what it keeps of a user."""
    value, size = nw.col("s"), nw.col("size")
    power = {f"s{k}": _product(value, k) for k in (1, 2, 3, 4)}
    inverse = {f"inverse{k}": _product(nw.col("w"), k) for k in (1, 2, 3, 4)}
    offset = nw.col("time") - (nw.col("chunk") * plan.chunk + plan.origin)
    slot = (offset // plan.step).cast(nw.Float64) if plan.step else nw.lit(0.0)
    finite = nw.col("value").abs() <= LARGEST
    kept = usable(plan)
    prepared = (
        placed(frame, plan)
        .with_columns(
            s=nw.when(kept).then(plain(nw.col("value"))), finite=nw.when(finite).then(nw.lit(1)).otherwise(nw.lit(0))
        )
        .with_columns(size=value.abs(), known=nw.when(~value.is_null()).then(nw.lit(1)).otherwise(nw.lit(0)))
        .with_columns(
            w=nw.when(size > 0).then(nw.lit(1.0) / size),
            zero=nw.when(value == 0).then(nw.lit(1)).otherwise(nw.lit(0)),
            negative=nw.when(value < 0).then(nw.lit(1)).otherwise(nw.lit(0)),
            tiny=nw.when((value == 0) & (nw.col("value") != 0)).then(nw.lit(1)).otherwise(nw.lit(0)),
            taken=nw.when(~value.is_null()).then(nw.col("time")),
            slot=nw.when(~value.is_null()).then(nw.lit(2.0) ** slot),
        )
        .with_columns(**power, **inverse)
    )
    summed = [nw.col(name).sum() for name in ("finite", "zero", "negative", "tiny", "size", "slot", *power, *inverse)]
    return prepared.group_by("user", "chunk").agg(
        nw.len().alias("rows"),
        nw.col("known").sum().alias("n"),
        nw.col("taken").min().alias("first"),
        nw.col("taken").max().alias("last"),
        *summed,
    )


def bins(frame: Frame, plan: Plan) -> Frame:
    """Counts of |s| per user, bin and sign, with the sum of |s|."""
    size = nw.col("value").abs()
    kept = placed(frame, plan).filter(usable(plan)).filter(size >= SMALLEST)
    return (
        kept.with_columns(
            bin=(size.log(2.0) * BINS_PER_OCTAVE + GUARD).floor().cast(nw.Int64),
            negative=nw.when(nw.col("value") < 0).then(nw.lit(1)).otherwise(nw.lit(0)),
            size=size,
        )
        .group_by("user", "bin")
        .agg(nw.len().alias("count"), nw.col("negative").sum(), nw.col("size").sum())
    )


def measure(
    panel: Panel, plan: Plan, period: Period, buckets: int, about: dict[str, Any]
) -> tuple[Profile, Frame, UsersThere]:
    """The profile of a panel (one row a user, or a bucket where there are more users than ``buckets``), the
    user-chunks in which two readings share a slot, and the users.
    """
    engine = panel.engine
    with panel.guard():
        chunks = keep(engine, with_bits_set(engine, cells(panel.frame, plan)))
        users = _users(chunks)
        number = _scalar(engine, users.select(nw.len()))
        folded = bool(buckets) and number > buckets

        def labelled(frame: Frame) -> Frame:
            return with_bucket(engine, frame, buckets) if folded else frame.with_columns(label=nw.col("user"))

        rows = engine.collect(_bucket_rows(labelled(_of_users(users, plan))) if folded else labelled(users))
        base = ((nw.col("chunk") * plan.chunk) // period.base).cast(nw.Int64)
        sums = [nw.col(name).sum() for name in CELL_COLUMNS]
        in_cells = engine.collect(labelled(chunks).with_columns(base=base).group_by("label", "base").agg(*sums))
        kept = keep(engine, bins(panel.frame, plan))
        in_bins = engine.collect(labelled(kept).group_by("label", "bin").agg(nw.col("count").sum()))
        of_bins = engine.collect(kept.group_by("bin").agg(*(nw.col(c).sum() for c in ("count", "size", "negative"))))
        scales = engine.collect(_scales(labelled(_of_users(users, plan)))) if folded else None
        unplaced = _scalar(
            engine, panel.frame.filter(nw.col("user").is_null() | nw.col("time").is_null()).select(nw.len())
        )
        tiny = _scalar(engine, chunks.select(nw.col("tiny").sum()))
    assembled = _assemble(rows, in_cells, in_bins, of_bins, scales, plan, period, buckets if folded else 0)
    profile = replace(assembled, about={**about, "unplaced": unplaced, "tiny": tiny})
    there = UsersThere(users.select("user", "n", "first", "last"), _changes(chunks))
    return profile if folded else profile.with_users_derived(), chunks.filter(nw.col("filled") < nw.col("n")), there


def _changes(chunks: Frame) -> Frame:
    """How often the mean reading of each user rose or fell from one chunk of time to its next one with readings."""
    means = chunks.filter(nw.col("n") > 0).select("user", "chunk", mean=nw.col("s1") / nw.col("n"))
    before = nw.col("mean").shift(1).over("user", order_by="chunk")
    change = means.with_columns(change=nw.col("mean") - before)
    one, none = nw.lit(1), nw.lit(0)
    told = change.select(
        "user",
        moved=nw.when(nw.col("change") != 0).then(one).otherwise(none),
        fell=nw.when(nw.col("change") < 0).then(one).otherwise(none),
    )
    return told.group_by("user").agg(nw.col("moved").sum(), nw.col("fell").sum())


def _users(chunks: Frame) -> Frame:
    """One row a user: counts, sums and span over all its chunks."""
    summed = ("rows", "n", "finite", "zero", "negative", "size", *(f"inverse{k}" for k in (1, 2, 3, 4)))
    return chunks.group_by("user").agg(
        *(nw.col(name).sum() for name in summed), nw.col("first").min(), nw.col("last").max()
    )


def _of_users(users: Frame, plan: Plan) -> Frame:
    """What `Profile.with_users_derived` computes, as expressions."""
    one, none = nw.lit(1), nw.lit(0)
    readings, mean = nw.col("n"), nw.col("mean")
    span = (nw.col("last") - nw.col("first")) // plan.step + 1 if plan.step else readings
    users = users.with_columns(
        members=one,
        empty=nw.when(readings == 0).then(one).otherwise(none),
        all_zero=nw.when((readings > 0) & (nw.col("zero") == readings)).then(one).otherwise(none),
        expected=nw.when(readings == 0).then(none).when(span > readings).then(span).otherwise(readings).cast(nw.Int64),
        mean=nw.when((nw.col("size") > 0) & (nw.col("size") <= LARGEST)).then(nw.col("size") / readings),
    )
    return users.with_columns(
        bin=(mean.log(2.0) * BINS_PER_OCTAVE + GUARD).floor().cast(nw.Int64),
        **{f"scale{k}": readings / _product(mean, k) for k in (1, 2, 3, 4)},
    )


def _bucket_rows(users: Frame) -> Frame:
    """One row a bucket."""
    summed = ("rows", "n", "finite", "zero", "negative", "size", "members", "empty", "all_zero", "expected")
    powers = [f"{name}{k}" for name in ("inverse", "scale") for k in (1, 2, 3, 4)]
    return users.group_by("label").agg(
        *(nw.col(name).sum() for name in (*summed, *powers)), nw.col("first").min(), nw.col("last").max()
    )


def _scales(users: Frame) -> Frame:
    known = users.filter(~nw.col("bin").is_null())
    return known.group_by("label", "bin").agg(nw.col("n").sum().alias("count"))


def _assemble(
    rows: pa.Table,
    in_cells: pa.Table,
    in_bins: pa.Table,
    of_bins: pa.Table,
    scales: pa.Table | None,
    plan: Plan,
    period: Period,
    buckets: int,
) -> Profile:
    """A profile from the engines' result tables."""
    names = [bucket_label(b) if buckets else str(b) for b in rows["label"].to_pylist()]
    labels, order = np.unique(np.array(names, np.str_), return_index=True)
    place = {label: row for row, label in enumerate(np.array(rows["label"].to_pylist(), object)[order])}

    def row_of(table: pa.Table) -> IntArray:
        encoded = table["label"].combine_chunks().dictionary_encode()
        known = np.array([place[label] for label in encoded.dictionary.to_pylist()], np.int64)
        return known[np.asarray(encoded.indices)] if len(known) else np.zeros(0, np.int64)

    def column(name: str, missing: int = 0) -> IntArray:
        return _whole(rows[name], missing)[order]

    held = _whole(in_cells["n"]) > 0
    starts = period.start(_whole(in_cells["base"])[held] * period.base + period.origin)
    periods, at = np.unique(starts, return_inverse=True)
    cell_sums = np.zeros((len(labels), len(periods), len(CELL_COLUMNS)))
    where = (row_of(in_cells)[held], at)
    for index, name in enumerate(CELL_COLUMNS):
        np.add.at(cell_sums[:, :, index], where, _real(in_cells[name])[held])
    bin_index, of_bin = np.unique(_whole(of_bins["bin"]), return_index=True)
    known = scales if scales is not None else in_bins.slice(0, 0)
    return Profile(
        period=period,
        step=plan.step,
        buckets=buckets,
        labels=labels,
        rows={
            "rows": column("rows"),
            "readings": column("n"),
            "zeros": column("zero"),
            "negatives": column("negative"),
            "nonfinite": column("rows") - column("finite"),
            "outside": column("finite") - column("n"),
            "sum_abs": _real(rows["size"])[order],
            **{f"inverse{k}": _real(rows[f"inverse{k}"])[order] for k in (1, 2, 3, 4)},
            "first": column("first", NEVER),
            "last": column("last", ALWAYS),
            **({name: column(name) for name in OF_USERS} if buckets else {}),
            **({name: _real(rows[name])[order] for name in SCALES} if buckets else {}),
        },
        periods=periods,
        cells=cell_sums,
        histogram=Counts.gather(row_of(in_bins), _whole(in_bins["bin"]), _whole(in_bins["count"])),
        scales=Counts.gather(row_of(known), _whole(known["bin"]), _whole(known["count"])),
        bin_index=bin_index,
        bin_counts=_whole(of_bins["count"])[of_bin],
        bin_sizes=_real(of_bins["size"])[of_bin],
        bin_negatives=_whole(of_bins["negative"])[of_bin],
    )


def _whole(column: pa.ChunkedArray, missing: int = 0) -> IntArray:
    """Integers, whatever width or decimal type an engine gives sums."""
    return np.asarray(column.cast(pa.int64()).fill_null(missing))


def _real(column: pa.ChunkedArray) -> FloatArray:
    return np.asarray(column.cast(pa.float64()).fill_null(0.0))


def _scalar(engine: Engine, frame: Frame) -> int:
    return int(engine.collect(frame).column(0)[0].as_py() or 0)


def _product(factor: nw.Expr, times: int) -> nw.Expr:
    result = factor
    for _ in range(times - 1):
        result = result * factor
    return result
