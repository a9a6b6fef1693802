"""Readings to a profile."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from cyclopts import Parameter

from halfmask.commands._options import (
    AnySource,
    Counter,
    Flag,
    Options,
    OutputIfAny,
    Teller,
    command,
)

if TYPE_CHECKING:
    from halfmask.profiles.profile import Profile as Made


@Parameter(name="*")
@dataclass(frozen=True)
class Profile(Options):
    """Options of `profile`.

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
    low
        Smaller values are implausible and dropped.
    high
        Larger values are implausible and dropped.
    buckets
        More users than this are hashed into as many buckets; 0 keeps every user apart.
    engine
        duckdb on one machine, spark beyond it.
    master
        Spark's address: local[2], spark://..., sc://...
    advance
        Hears how many more rows were read.
    tell
        Hears what was guessed.
    """

    unrecorded: ClassVar[tuple[str, ...]] = ("engine", "master")

    source: AnySource
    _: KW_ONLY
    output: OutputIfAny = None
    user: str | None = None
    time: str | None = None
    value: str | None = None
    period: str = "day"
    tz: str | None = None
    format: str = "auto"
    table: str | None = None
    wide: Flag = False
    duplicates: Literal["first", "last", "mean", "error"] = "first"
    nonfinite: Literal["drop", "error"] = "drop"
    low: Annotated[float, Parameter(name="--min")] = float("-inf")
    high: Annotated[float, Parameter(name="--max")] = float("inf")
    buckets: int = 10_000
    engine: Literal["duckdb", "spark"] = "duckdb"
    master: str | None = None
    advance: Counter = None
    tell: Teller = None


@command(Profile)
def profile(options: Profile) -> "Made":
    """Readings to a profile, in one pass: the compact file that every later step works from."""
    from halfmask.data.sources import open_panel
    from halfmask.profiles.build import Policies, build_profile

    panel = open_panel(
        options.source,
        user=options.user,
        time=options.time,
        value=options.value,
        format=options.format,
        table=options.table,
        wide=options.wide,
        tz=options.tz,
        engine=options.engine,
        master=options.master,
    )
    if options.tell:
        for note in panel.notes:
            options.tell(note)
    policies = Policies(options.duplicates, options.nonfinite, options.low, options.high)
    made = build_profile(
        panel, period=options.period, policies=policies, buckets=options.buckets, advance=options.advance
    )
    made = replace(made, about={**made.about, "asked": options.asked()})
    if options.output is not None:
        made.write(options.output)
    return made
