"""Find duplicates (several readings of one user at one time), and keep one of each."""

from collections.abc import Generator
from dataclasses import replace

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from halfmask.data.panel import Panel
from halfmask.profiles.compiled_count import NO_TIME
from halfmask.profiles.tally import Plan
from halfmask.profiles.usable import Frame, placed, usable


def repeated_times(panel: Panel, plan: Plan, suspects: Frame | None = None) -> Frame:
    """Return user and time of duplicates, with their ``count``. The result stays on the engine.

    ``suspects``  the users and chunks to search; None for all
    """
    rows = placed(panel.frame, plan).filter(usable(plan))
    if suspects is not None:
        rows = rows.join(suspects, on=["user", "chunk"], how="semi")
    return panel.engine.keep(rows.group_by("user", "time").agg(nw.len().alias("count")).filter(nw.col("count") > 1))


def without_duplicates(panel: Panel, plan: Plan, repeated: Frame, policy: str) -> Panel:
    """Return the panel with one reading per user and time."""
    keys = ["user", "time"]
    single = panel.frame.join(repeated, on=keys, how="anti")
    several = panel.ordered.filter(usable(plan)).join(repeated, on=keys, how="semi")
    if policy == "mean":
        kept = several.group_by(keys).agg(nw.col("value").mean())
    else:
        place = nw.col("order").min() if policy == "first" else nw.col("order").max()
        chosen = several.group_by(keys).agg(place.alias("order"))
        kept = several.join(chosen, on=[*keys, "order"], how="semi")
    unusable = panel.frame.join(repeated, on=keys, how="semi").filter(~usable(plan) | nw.col("value").is_null())
    columns = ["user", "time", "value"]
    parts = [part.select(columns) for part in (single, kept, unusable)]
    return replace(panel, frame=nw.concat(parts), quick=None)


def in_fixed_order(
    panel: Panel, mended: Panel, plan: Plan, suspects: Frame, clashes: pa.Table
) -> Generator[pa.RecordBatch]:
    """Yield the rows of the panel without duplicates in the same order on every run. A join does not keep the order.

    First come the rows of other users and chunks, as in the source. Then come those of the suspects, sorted.

    ``mended``    the panel without duplicates
    ``suspects``  the users and chunks that may contain duplicates, on the engine
    ``clashes``   the same, with users by name
    """
    chunks = np.asarray(clashes["chunk"])
    first, length = int(chunks.min()), int(np.ptp(chunks)) + 1
    encoded = clashes["user"].combine_chunks().dictionary_encode()
    number = {name: place for place, name in enumerate(encoded.dictionary.to_pylist())}
    suspected = np.zeros((len(number), length), bool)
    suspected[np.asarray(encoded.indices), chunks - first] = True
    for batch in panel.batches():
        users = batch.column(0).dictionary_encode()
        rows = np.array([*(number.get(str(user), -1) for user in users.dictionary.to_pylist()), -1], np.int64)
        row = rows[np.asarray(pc.fill_null(users.indices, len(rows) - 1))]
        chunk = (np.asarray(pc.fill_null(batch.column(1), NO_TIME)) - plan.origin) // plan.chunk - first
        suspect = (row >= 0) & (chunk >= 0) & (chunk < length)
        suspect[suspect] = suspected[row[suspect], chunk[suspect]]
        yield batch.filter(pa.array(~suspect))
    among = placed(mended.frame, plan).join(suspects, on=["user", "chunk"], how="semi")
    yield from replace(mended, frame=among.select("user", "time", "value").sort("user", "time")).batches()
