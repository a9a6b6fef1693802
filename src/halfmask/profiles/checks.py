"""Checks that stop a run if readings are probably misinterpreted. Every error names a way out."""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from halfmask.data.panel import Panel
from halfmask.data.reading_interval import HEAD_ROWS, SOME_USERS, of_some_users, step_of
from halfmask.data.registers import registers
from halfmask.errors import ReadingError
from halfmask.profiles.profile import Profile
from halfmask.profiles.quality import typical_sizes
from halfmask.profiles.usable import Frame

MOST_DUPLICATES = 0.01
FAR = 1000.0
"""Readings above this multiple of the 99 % quantile stop the run."""
DOUBTFUL, RARE, RARE_BELOW = 100.0, 0.01, 0.03
"""A note counts the readings above `DOUBTFUL` times the 99 % quantile, if their share of all readings is at most `RARE`
on the upper side and `RARE_BELOW` on the lower side."""
CODES = (999.0, 9999.0, 99999.0, 999999.0, 999.9, 9999.9, 32767.0, 32768.0, 65535.0, 2147483647.0, 4294967295.0)
"""Numbers (or their negatives) that loggers write for a missing reading."""
APART = 10.0
"""A number counts as such a code only if it is at least this multiple of the next smaller reading."""
TOTAL, VARIES = 1e-2, 2e-3
"""Shares of the sum over users: how far a total may deviate from it, and how much it must vary to be checked."""
FEWEST_OF_A_TOTAL = 4
"""The least number of users for `check_total`."""
ENOUGH_USERS = 24


def check_register(panel: Panel, rows: pa.Table) -> None:
    """Raise an error if the first rows are states of a counter, because states must not be summed."""
    if panel.register is None and (found := registers(rows)):
        raise _registers(panel, found.users, bool(found.others))


def _registers(panel: Panel, users: Sequence[str], others: bool) -> ReadingError:
    """Return the error for users whose values are states of a counter.

    ``others``  whether there are other users, whose values are readings
    """
    if not others:
        return ReadingError(
            f"{panel.source}: values of a user hardly ever fall and are large beside their changes, as the states of a "
            "meter's register are; take their differences with `register`, or say `register=False` where they are "
            "readings after all",
            kind="register",
        )
    named = ", ".join(users[:3]) + (", ..." if len(users) > 3 else "")
    apart = f"{panel.queries.without(users)} and {panel.queries.only(users)} with `register`"
    return ReadingError(
        f"{panel.source}: values of {len(users):,} of the users ({named}) hardly ever fall and are large beside "
        "their changes, as the states of a meter's register are, and those of others are not; read the two kinds apart "
        + (f"({apart}), " if len(users) <= SOME_USERS else "with a query, `sql`, ")
        + "and merge the profiles, or say `register=False` where all are readings after all",
        kind="register",
        place=f"users {named}",
    )


def check_late_registers(panel: Panel, profile: Profile, rising: list[str]) -> None:
    """Raise an error if later rows show that users' values are states of a counter.

    ``rising``  users whose mean rises over time; all readings of some of them are examined
    """
    if panel.register is not None or int(profile.rows["rows"].sum()) <= HEAD_ROWS or not rising:
        return
    some = np.linspace(0, len(rising) - 1, min(SOME_USERS, len(rising))).astype(np.int64)
    found = registers(of_some_users(panel, named_users(panel, [rising[row] for row in some]), "value"))
    if found is not None:
        whole = found.users if found.others else rising
        raise _registers(panel, whole, len(whole) < profile.users)


def named_users(panel: Panel, names: Any) -> pa.Array:
    """Convert users' names to the type of the panel's user column."""
    kind = panel.collect(panel.frame.head(0)).schema.field("user").type
    return pa.array(names, pa.string()).cast(kind)


def check_singles(panel: Panel, users: pa.Table) -> None:
    """Raise an error if every user has at most one reading and most times differ: the column numbers the rows.

    There is no check if the caller named the user column, or if there are few users.
    """
    guess = next((guess for guess in panel.guesses if guess.what == "user"), None)
    readings, first = (np.asarray(users[name]) for name in ("readings", "first"))
    if guess is None or guess.evidence == "`user`" or len(users) < ENOUGH_USERS or (readings > 1).any():
        return
    if 2 * len(np.unique(first[readings > 0])) > len(users):
        name = guess.choice
        raise ReadingError(
            f"{panel.source}: each of {len(users):,} users has one reading, at a time of its own, so that {name} names "
            f"rows and not users; say {panel.queries.one()} where all readings are of one user, or `user={name!r}` "
            "where they are of as many",
            kind="singles",
        )


