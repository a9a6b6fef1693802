"""Convert the states of cumulative counters (registers) to readings, the differences between successive states.

A difference has the time of the earlier state: the consumption from 23:30 to midnight is the reading of 23:30.
"""

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from halfmask.arrays import FloatArray, IntArray
from halfmask.data.panel import Panel

ENOUGH = 24
"""The number of changes needed to conclude that values are counter states."""
LARGE, LONG = 20, 2 * 86_400_000_000
LARGEST = float(np.finfo(np.float64).max)
REASONS = (
    "first state of a register",
    "state after a gap",
    "state after a reset",
    "state at the time of another",
    "state without a value",
)
USED, UNPLACED = -1, -2


@dataclass(frozen=True)
class Rising:
    """Users whose values rise like counter states (``users``), and the other users (``others``)."""

    users: tuple[str, ...]
    others: tuple[str, ...]


def registers(rows: pa.Table) -> Rising | None:
    """Return the users whose values are counter states; None if there are none.

    If no user has enough changes, the changes of all users are pooled. If some users' values do not rise, the others
    must rise for at least two days, so that a rising temperature is not taken for a counter.
    """
    coded = rows["user"].combine_chunks().dictionary_encode()
    names, codes = [str(name) for name in coded.dictionary.to_pylist()], np.asarray(coded.indices)
    times, values = np.asarray(rows["time"]), np.asarray(rows["value"].cast(pa.float64()).fill_null(np.nan))
    order = np.lexsort((times, codes))
    order = order[np.isfinite(values[order])]
    codes, times, values = codes[order], times[order], values[order]
    same = np.diff(codes) == 0
    change, of = np.diff(values)[same], codes[1:][same]
    if np.bincount(of[change != 0], minlength=1).max() < ENOUGH:
        names, codes, of = ["all"], np.zeros_like(codes), np.zeros_like(of)
    told = np.flatnonzero(np.bincount(of[change != 0], minlength=1) >= ENOUGH)
    found: list[tuple[str, IntArray]] = []
    others: list[tuple[str, IntArray]] = []
    for one in told.tolist():
        mine = slice(*np.searchsorted(codes, (one, one + 1)))
        rises = _rises(values[mine], change[slice(*np.searchsorted(of, (one, one + 1)))])
        (found if rises else others).append((names[one], times[mine]))
    if others:
        found = [(name, when) for name, when in found if when[-1] - when[0] >= LONG]
    rising = tuple(name for name, _ in found)
    return Rising(rising, tuple(name for name, _ in others)) if rising else None


def _rises(values: FloatArray, change: FloatArray) -> bool:
    """Return whether values look like counter states: they rarely fall, and are large compared with their changes.

    At most 1 of 50 changes is negative. The median value is above 20 times the median change.
    """
    moved = change[change != 0]
    if 50 * int((moved < 0).sum()) > len(moved):
        return False
    return bool(np.median(np.abs(values)) > LARGE * np.median(np.abs(moved)))


def differences(panel: Panel, step: int | None) -> Panel:
    """Return the panel of differences between successive counter states, each at the time of the earlier state.

    Rows without user or time are kept. These states give no reading, and ``losses`` counts them by reason:

    - the first state of each user
    - a state after a gap, because the difference covers several intervals
    - a state after a reset to zero; a counter that rolls over at a power of ten is not a reset
    - a second state at the same time
    - a state without a value
    """
    told = _told(panel.frame, step)
    used = nw.col("reason") == USED
    frame = told.filter(nw.col("reason") < 0).select(
        "user",
        time=nw.when(used).then(nw.col("earlier")).otherwise(nw.col("time")),
        value=nw.when(used).then(nw.col("used")).otherwise(nw.col("value")),
    )

    def losses() -> dict[str, int]:
        counted = panel.collect(told.group_by("reason").agg(nw.len().alias("rows")))
        rows = dict(zip(counted["reason"].to_pylist(), counted["rows"].to_pylist(), strict=True))
        return {name: int(rows.get(number, 0)) for number, name in enumerate(REASONS)}

    return replace(
        panel, frame=frame, ordered=frame.with_columns(order=nw.col("time")), losses=losses, register=True, quick=None
    )


def _told(rows: nw.LazyFrame[Any], step: int | None) -> nw.LazyFrame[Any]:
    """Add to every row the earlier state, the difference, and the reason if there is no reading.

    The source is read only once: DuckDB 2.0 hangs on queries that read a large CSV file twice, once to sort it.
    """
    placed = ~nw.col("user").is_null() & ~nw.col("time").is_null()
    finite = nw.when(nw.col("value").abs() <= LARGEST).then(nw.lit(USED)).otherwise(nw.lit(len(REASONS) - 1))
    before = rows.with_columns(state_of=nw.when(placed).then(finite).otherwise(nw.lit(UNPLACED))).with_columns(
        earlier=nw.col("time").shift(1).over("user", "state_of", order_by="time"),
        state=nw.col("value").shift(1).over("user", "state_of", order_by="time"),
    )
    change, distance = nw.col("value") - nw.col("state"), nw.col("time") - nw.col("earlier")
    # The power of ten above the state, at which a counter with this many digits rolls over to zero.
    digits = nw.when(nw.col("state") >= 1).then(nw.col("state")).otherwise(nw.lit(1.0)).log(10.0).floor() + 1.0
    top = nw.lit(10.0) ** digits
    rolled = (change < 0) & (nw.col("state") > top * 0.9) & (nw.col("value") < top * 0.1)
    reason = nw.when(nw.col("state_of") != USED).then(nw.col("state_of"))
    reason = reason.when(nw.col("earlier").is_null()).then(nw.lit(0)).when(distance == 0).then(nw.lit(3))
    if step:
        reason = reason.when(distance > step).then(nw.lit(1))
    return before.with_columns(
        used=nw.when(rolled).then(change + top).otherwise(change),
        reason=reason.when((change < 0) & ~rolled).then(nw.lit(2)).otherwise(nw.lit(USED)),
    )
