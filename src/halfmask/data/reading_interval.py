"""Find the interval between readings: the most common time between successive readings of a user."""

from collections.abc import Generator
from contextlib import closing

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from halfmask.data.panel import Panel

HEAD_ROWS = 200_000
SOME_USERS = 64


def head(panel: Panel) -> pa.Table:
    """Return the first rows that have a user and a time."""
    if panel.quick is not None:
        try:
            return _first(panel.quick())
        except Exception as error:
            if not panel.engine.misread(error):
                with panel.guard():
                    raise
    placed = ~nw.col("user").is_null() & ~nw.col("time").is_null()
    return panel.collect(panel.frame.filter(placed).head(HEAD_ROWS))


def _first(batches: Generator[pa.RecordBatch]) -> pa.Table:
    """Return the first rows of a stream, and close it."""
    found, rows = [], 0
    with closing(batches):
        for batch in batches:
            placed = pc.and_(pc.is_valid(batch.column(0)), pc.is_valid(batch.column(1)))
            found.append(batch.filter(placed).slice(0, HEAD_ROWS - rows))
            rows += found[-1].num_rows
            if rows == HEAD_ROWS:
                break
        return pa.Table.from_batches(found)


def step_of(rows: pa.Table) -> int | None:
    """Return the most common positive time between successive readings of a user, in microseconds; None if there is
    none.
    """
    codes = np.asarray(rows["user"].combine_chunks().dictionary_encode().indices)
    times = np.asarray(rows["time"])
    order = np.lexsort((times, codes))
    distance = np.diff(times[order])[np.diff(codes[order]) == 0]
    distance = distance[distance > 0]
    if not len(distance):
        return None
    steps, counts = np.unique(distance, return_counts=True)
    return int(steps[counts.argmax()])


def of_some_users(panel: Panel, users: pa.Array, *more: str) -> pa.Table:
    """Return all readings of some users: the columns user, time and ``more``."""
    wanted = panel.engine.table(pa.table({"user": users}))
    placed = panel.frame.filter(~nw.col("time").is_null()).select("user", "time", *more)
    return panel.collect(placed.join(wanted, on="user", how="semi"))