def check_user(panel: Panel, profile: Profile, rows: pa.Table) -> None:
    """Raise an error if hardly any times are shared by several users, unless the column is known to hold users.

    Such a column describes each reading: its quality, its tariff, or the day of the week.

    ``rows``  the first rows; if they show too few shared times, all rows are examined
    """
    guess = next((guess for guess in panel.guesses if guess.what == "user"), None)
    if guess is None or guess.sure or profile.users < 2:
        return
    shared, times = _shared(rows)
    if 20 * shared <= times and int(profile.rows["rows"].sum()) > rows.num_rows:
        placed = panel.frame.filter(~nw.col("user").is_null() & ~nw.col("time").is_null())
        users = placed.group_by("time").agg(nw.col("user").n_unique().alias("users"))
        counted = users.select(nw.len().alias("times"), (nw.col("users") > 1).cast(nw.Int64).sum().alias("shared"))
        (found,) = panel.collect(counted).to_pylist()
        shared, times = int(found["shared"]), int(found["times"])
    if 20 * shared <= times:
        name = guess.choice
        raise ReadingError(
            f"{panel.source}: no column looks like the user, and no two of the {profile.users:,} in {name!r} have "
            "readings at the same times, as where it says something of each reading of one user; say "
            f"{panel.queries.one()} where all readings are of one, or `user={name!r}` where they are users",
            kind="not_users",
        )


def _shared(rows: pa.Table) -> tuple[int, int]:
    """Return the number of times at which several users have readings, and the number of all times."""
    pairs = rows.select(["time", "user"]).group_by(["time", "user"]).aggregate([])
    users = np.asarray(pairs.group_by("time").aggregate([([], "count_all")])["count_all"])
    return int((users > 1).sum()), len(users)


def better_step(panel: Panel, step: int | None, users: pa.Table) -> int | None:
    """Return a better interval between readings than that of the first rows; None if that is right.

    A user's n readings are on average (last - first) / (n - 1) apart, more with gaps. If the median over users is less
    than 0.75 or more than 1.5 times the interval, it is found again from all times of some users.
    """
    readings, first, last = (np.asarray(users[name]) for name in ("readings", "first", "last"))
    several = np.flatnonzero(readings > 1)
    if not len(several):
        return None
    apart = (last[several] - first[several]) / (readings[several] - 1)
    if step and 0.75 <= float(np.median(apart)) / step <= 1.5:
        return None
    some = several[np.linspace(0, len(several) - 1, min(SOME_USERS, len(several))).astype(np.int64)]
    found = step_of(of_some_users(panel, named_users(panel, users["user"].take(pa.array(some)).to_pylist())))
    return found if found and found != step else None


def check_duplicates(panel: Panel, repeated: Frame, surplus: int, readings: int, policy: str) -> list[str]:
    """Return notes on duplicates. Raise an error if the policy forbids them or there are too many."""
    changed = _clock_change(panel, repeated, surplus)
    if policy != "error" and (policy != "auto" or surplus <= MOST_DUPLICATES * readings):
        return changed
    one = panel.collect(repeated.sort("user", "time").head(1)).to_pylist()[0]
    why = f" ({changed[0]})" if changed else ""
    raise ReadingError(
        f"{panel.source}: {surplus} duplicate readings ({surplus / max(readings, 1):.1%}), the first for user "
        f"{one['user']} at {moment(one['time'])}{why}: check user and time ('halfmask look' shows them)"
        + (
            ", or keep one of each with `duplicates=first`, `duplicates=last` or `duplicates=mean`"
            if 2 * surplus < readings
            else "; most readings repeat a time, so another column holds the user or the time"
        ),
        kind="duplicates",
        place=f"user {one['user']} at {moment(one['time'])}",
    )


def _clock_change(panel: Panel, repeated: Frame, surplus: int) -> list[str]:
    """Return an explanation if all duplicates lie in a Sunday night when clocks go back; else an empty list."""
    if surplus > 1_000_000:
        return []
    times = np.asarray(panel.collect(repeated.select("time"))["time"]).astype("datetime64[us]")
    days, months = times.astype("datetime64[D]"), times.astype("datetime64[M]").astype(int) % 12
    sunday = (days.astype(int) + 3) % 7 == 6
    hour = (times - days).astype("timedelta64[h]").astype(int)
    if not (sunday & np.isin(months, (2, 3, 9, 10)) & (hour <= 3)).all():
        return []
    return [
        f"all {surplus:,} duplicates lie in the night of {days[0]}, when clocks go back: times without a zone name "
        "that hour twice; an export in UTC, read with `tz`, keeps both"
    ]


def check_total(panel: Panel, profile: Profile) -> None:
    """Raise an error if one user is the sum of all others in every period, because readings would be counted twice.

    Very few users, and sums that never change, are not checked: they may match by chance.
    """
    sums = profile.cells[..., 1]
    if profile.buckets or len(profile) < FEWEST_OF_A_TOTAL or len(profile.periods) < 3:
        return
    with np.errstate(over="ignore", invalid="ignore"):  # sums that overflow cannot be compared
        half = sums.sum(axis=0) / 2
        largest = int(np.argmax(sums.sum(axis=1)))
        near = np.abs(sums[largest] - half) <= TOTAL * np.abs(half)
        varies = np.ptp(half) > VARIES * np.abs(half).max()
    if not varies or not (near & np.isfinite(half) & (half != 0)).all():
        return
    name = profile.labels[largest]
    raise ReadingError(
        f"{panel.source}: user {name} is the sum of the {len(profile) - 1} others in every period, a total and no "
        f"producer; leave it out, {panel.queries.without([str(name)])}",
        kind="total",
        place=f"user {name}",
    )


