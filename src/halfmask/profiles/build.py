"""Readings to a profile: look at the source, count it in one pass, deal with duplicates."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from halfmask.data.panel import Panel
from halfmask.data.reading_interval import head, step_of
from halfmask.errors import OptionError, ReadingError, SourceError
from halfmask.profiles import expressions
from halfmask.profiles.doubts import (
    better_step,
    check_duplicates,
    check_far,
    check_late_registers,
    check_register,
    check_singles,
    check_total,
    check_unplaced,
    check_user,
    far_sides,
)
from halfmask.profiles.engines import Frame, keep
from halfmask.profiles.fold import fold
from halfmask.profiles.kernel import NO_TIME, TooLargeError, count
from halfmask.profiles.periods import Period
from halfmask.profiles.profile import Profile
from halfmask.profiles.tally import Plan, Tally

Duplicates = Literal["auto", "first", "last", "mean", "error"]
NonFinite = Literal["drop", "error"]
Method = Literal["auto", "kernel", "expressions"]

DEFAULT_BUCKETS = 10_000
KERNEL_BYTES = 1_200_000_000


@dataclass(frozen=True)
class Policies:
    """What becomes of readings that are not plainly usable.

    ``duplicates`` auto keeps the first of each, and stops where they are more than 1 % of the readings. Values below
    ``low`` or above ``high`` are dropped; where neither is given, values far outside stop the run.
    """

    duplicates: Duplicates = "auto"
    nonfinite: NonFinite = "drop"
    low: float | None = None
    high: float | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value that are taken."""
        return (-np.inf if self.low is None else self.low), (np.inf if self.high is None else self.high)

    def __post_init__(self) -> None:
        if self.duplicates not in ("auto", "first", "last", "mean", "error"):
            raise OptionError(f"duplicates '{self.duplicates}' is not a policy: use auto, first, last, mean or error")
        if self.nonfinite not in ("drop", "error"):
            raise OptionError(f"non-finite '{self.nonfinite}' is not a policy: use drop or error")
        low, high = self.bounds
        if not low < high:
            raise OptionError(f"bounds {low:g} to {high:g} leave no value between them")


def build_profile(
    panel: Panel,
    *,
    period: str = "day",
    policies: Policies | None = None,
    buckets: int = DEFAULT_BUCKETS,
    method: Method = "auto",
    advance: Callable[[int], None] | None = None,
) -> Profile:
    """The profile of a panel. More users than ``buckets`` are hashed into as many buckets (0: never).

    ``method`` chooses the pass: ``kernel`` (compiled, one machine, users x time in memory), ``expressions`` (on the
    panel's engine, any size), or ``auto``: the kernel on DuckDB as long as it fits.
    """
    policies = policies or Policies()
    cut = Period.parse(period)
    if buckets < 0:
        raise OptionError(f"buckets {buckets} is negative: use 0 for one row a user, or a number of buckets")
    first_rows = head(panel)
    check_register(panel, first_rows)
    step = step_of(first_rows)
    kept = "first" if policies.duplicates == "auto" else policies.duplicates
    about: dict[str, Any] = {
        "sources": [panel.source],
        "notes": list(panel.notes),
        "policies": {"duplicates": kept, "nonfinite": policies.nonfinite, **_bounds(policies)},
        "duplicates": 0,
    }
    about |= {"unit": panel.unit} if panel.unit else {}
    about |= {"quantity": panel.quantity} if panel.quantity else {}
    about |= {"losses": panel.losses()} if panel.losses else {}
    plan = Plan(step, cut.chunk(step), cut.origin, *policies.bounds)
    profile, suspects, tally, users = _pass(panel, plan, cut, buckets, method, about, advance)
    check_late_registers(panel, profile, tally, users)
    check_singles(panel, profile, tally, users)
    check_user(panel, profile, first_rows)
    if (better := better_step(panel, profile, tally, users)) is not None:
        plan = Plan(better, cut.chunk(better), cut.origin, *policies.bounds)
        profile, suspects, tally, _ = _pass(panel, plan, cut, buckets, method, about, None)
    if suspects is not None:
        repeated = keep(panel.engine, _repeated(panel, plan, suspects))
        surplus = int(panel.collect(repeated.select((nw.col("count") - 1).sum())).column(0)[0].as_py() or 0)
        if surplus:
            explained = check_duplicates(panel, repeated, surplus, profile.readings, policies.duplicates)
            about = {**about, "duplicates": surplus, "notes": [*about["notes"], *explained]}
            mended = without_duplicates(panel, plan, repeated, kept)
            if tally is None:
                profile = expressions.measure(mended, plan, cut, buckets, about)[0]
            else:
                batches = _mended_batches(panel, mended, suspects, tally, plan)
                profile = _folded(count(batches, plan, KERNEL_BYTES, advance), plan, cut, buckets, about)
    _check(profile, panel, policies)
    notes = [*profile.about["notes"], *far_sides(profile, policies.low, policies.high)]
    return replace(profile, about={**profile.about, "notes": notes})


def _pass(
    panel: Panel,
    plan: Plan,
    period: Period,
    buckets: int,
    method: Method,
    about: dict[str, Any],
    advance: Callable[[int], None] | None,
) -> tuple[Profile, Frame | None, Tally | None, expressions.UsersThere | None]:
    """Profile, suspected user-chunks (None: there are none), the tally of the kernel or the users of the engine."""
    if method == "kernel" or (method == "auto" and panel.engine.name == "duckdb"):
        try:
            tally = _counted(panel, plan, advance)
        except TooLargeError:
            if method == "kernel":
                raise OptionError("users x time is too large for the kernel: use the method 'expressions'") from None
        else:
            return _folded(tally, plan, period, buckets, about), _suspects(panel, tally), tally, None
    profile, suspects, users = expressions.measure(panel, plan, period, buckets, about)
    some = panel.collect(suspects.head(1)).num_rows
    return profile, suspects.select("user", "chunk") if some else None, None, users


