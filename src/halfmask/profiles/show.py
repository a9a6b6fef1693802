"""Show a profile: its quality table, a histogram of readings, and the total or mean of each period."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.profiles.bins import BINS_PER_OCTAVE, SMALLEST, edge
from halfmask.profiles.profile import Profile
from halfmask.profiles.quality import accounts, quality, quantiles

BLOCKS = " ▁▂▃▄▅▆▇█"
Drawn = Literal["auto", "sum", "mean"]
"""The aggregate that is drawn for each period; auto chooses the mean for states such as temperatures."""
TINY = 1e-3
"""The share of readings that is left out at the end of an axis."""
CELLS = 40


@dataclass(frozen=True)
class ProfilePicture:
    """The data of the picture.

    ``mean``    whether readings are states such as temperatures
    ``sizes``   the centres of the histogram's cells: sizes ``|s|`` in quarter octaves; for states, readings with sign
    ``shares``  the share of readings in each cell
    ``totals``  the total of each period; for states, the mean
    """

    sizes: FloatArray
    shares: FloatArray
    periods: IntArray
    totals: FloatArray
    unit: str = ""
    mean: bool = False

    @property
    def of_a_period(self) -> str:
        """Return the name of a period's number: Total or Mean."""
        return "Mean" if self.mean else "Total"

    @property
    def title(self) -> str:
        """Return the title of the histogram."""
        return "What readings are" if self.mean else "How large readings are"

    @property
    def axis(self) -> str:
        """Return the label of the histogram's horizontal axis."""
        return "reading" if self.mean else "size of a reading, |s|"


def picture_data(profile: Profile, aggregate: Drawn = "auto") -> ProfilePicture:
    """Return the data of the picture, with means if requested or if readings are states."""
    if aggregate == "mean" or (aggregate == "auto" and profile.quantity):
        return _picture_of_states(profile)
    coarse = BINS_PER_OCTAVE // 4
    quarter = profile.bin_index // coarse
    span = np.arange(quarter.min(), quarter.max() + 1) if len(quarter) else np.zeros(0, np.int64)
    shares = np.zeros(len(span))
    if len(span):
        np.add.at(shares, quarter - span[0], profile.bin_counts / max(profile.readings, 1))
        # Rounding errors such as 3e-17 would take up most of a logarithmic axis.
        first = int(np.searchsorted(np.cumsum(shares), TINY * shares.sum()))
        span, shares = span[first:], shares[first:]
    with np.errstate(over="ignore", invalid="ignore"):
        totals = profile.cells[..., 1].sum(axis=0)
    return ProfilePicture(np.exp2((span + 0.5) / 4), shares, profile.periods, totals, profile.unit or "")


@np.errstate(over="ignore", invalid="ignore")  # a sum beyond the largest double is infinite, and says so
def _picture_of_states(profile: Profile) -> ProfilePicture:
    """Return the data of the picture of states: readings with signs on a linear axis, and the mean of each period.

    The axis runs from the 0.1 % to the 99.9 % quantile. The readings of each bin are spread evenly over the bin.
    """
    count, total = (profile.cells[..., k].sum(axis=0) for k in range(2))
    low, high = quantiles(profile, (TINY, 1 - TINY)) if profile.readings else (0.0, 0.0)
    edges = np.linspace(low, high, CELLS + 1) if low < high else np.array([low - 0.5, low + 0.5])
    near, far = edge(profile.bin_index), edge(profile.bin_index + 1)
    zeros, negatives = int(profile.rows["zeros"].sum()), profile.bin_negatives
    start, end = np.concatenate([-far, near, [-SMALLEST]]), np.concatenate([-near, far, [SMALLEST]])
    held = np.concatenate([negatives, profile.bin_counts - negatives, [zeros]]) / max(profile.readings, 1)
    below = held @ np.clip((edges - start[:, None]) / (end - start)[:, None], 0, 1)
    middle = (edges[1:] + edges[:-1]) / 2
    means = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
    return ProfilePicture(middle, np.diff(below), profile.periods, means, profile.unit or "", mean=True)


