"""A profile to look at: the quality table, a histogram of sizes and the totals of the periods."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.files import whole_file
from halfmask.profiles.bins import BINS_PER_OCTAVE
from halfmask.profiles.profile import Profile
from halfmask.profiles.quality import accounts, advice, quality

if TYPE_CHECKING:
    from rich.console import Console

BLOCKS = " ▁▂▃▄▅▆▇█"
DRAWN = ("png", "svg", "pdf")
DRAWABLE = 1e300  # an axis must still reach beyond it


@dataclass(frozen=True)
class ProfilePicture:
    """What the picture draws: share of readings per quarter octave of ``|s|``, and the total of each period."""

    sizes: FloatArray
    shares: FloatArray
    periods: IntArray
    totals: FloatArray
    unit: str = ""


def picture_data(profile: Profile) -> ProfilePicture:
    """Figure data, apart from drawing."""
    coarse = BINS_PER_OCTAVE // 4
    quarter = profile.bin_index // coarse
    span = np.arange(quarter.min(), quarter.max() + 1) if len(quarter) else np.zeros(0, np.int64)
    shares = np.zeros(len(span))
    if len(span):
        np.add.at(shares, quarter - span[0], profile.bin_counts / max(profile.readings, 1))
    with np.errstate(over="ignore", invalid="ignore"):
        totals = profile.cells[..., 1].sum(axis=0)
    return ProfilePicture(np.exp2((span + 0.5) / 4), shares, profile.periods, totals, profile.unit or "")


def table_rows(profile: Profile) -> list[tuple[str, str]]:
    """The quality table in words."""
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
    """Which duplicate was kept; parts of a sum that were made by different policies have no common answer."""
    return "by part, first, last or mean" if isinstance(policies, str) else policies.get("duplicates", "first")


def print_profile(profile: Profile, console: "Console") -> None:
    """The quality table and a small picture, in the terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in table_rows(profile):
        table.add_row(name, Text(text))
    console.print(table)
    data, width = picture_data(profile), min(console.width - 4, 72)
    if len(data.sizes):
        console.print(
            f"\n[bold]How large readings are[/]  (share per bin of |s|, {data.sizes[0]:.2g} to {data.sizes[-1]:.2g})"
        )
        console.print("\n".join(f"  {line}" for line in bars(data.shares, width, 5)), highlight=False)
    if len(data.totals):
        ends = [profile.period.label(int(data.periods[i])) for i in (0, -1)]
        console.print(
            f"\n[bold]Total of each {profile.period.text}[/]  ({ends[0]} to {ends[1]}, up to {data.totals.max():.4g})"
        )
        console.print("\n".join(f"  {line}" for line in bars(data.totals, width, 5)), highlight=False)
    for note in advice(profile):
        console.print(f"\n[yellow]note:[/] {note}", highlight=False)


def bars(values: FloatArray, width: int, height: int) -> list[str]:
    """Columns of block characters, the largest value as high as the picture; averaged where there are too many.

    Negative values have no height.
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


def draw_profile(profile: Profile, path: str | Path) -> None:
    """The same as a picture; the kind of file follows from the name (.png, .svg, .pdf)."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    kind = Path(path).suffix.lstrip(".").lower() or "png"
    if kind not in DRAWN:
        raise OptionError(f"{path}: pictures are drawn as {', '.join(DRAWN)}, not as {kind}")
    data = picture_data(profile)
    figure = Figure(figsize=(10, 4), layout="constrained", dpi=144)
    left, right = figure.subplots(1, 2)
    # Logarithms on a plain axis: a logarithmic one fails next to the largest double.
    left.bar(np.log10(data.sizes), data.shares * 100, width=np.log10(2) / 4, color="#0072B2")
    left.xaxis.set(major_locator=MaxNLocator(integer=True), major_formatter=lambda x, _: f"$10^{{{x:g}}}$")
    left.set(xlabel="size of a reading, |s|", ylabel="share of readings (%)", title="How large readings are")
    totals = np.clip(np.nan_to_num(data.totals), -DRAWABLE, DRAWABLE)
    right.plot(data.periods.astype("datetime64[us]"), totals, color="#D55E00", linewidth=1.2)
    right.set(
        xlabel=f"{profile.period.text}", ylabel="sum of all readings", title=f"Total of each {profile.period.text}"
    )
    right.tick_params(axis="x", rotation=30)
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    found = quality(profile)
    figure.suptitle(f"{found['readings']:,} readings of {found['users']:,} users, {found['first']} to {found['last']}")
    with whole_file(path) as temporary:
        figure.savefig(temporary, format=kind, metadata=_undated(kind))


def _undated(kind: str) -> dict[str, Any]:
    """Metadata without a date, so that the same profile gives the same bytes."""
    return {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
