"""Build the profile of a source: read the first rows, count all readings in one pass, and resolve duplicates."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pyarrow as pa

from halfmask.data.panel import Panel
from halfmask.data.reading_interval import head, step_of
from halfmask.errors import OptionError, ReadingError, SourceError
from halfmask.profiles.bins import SMALLEST
from halfmask.profiles.checks import (
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
    named_users,
)
from halfmask.profiles.counting import Counted, Pass
from halfmask.profiles.duplicates import in_fixed_order, repeated_times, without_duplicates
from halfmask.profiles.periods import Period
from halfmask.profiles.profile import Profile
from halfmask.profiles.rounding import grain_of
from halfmask.profiles.tally import Plan

Duplicates = Literal["auto", "first", "last", "mean", "error"]
NonFinite = Literal["drop", "error"]

DEFAULT_BUCKETS = 10_000


@dataclass(frozen=True)
class Policies:
    """How to treat unusable readings.

    ``duplicates``   which of several readings at one time to keep, or "error"; "auto" keeps the first, but raises an
                     error if more than 1 % of the readings are duplicates
    ``nonfinite``    whether to drop missing, NaN and infinite values, or to raise an error
    ``low``, ``high``  values outside these bounds are dropped; without bounds, extreme values raise an error
    """

    duplicates: Duplicates = "auto"
    nonfinite: NonFinite = "drop"
    low: float | None = None
    high: float | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the smallest and the largest value that are used."""
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
    advance: Callable[[int], None] | None = None,
) -> Profile:
    """Return the profile of a panel.

    ``buckets``  hash users into this many buckets if there are more users than that; 0: never
    ``advance``  progress callback, called with numbers of rows
    """
    policies = policies or Policies()
    cut = Period.parse(period)
    if buckets < 0:
        raise OptionError(f"buckets {buckets} is negative: use 0 for one row a user, or a number of buckets")
    first_rows = head(panel)
    check_register(panel, first_rows)

    grain = _grain(first_rows)

    def passing(step: int | None) -> Pass:
        return Pass(Plan(step, cut.chunk(step), cut.origin, *policies.bounds, grain), cut, buckets)

    way = passing(step_of(first_rows))
    found = way.over(panel, advance)
    check_late_registers(panel, found.profile, found.rising)
    check_singles(panel, found.users)
    check_user(panel, found.profile, first_rows)
    if (better := better_step(panel, way.plan.step, found.users)) is not None:
        way = passing(better)
        found = way.over(panel)
    profile, surplus, explained = _without_duplicates(panel, way, found, policies.duplicates, advance)
    _check(profile, panel, policies)
    notes = [*panel.notes, *explained, *far_sides(profile, policies.low, policies.high)]
    return replace(profile, about={**profile.about, **_about(panel, policies), "duplicates": surplus, "notes": notes})


def _grain(first_rows: pa.Table) -> float:
    sizes = np.abs(first_rows["value"].to_numpy())
    return grain_of(np.unique(sizes[(sizes >= SMALLEST) & np.isfinite(sizes)]))


def _without_duplicates(
    panel: Panel, way: Pass, found: Counted, policy: Duplicates, advance: Callable[[int], None] | None
) -> tuple[Profile, int, list[str]]:
    """Return the profile with one reading per user and time, the number of readings left out, and notes."""
    if not found.clashes.num_rows:
        return found.profile, 0, []
    users = named_users(panel, found.clashes["user"])
    suspects = panel.engine.table(pa.table({"user": users, "chunk": found.clashes["chunk"]}))
    repeated = repeated_times(panel, way.plan, suspects)
    surplus = int(panel.collect(repeated.select((nw.col("count") - 1).sum())).column(0)[0].as_py() or 0)
    if not surplus:
        return found.profile, 0, []
    explained = check_duplicates(panel, repeated, surplus, found.profile.readings, policy)
    mended = without_duplicates(panel, way.plan, repeated, "first" if policy == "auto" else policy)
    stream = in_fixed_order(panel, mended, way.plan, suspects, found.clashes)
    return way.over(mended, advance, stream).profile, surplus, explained


def _about(panel: Panel, policies: Policies) -> dict[str, Any]:
    """Return the metadata of a profile: its source and its policies."""
    kept = "first" if policies.duplicates == "auto" else policies.duplicates
    about: dict[str, Any] = {
        "sources": [panel.source],
        "policies": {"duplicates": kept, "nonfinite": policies.nonfinite, **_bounds(policies)},
    }
    about |= {"unit": panel.unit} if panel.unit else {}
    about |= {"quantity": panel.quantity} if panel.quantity else {}
    return about | ({"losses": panel.losses()} if panel.losses else {})


def _check(profile: Profile, panel: Panel, policies: Policies) -> None:
    dropped = int(profile.rows["nonfinite"].sum())
    if dropped and policies.nonfinite == "error":
        worst = profile.labels[int(np.argmax(profile.rows["nonfinite"]))]
        raise ReadingError(
            f"{panel.source}: {dropped} values are null, NaN or infinite (user {worst} has most): "
            "mend them, or drop them with the policy drop",
            kind="nonfinite",
            place=f"user {worst}",
        )
    if not profile.readings:
        raise SourceError(
            f"{panel.source}: no usable reading among {int(profile.rows['rows'].sum())} rows", kind="unusable"
        )
    check_unplaced(panel, profile)
    check_total(panel, profile)
    if policies.low is None and policies.high is None:
        check_far(profile, panel)


def _bounds(policies: Policies) -> dict[str, float]:
    named = dict(zip(("low", "high"), policies.bounds, strict=True))
    return {name: bound for name, bound in named.items() if np.isfinite(bound)}