def table_rows(profile: Profile) -> list[tuple[str, str]]:
    """Return the rows of the quality table as texts."""
    found = quality(profile)
    of = max(found["readings"], 1)
    rows = [
        ("source", found["source"]),
        ("readings", f"{found['readings']:,} usable of {found['rows']:,} rows"),
        ("users", f"{found['users']:,}" + (f" in {found['buckets']:,} buckets" if found["buckets"] else "")),
        (
            "without a usable reading",
            f"{found['empty_users']:,} users; {found['all_zero_users']:,} more have only zeros",
        ),
        ("periods", f"{found['periods']:,} of one {found['period']}"),
        ("span", f"{found['first']} to {found['last']}"),
        ("sampling step", found["step"]),
        ("missing", f"{found['missing']:,} ({found['missing_share']:.1%} of each user's own span)"),
        ("zeros", f"{found['zeros']:,} ({found['zeros'] / of:.1%})"),
        ("negatives", f"{found['negatives']:,} ({found['negatives'] / of:.1%}), kept: errors use |s|"),
        ("null, NaN, infinite", f"{found['nonfinite']:,} dropped"),
        ("duplicates", f"{found['duplicates']:,} ({_kept(found['policies'])} kept)"),
    ]
    if found["outside"]:
        rows.append(("out of bounds", f"{found['outside']:,} dropped"))
    if found["unplaced"]:
        rows.append(("no user or time", f"{found['unplaced']:,} rows left out"))
    losses = profile.about.get("losses")
    rows += [(reason, f"{count:,} rows") for reason, count in (losses.items() if isinstance(losses, dict) else ())]
    rows.append(
        ("rows add up", " + ".join(f"{count:,} {reason.partition(':')[0]}" for reason, count in accounts(profile)))
    )
    rows.append(("unit", found["unit"] or "not known"))
    if found["quantiles"]:
        rows.append(("smallest and largest", f"{found['minimum']:.4g} to {found['maximum']:.4g}"))
        rows.append(("mean", "too large to add up" if found["mean"] is None else f"{found['mean']:.4g}"))
        rows.append(("quantiles", "   ".join(f"{float(p):.0%} {v:.3g}" for p, v in found["quantiles"].items())))
    return rows


def _kept(policies: dict[str, str] | str) -> str:
    """Return which of several duplicates was kept."""
    return "by part, first, last or mean" if isinstance(policies, str) else policies.get("duplicates", "first")


SHORT = ("source", "span", "sampling step", "missing", "duplicates", "unit", "quantiles")
"""The rows of the short table."""


def short_rows(profile: Profile) -> list[tuple[str, str]]:
    """Return the rows of the short quality table."""
    dropped = {"rows add up"} if len(accounts(profile)) > 1 else set()
    return [(name, text) for name, text in table_rows(profile) if name in {*SHORT, *dropped}]


def pictures(profile: Profile, width: int, aggregate: Drawn = "auto") -> list[str]:
    """Draw a histogram of readings, and the total or mean of each period, with characters."""
    data, found = picture_data(profile, aggregate), list[str]()
    width = min(width, 72)
    if len(data.sizes):
        over = "cell" if data.mean else "bin of |s|"
        title = f"{data.title}  (share per {over}, {data.sizes[0]:.2g} to {data.sizes[-1]:.2g})"
        found += ["", title, *(f"  {line}" for line in bars(data.shares, width, 5))]
    if len(data.totals):
        ends = [profile.period.label(int(data.periods[i])) for i in (0, -1)]
        low, high = np.nanmin(data.totals), np.nanmax(data.totals)
        span = f"{low:.4g} to {high:.4g}" if data.mean else f"up to {high:.4g}"
        title = f"{data.of_a_period} of each {profile.period.text}  ({ends[0]} to {ends[1]}, {span})"
        drawn = bars(data.totals - low if data.mean else data.totals, width, 5)
        found += ["", title, *(f"  {line}" for line in drawn)]
    return found


def bars(values: FloatArray, width: int, height: int) -> list[str]:
    """Draw values as columns of block characters, the largest at full height.

    If there are more values than ``width``, neighbours are averaged. Negative values are drawn as 0.
    """
    if len(values) > width:
        edges = np.linspace(0, len(values), width + 1).astype(int)
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.array([values[a:b].mean() for a, b in pairwise(edges)])
    values = np.maximum(np.nan_to_num(values), 0)
    top = float(values.max(initial=0)) or 1.0
    eighths = np.clip(np.round(values / top * height * 8), 0, height * 8).astype(int)
    levels = [np.clip(eighths - 8 * row, 0, 8) for row in range(height - 1, -1, -1)]
    return ["".join(BLOCKS[level] for level in line).rstrip() for line in levels]
