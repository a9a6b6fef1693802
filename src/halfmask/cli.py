"""The ``halfmask`` program: one thin function a command, one place where errors become words and exit codes."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter

from halfmask import __version__
from halfmask.errors import HalfmaskError

app = App(
    name="halfmask",
    help="Useful totals from people's sensors without taking people's data.",
    version=__version__,
    suppress_keyboard_interrupt=False,  # `main` says what became of the work
)

Output = Annotated[Path, Parameter(name=["--output", "-o"])]


@app.command
def profile(
    source: str,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    user: str | None = None,
    time: str | None = None,
    value: str | None = None,
    period: str = "day",
    tz: str | None = None,
    format: str = "auto",
    table: str | None = None,
    wide: Annotated[bool, Parameter(negative="")] = False,
    duplicates: Literal["first", "last", "mean", "error"] = "first",
    nonfinite: Literal["drop", "error"] = "drop",
    min: float = float("-inf"),
    max: float = float("inf"),
    buckets: int = 10_000,
    engine: Literal["duckdb", "spark"] = "duckdb",
    master: str | None = None,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
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
    with _counting("reading", "readings") as advance:
        made = make_profile(
            source,
            None if dry_run else output,
            user=user, time=time, value=value, period=period, tz=tz, format=format, table=table, wide=wide,
            duplicates=duplicates, nonfinite=nonfinite, low=min, high=max, buckets=buckets, engine=engine,
            master=master, advance=advance, tell=_note,
        )  # fmt: skip
    _print_profile(made)
    if not dry_run:
        _note(f"wrote {output}")


@app.command
def show(
    profile: Path,
    *,
    png: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
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
        _print_json(quality(loaded))
    else:
        _print_profile(loaded)
    if png is not None:
        draw_profile(loaded, png)
        _note(f"drew {png}")


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

    with _bar("drawing users", users) as advance:
        make_panel(output, users=users, days=days, seed=seed, progress=advance)
    _note(f"wrote {output}: {users * days * 48:,} rows")


@app.command
def evaluate(
    profile: Path,
    *,
    output: Output,
    grid: str | None = None,
    setting: list[str] | None = None,
    settings: Path | None = None,
    sizes: str = "default",
    repeats: int = 3,
    seed: int = 7,
    aggregate: str = "sum",
    error: Literal["relative", "scaled"] = "relative",
    engine: Literal["analytic", "direct"] = "analytic",
    panel: str | None = None,
    engine_direct: Literal["duckdb", "spark"] = "duckdb",
    master: str | None = None,
    summary: Annotated[bool, Parameter(negative="")] = False,
    threads: int | None = None,
    checkpoint: Path | None = None,
    resume: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Privacy settings to a study: six error metrics of every setting on random subsets of users.

    Parameters
    ----------
    profile
        A file that 'halfmask profile' wrote.
    output
        The study to write (Parquet).
    grid
        paper (default), full, laplace, sine, or ranges such as 'laplace:b=0.01..1/0.01;gaussian:sigma=0.1|0.2'.
    setting
        A single setting such as laplace:0.5; may be repeated.
    settings
        A file of settings, one a line.
    sizes
        Users in a subset: default (50, 100, ... all), all, or a list such as 50,100,all.
    repeats
        Subsets drawn of each size.
    seed
        The same seed gives the same study, byte for byte.
    aggregate
        sum, mean or variance; with --engine direct also max, min, median, quantile:0.9 or module:function.
    error
        relative (the paper's) or scaled (for data with zeros or mixed signs).
    engine
        analytic (from the profile alone) or direct (masks every reading of --panel).
    panel
        The readings, for --engine direct.
    engine_direct
        Where --engine direct runs.
    master
        Spark's address, for --engine-direct spark.
    summary
        One row a setting instead of one a sample: for very large grids.
    threads
        Threads to use.
    checkpoint
        Folder in which --engine direct keeps finished samples.
    resume
        Go on from the checkpoint.
    """
    from halfmask.api import evaluate as make_study
    from halfmask.evaluation.evaluate import findings

    with _bar("evaluating settings" if engine == "analytic" else "masking readings", 1) as advance:
        study = make_study(
            profile, output, grid=grid, settings=setting or (), settings_file=settings, sizes=sizes, repeats=repeats,
            seed=seed, aggregate=aggregate, error=error, engine=engine, panel=panel, engine_direct=engine_direct,
            master=master, summary=summary, threads=threads, checkpoint=checkpoint, resume=resume, advance=advance,
        )  # fmt: skip
    sizes_used = f"{study.users.min()} to {study.users.max()} users"
    _note(f"{len(study.grid):,} settings on {len(study.users)} subsets of {sizes_used}")
    for finding in findings(study):
        _note(finding)
    _note(f"wrote {output}")


def main() -> None:
    """Run the program: 0 done, 1 failure, 2 bad input, 130 interrupted; never a traceback unless asked for."""
    if os.environ.get("HALFMASK_TRACEBACK"):
        app(sys.argv[1:])
        return
    try:
        app(sys.argv[1:], exit_on_error=False, print_error=False)
    except HalfmaskError as error:
        _fail(str(error), error.exit_code)
    except CycloptsError as error:
        _fail(f"{error} (see halfmask --help)", 2)
    except KeyboardInterrupt:
        _fail("interrupted; nothing was half-written", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError:
        _fail("out of memory", 1)
    except Exception as error:  # the edge: a bug still ends in one line and a way to see more
        _fail(f"unexpected {type(error).__name__}: {error} (HALFMASK_TRACEBACK=1 shows where)", 1)


def _fail(message: str, code: int) -> None:
    print("halfmask:", " ".join(message.split()), file=sys.stderr)
    sys.exit(code)


def _note(message: str) -> None:
    print(message, file=sys.stderr)


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def _print_profile(made: Any) -> None:
    from rich.console import Console

    from halfmask.profiles.show import print_profile

    print_profile(made, Console())


@contextmanager
def _progress(*columns: Any) -> Iterator[Any]:
    """Progress on standard error, gone when done; silent where it is no terminal."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(), TextColumn("{task.description}"), *columns, TimeElapsedColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    ) as progress:  # fmt: skip
        yield progress


@contextmanager
def _counting(what: str, things: str) -> Iterator[Callable[[int], None]]:
    """A growing count, where the total is not known: ``advance(n)`` adds."""
    from rich.progress import TextColumn

    with _progress(TextColumn("{task.fields[count]} " + things)) as progress:
        task = progress.add_task(what, total=None, count="0")
        done = 0

        def advance(number: int) -> None:
            nonlocal done
            done += number
            progress.update(task, count=f"{done:,}")

        yield advance


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left: ``advance(done, total)`` sets it."""
    from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn

    with _progress(BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done, all_: progress.update(task, completed=done, total=all_)


if __name__ == "__main__":
    main()
