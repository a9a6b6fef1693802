"""The quality table: figures that describe the readings of a profile."""

from typing import Any

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.profiles.bins import LARGEST, SMALLEST, centre
from halfmask.profiles.periods import SECOND
from halfmask.profiles.profile import Profile

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
SPARSE = 0.05


def quality(profile: Profile) -> dict[str, Any]:
    """Return every figure of the quality table by name.

    Shares refer to usable readings unless the name says otherwise.
    """
    rows = profile.rows
    totals = {name: int(rows[name].sum()) for name in ("zeros", "negatives", "nonfinite", "outside")}
    readings, expected = profile.readings, int(rows["expected"].sum())
    present = rows["readings"] > 0
    first = int(rows["first"][present].min()) if readings else None
    last = int(rows["last"][present].max()) if readings else None
    return {
        "source": " + ".join(profile.about.get("sources", [])),
        "rows": sum(count for _, count in accounts(profile)),
        "accounts": dict(accounts(profile)),
        "unit": profile.unit,
        "readings": readings,
        "users": profile.users,
        "buckets": profile.buckets,
        "periods": len(profile.periods),
        "period": profile.period.text,
        "first": _moment(first),
        "last": _moment(last),
        "step": step_text(profile.step),
        "step_seconds": profile.step / SECOND if profile.step else None,
        **totals,
        "duplicates": int(profile.about.get("duplicates", 0)),
        "unplaced": int(profile.about.get("unplaced", 0)),
        "tiny": int(profile.about.get("tiny", 0)),
        "expected": expected,
        "missing": expected - readings,
        "missing_share": (expected - readings) / expected if expected else 0.0,
        "empty_users": int(rows["empty"].sum()),
        "all_zero_users": int(rows["all_zero"].sum()),
        "mean": _mean(profile),
        "minimum": quantiles(profile, (0.0,))[0] if readings else None,
        "maximum": quantiles(profile, (1.0,))[0] if readings else None,
        "quantiles": dict(zip(map(str, QUANTILES), quantiles(profile, QUANTILES), strict=True)) if readings else {},
        "policies": profile.about.get("policies", {}),
    }


def accounts(profile: Profile) -> list[tuple[str, int]]:
    """Return the number of rows used, and the numbers of rows not used, by reason. Their sum is the number of rows
    read.
    """
    rows, about = profile.rows, profile.about
    losses = about.get("losses")
    found = [
        ("used as readings", profile.readings),
        ("no value: empty, a word for nothing, NaN or infinite", int(rows["nonfinite"].sum())),
        ("below or above the bounds that were given", int(rows["outside"].sum())),
        ("duplicates", int(about.get("duplicates", 0))),
        ("no user or no time", int(about.get("unplaced", 0))),
        *(losses.items() if isinstance(losses, dict) else ()),
    ]
    return [(reason, count) for reason, count in found if count or reason == "used as readings"]


def _mean(profile: Profile) -> float | None:
    """Return the mean of the readings; None without readings, or if their sum overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(profile.cells[..., 1].sum()) / max(profile.readings, 1)
    return mean if profile.readings and np.isfinite(mean) else None


def typical_sizes(profile: Profile) -> FloatArray:
    """Return the mean size ``|s|`` of the readings in each bin."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = profile.bin_sizes / profile.bin_counts
    return np.asarray(np.where(np.isfinite(mean) & (mean > 0), mean, centre(profile.bin_index)))


def too_large(profile: Profile) -> str | None:
    """Return the reason if readings are too large to be evaluated; else None."""
    largest = float(typical_sizes(profile).max(initial=0.0))
    if largest <= LARGEST:
        return None
    return (
        f"readings are up to {largest:.3g} in size, and powers and sums of readings above {LARGEST:g} may exceed the "
        "largest number there is"
    )


def quantiles(profile: Profile, probabilities: tuple[float, ...]) -> list[float]:
    """Return quantiles of the readings with their sign, accurate to the width of a bin (1.1 %)."""
    sizes = typical_sizes(profile)
    positive = profile.bin_counts - profile.bin_negatives
    values = np.concatenate([-sizes[::-1], [0.0], sizes])
    counts = np.concatenate([profile.bin_negatives[::-1], [profile.rows["zeros"].sum()], positive])
    below = np.cumsum(counts)
    counted = [np.searchsorted(below, max(p * below[-1], 1)) for p in probabilities]
    return [float(values[place]) for place in counted]


def advice(profile: Profile) -> list[str]:
    """Return warnings that follow from the quality table."""
    found = quality(profile)
    notes: list[str] = []
    if not found["readings"]:
        return notes
    share_zero = found["zeros"] / found["readings"]
    if share_zero > SPARSE or found["negatives"]:
        reason = f"{share_zero:.1%} of the readings are zero" if share_zero > SPARSE else "signs are mixed"
        notes.append(f"{reason}: relative errors have denominators near zero, so errors are scaled by default")
    if profile.quantity:
        notes.append(
            f"readings are {profile.quantity}, which do not add up: means are drawn and evaluated, and "
            "`aggregate=sum` takes totals"
        )
    elif found["negatives"] and not profile.unit:
        notes.append(
            "signs are mixed, and nothing says what the readings are: totals are drawn and evaluated; where they are "
            "states such as temperatures, `aggregate=mean` takes means"
        )
    if found["missing_share"] > 0.5 and profile.step:
        notes.append(f"more readings are missing than present: is the sampling step really {found['step']}?")
    if found["tiny"]:
        notes.append(f"{found['tiny']:,} readings are smaller than {SMALLEST:g} in size and were read as zero")
    if (why := too_large(profile)) is not None:
        notes.append(f"{why}: they cannot be evaluated in this unit")
    if found["unplaced"]:
        notes.append(f"{found['unplaced']:,} rows name no user or no time and were left out")
    return notes


def step_text(step: int | None) -> str:
    """Return an interval between readings in words."""
    if step is None:
        return "unknown"
    for size, unit in ((86_400 * SECOND, "d"), (3600 * SECOND, "h"), (60 * SECOND, "min"), (SECOND, "s")):
        if step % size == 0:
            return f"{step // size} {unit}"
    return f"{step / SECOND:g} s"


def _moment(time: int | None) -> str | None:
    return None if time is None else str(np.datetime64(time, "us").astype("datetime64[s]")).replace("T", " ")
