"""Commands from a profile to a study."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from halfmask.cli.app import Flag, Output, app
from halfmask.cli.output import bar, note


@app.command
def evaluate(
    profile: Path,
    *,
    output: Output,
    grid: str | None = None,
    setting: Annotated[list[str] | None, Parameter(negative="")] = None,
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
    summary: Flag = False,
    threads: int | None = None,
    checkpoint: Path | None = None,
    resume: Flag = False,
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

    with bar("evaluating settings" if engine == "analytic" else "masking readings", 1) as advance:
        study = make_study(
            profile, output, grid=grid, settings=setting or (), settings_file=settings, sizes=sizes, repeats=repeats,
            seed=seed, aggregate=aggregate, error=error, engine=engine, panel=panel, engine_direct=engine_direct,
            master=master, summary=summary, threads=threads, checkpoint=checkpoint, resume=resume, advance=advance,
        )  # fmt: skip
    sizes_used = f"{study.users.min()} to {study.users.max()} users"
    note(f"{len(study.grid):,} settings on {len(study.users)} subsets of {sizes_used}")
    for finding in findings(study):
        note(finding)
    note(f"wrote {output}")
