"""Commands from readings to a profile."""

from pathlib import Path
from typing import Literal

from halfmask.cli.app import Flag, Output, OutputIfAny, app
from halfmask.cli.output import bar, counting, note, print_json, print_table_of


@app.command
def profile(
    source: str,
    *,
    output: OutputIfAny = None,
    user: str | None = None,
    time: str | None = None,
    value: str | None = None,
    period: str = "day",
    tz: str | None = None,
    format: str = "auto",
    table: str | None = None,
    wide: Flag = False,
    duplicates: Literal["first", "last", "mean", "error"] = "first",
    nonfinite: Literal["drop", "error"] = "drop",
    min: float = float("-inf"),
    max: float = float("inf"),
    buckets: int = 10_000,
    engine: Literal["duckdb", "spark"] = "duckdb",
    master: str | None = None,
    dry_run: Flag = False,
) -> None:
    """Readings to a profile: the compact file that every later step works from.

    Parameters
    ----------
    source
        CSV (plain, .gz, .zst) or Parquet file, folder or glob of them, DuckDB or SQLite file, postgresql:// URL.
    output
        The profile to write; with --dry-run nothing is written.
    user
        The column that tells users apart; guessed where not named.
    time
        The column with the times; guessed where not named.
    value
        The column with the readings; guessed where not named.
    period
        What an aggregate covers: hour, day, week, month, year, or a length such as 30m or 6h.
    tz
        Zone in which days are cut, for times that carry one (Europe/Dublin).
    format
        auto, csv, parquet or cer (files of the Irish smart meter trial).
    table
        The table, where the source is a database.
    wide
        One column a sensor, beside the time.
    duplicates
        Which of several readings of a user at the same time counts.
    nonfinite
        What becomes of null, NaN and infinite values.
    min
        Smaller values are implausible and dropped.
    max
        Larger values are implausible and dropped.
    buckets
        More users than this are hashed into as many buckets; 0 keeps every user apart.
    engine
        duckdb on one machine, spark beyond it.
    master
        Spark's address: local[2], spark://..., sc://...
    dry_run
        Only describe the source: columns and quality.
    """
    from halfmask.api import profile as make_profile
    from halfmask.errors import OptionError

    if output is None and not dry_run:
        raise OptionError("say where the profile goes: -o NAME.profile (or --dry-run to look at the source only)")
    with counting("reading", "readings") as advance:
        made = make_profile(
            source,
            None if dry_run else output,
            user=user, time=time, value=value, period=period, tz=tz, format=format, table=table, wide=wide,
            duplicates=duplicates, nonfinite=nonfinite, low=min, high=max, buckets=buckets, engine=engine,
            master=master, advance=advance, tell=note,
        )  # fmt: skip
    print_table_of(made)
    if not dry_run:
        note(f"wrote {output}")


@app.command
def show(
    profile: Path,
    *,
    png: Path | None = None,
    json: Flag = False,
) -> None:
    """Look at a profile: quality of the data, how large readings are, totals over time.

    Parameters
    ----------
    profile
        A file that 'halfmask profile' wrote.
    png
        Also draw it to this file (.png, .svg or .pdf).
    json
        Print one JSON object instead.
    """
    from halfmask.profiles.quality import quality
    from halfmask.profiles.show import draw_profile
    from halfmask.profiles.store import load_profile

    loaded = load_profile(profile)
    if json:
        print_json(quality(loaded))
    else:
        print_table_of(loaded)
    if png is not None:
        draw_profile(loaded, png)
        note(f"drew {png}")


@app.command
def synth(*, output: Output, users: int = 6435, days: int = 536, seed: int = 1) -> None:
    """Write a synthetic panel that behaves like the Irish smart meter trial.

    Parameters
    ----------
    output
        The Parquet file to write.
    users
        How many users there are.
    days
        How many days, of 48 half-hourly readings each, from 14 July 2009.
    seed
        The same seed gives the same file, byte for byte.
    """
    from halfmask.data.synth import synth as make_panel

    with bar("drawing users", users) as advance:
        make_panel(output, users=users, days=days, seed=seed, progress=advance)
    note(f"wrote {output}: {users * days * 48:,} rows")