def _counted(panel: Panel, plan: Plan, advance: Callable[[int], None] | None) -> Tally:
    """The kernel's tally, by the quick way of reading if it gets to the end."""
    done = 0

    def told(rows: int) -> None:
        nonlocal done
        done += rows
        if advance:
            advance(rows)

    if panel.quick is not None:
        try:
            tally = count(panel.quick(), plan, KERNEL_BYTES, told)
            if all(user and user == user.strip() for user in tally.users):
                return tally
        except Exception as error:
            if not panel.engine.misread(error):
                with panel.guard():
                    raise
        if advance:
            advance(-done)
    return count(panel.batches(), plan, KERNEL_BYTES, advance)


def _folded(tally: Tally, plan: Plan, period: Period, buckets: int, about: dict[str, Any]) -> Profile:
    profile = fold(tally, plan, period, about)
    return profile.bucketed(buckets) if buckets and len(profile) > buckets else profile


def _suspects(panel: Panel, tally: Tally) -> Frame | None:
    """The user-chunks in which two readings share a slot, as a table on the engine."""
    row, chunk = np.nonzero(tally.clash)
    if not len(row):
        return None
    kind = panel.collect(panel.frame.head(0)).schema.field("user").type
    users = pa.array([tally.users[r] for r in row], pa.string()).cast(kind)
    return panel.engine.table(pa.table({"user": users, "chunk": pa.array(chunk + tally.chunk0, pa.int64())}))


def _repeated(panel: Panel, plan: Plan, suspects: Frame) -> Frame:
    """User and time of readings that occur more than once, with how often: looked for among the suspects alone."""
    rows = expressions.placed(panel.frame, plan).filter(expressions.usable(plan))
    among = rows.join(suspects, on=["user", "chunk"], how="semi")
    return among.group_by("user", "time").agg(nw.len().alias("count")).filter(nw.col("count") > 1)


def without_duplicates(panel: Panel, plan: Plan, repeated: Frame, policy: str) -> Panel:
    """The same panel with one reading for each user and time."""
    keys = ["user", "time"]
    usable = expressions.usable(plan)
    single = panel.frame.join(repeated, on=keys, how="anti")
    several = panel.ordered.filter(usable).join(repeated, on=keys, how="semi")
    if policy == "mean":
        kept = several.group_by(keys).agg(nw.col("value").mean())
    else:
        place = nw.col("order").min() if policy == "first" else nw.col("order").max()
        chosen = several.group_by(keys).agg(place.alias("order"))
        kept = several.join(chosen, on=[*keys, "order"], how="semi")
    unusable = panel.frame.join(repeated, on=keys, how="semi").filter(~usable | nw.col("value").is_null())
    columns = ["user", "time", "value"]
    parts = [part.select(columns) for part in (single, kept, unusable)]
    return replace(panel, frame=nw.concat(parts), quick=None)


def _mended_batches(panel: Panel, mended: Panel, suspects: Frame, tally: Tally, plan: Plan) -> Iterator[pa.RecordBatch]:
    """The rows of a mended panel in the same order on every run, which a join does not keep.

    Those of unsuspected user-chunks come as they are in the source, then the others, sorted.
    """
    row_of = {user: row for row, user in enumerate(tally.users)}
    for batch in panel.batches():
        users = batch.column(0).dictionary_encode()
        rows = np.array([*(row_of.get(str(user), -1) for user in users.dictionary.to_pylist()), -1], np.int64)
        row = rows[np.asarray(pc.fill_null(users.indices, len(rows) - 1))]
        time = np.asarray(pc.fill_null(batch.column(1), NO_TIME))
        chunk = (time - plan.origin) // plan.chunk - tally.chunk0
        suspect = (row >= 0) & (chunk >= 0) & (chunk < tally.clash.shape[1])
        suspect[suspect] = tally.clash[row[suspect], chunk[suspect]]
        yield batch.filter(pa.array(~suspect))
    among = expressions.placed(mended.frame, plan).join(suspects, on=["user", "chunk"], how="semi")
    yield from replace(mended, frame=among.select("user", "time", "value").sort("user", "time")).batches()


def _check(profile: Profile, panel: Panel, policies: Policies) -> None:
    dropped = int(profile.rows["nonfinite"].sum())
    if dropped and policies.nonfinite == "error":
        worst = profile.labels[int(np.argmax(profile.rows["nonfinite"]))]
        raise ReadingError(
            f"{panel.source}: {dropped} values are null, NaN or infinite (user {worst} has most): "
            "mend them, or drop them with the policy drop"
        )
    if not profile.readings:
        raise SourceError(f"{panel.source}: no usable reading among {int(profile.rows['rows'].sum())} rows")
    check_unplaced(panel, profile)
    check_total(panel, profile)
    if policies.low is None and policies.high is None:
        check_far(profile, panel)


def _bounds(policies: Policies) -> dict[str, float]:
    named = dict(zip(("low", "high"), policies.bounds, strict=True))
    return {name: bound for name, bound in named.items() if np.isfinite(bound)}