def check_unplaced(panel: Panel, profile: Profile) -> None:
    """Raise an error if most rows lack a user or a time."""
    unplaced = int(profile.about.get("unplaced", 0))
    rows = int(profile.rows["rows"].sum()) + unplaced
    if 2 * unplaced > rows:
        raise ReadingError(
            f"{panel.source}: {unplaced:,} of {rows:,} rows have no user or no time; check them ('halfmask look' shows "
            f"the first){panel.queries.filled()}",
            kind="unplaced",
        )


def check_far(profile: Profile, panel: Panel) -> None:
    """Raise an error for values above 1,000 times the 99 % quantile of sizes, caused by an overflow or a wrong unit.

    Numbers such as -999, which loggers write for a missing reading, are also an error if they are far from all others.
    """
    sizes, counts = typical_sizes(profile), profile.bin_counts
    if not len(sizes):
        return
    below = np.cumsum(counts)
    usual = float(sizes[np.searchsorted(below, 0.99 * below[-1])])
    far = sizes > FAR * usual
    what = f"above 1,000 times the 99 % quantile ({usual:.3g}), up to {float(sizes.max()):.3g} in size"
    bound = float(f"{10 * usual:.1e}")
    if not far.any():
        far = _codes(sizes)
        if not far.any() or 2 * counts[far].sum() > counts.sum():
            return
        code, next_size = float(sizes[far].max()), float(sizes[~far].max())
        what, bound = f"{code:g} in size, which loggers write for no reading, and the next is {next_size:.3g}", code / 2
    negative = int(profile.bin_negatives[far].sum())
    number = int(counts[far].sum())
    options = [f"`high={bound:g}`"] * (negative < number) + [f"`low={-bound:g}`"] * (negative > 0)
    first = _first_above(panel, float(sizes[far].min()))
    raise ReadingError(
        f"{panel.source}: {number:,} values are {what}, the first of {first}: "
        f"{' with '.join(options)} drops them, `high=inf` keeps them",
        kind="far",
        place=first,
    )


def far_sides(profile: Profile, low: float | None, high: float | None) -> list[str]:
    """Return notes on few extreme values, for each side without a bound; an empty list if a bound is infinite.

    Extreme means above 100 times the 99 % quantile of sizes. On the lower side, the quantile is that of positive
    readings, so that many wrong negative values do not raise it, and the limit is at most ``high``.
    """
    sizes, negatives = typical_sizes(profile), profile.bin_negatives
    if not len(sizes) or np.isinf([low or 0.0, high or 0.0]).any():
        return []
    positives = profile.bin_counts - negatives
    usual = _far(sizes, positives if positives.any() else negatives)
    mirrored = min(usual, high) if high is not None and high > 0 else usual
    sides = [("low", -1, mirrored, negatives, RARE_BELOW)] * (low is None)
    sides += [("high", 1, _far(sizes, profile.bin_counts), positives, RARE)] * (high is None)
    notes = []
    for option, sign, reach, counts, rare in sides:
        far = (sizes > reach) & (counts > 0)
        number = int(counts[far].sum())
        if not number or (number > rare * profile.readings and not (_codes(sizes) & far).any()):
            continue
        extreme, others = sign * float(sizes[far].max()), int(negatives.sum()) - number
        positive = " (`low=0` if no reading can be negative)" if sign < 0 and not others else ""
        notes.append(
            f"{number:,} readings are far outside on a side without a bound: {'below' if sign < 0 else 'above'} "
            f"{sign * reach:,.6g}, as far as about {float(f'{extreme:.2g}'):,.6g}; `{option}={sign * reach:.6g}` drops "
            f"them{positive}"
        )
    return notes


def _far(sizes: Any, counts: Any) -> float:
    """Return `DOUBTFUL` times the 99 % quantile of sizes, rounded to two digits."""
    below = np.cumsum(counts)
    with np.errstate(over="ignore"):  # beyond the largest double nothing is far outside
        return float(f"{DOUBTFUL * sizes[np.searchsorted(below, 0.99 * below[-1])]:.2g}")


def _codes(sizes: Any) -> Any:
    """Return a mask of the largest sizes if they are one of `CODES` and far from all others; else all False."""
    largest = np.isclose(sizes, sizes.max(), rtol=1e-12)
    rest = sizes[~largest]
    code = bool(np.isclose(sizes.max(), CODES, rtol=1e-9).any())
    return largest & (code and len(rest) > 0 and sizes.max() > APART * rest.max())


def _first_above(panel: Panel, size: float) -> str:
    """Return user and time of the earliest reading of about this size or more."""
    large = panel.frame.filter(~nw.col("time").is_null() & (nw.col("value").abs() >= 0.98 * size))
    found = panel.collect(large.sort("time", "user").head(1)).to_pylist()
    return f"user {found[0]['user']} at {moment(found[0]['time'])}" if found else "no user"


def moment(time: int) -> str:
    """Return a time as text for a message."""
    return str(np.datetime64(time, "us").astype("datetime64[s]"))
