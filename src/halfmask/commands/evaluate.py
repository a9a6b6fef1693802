"""``halfmask evaluate``: evaluate privacy settings, which gives a study."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from cyclopts import Parameter

from halfmask.commands._options import (
    AnyPath,
    AnyProfile,
    AnySettings,
    AnySource,
    Flag,
    Sizes,
    command,
)
from halfmask.commands._printing import CommandAnswer, bar
from halfmask.commands._shared_options import IN_SHORT, Advances, Display, OnEngine, Seeded, Writes, profile_of, reopen
from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.evaluation.study import Study
    from halfmask.mechanisms.grid import Grid


class Evaluate(Seeded, Writes, OnEngine, Advances):
    """Options of `evaluate`. Settings come from a grid, single settings and a file, together.

    Parameters
    ----------
    profile
        A file that 'halfmask profile' wrote.
    output
        The study to write (Parquet).
    grid
        auto (default; the paper's in the data's own scale), paper, full, laplace, sine, or ranges such as
        'laplace:b=0.01..1/0.01;gaussian:sigma=0.1|0.2'.
    settings
        A single setting such as laplace:0.5; may be repeated.
    settings_file
        A file of settings, one per line.
    sizes
        Users in a subset: default (50, 100, ... all; half and all of fewer than 100), all, or a list such as
        50,100,all.
    repeats
        Subsets drawn of each size.
    aggregate
        auto (the mean of states such as temperatures, else the sum), sum, mean or variance; with --method direct also
        max, min, median, quantile:0.9, trimmed:0.1 or module:function.
    error
        relative (the paper's), scaled, or auto: scaled if more than 5 % of readings are zero or if signs are mixed.
    method
        analytic (from the profile alone) or direct (masks every reading of --panel).
    panel
        The readings, for --method direct.
    engine
        For --method direct: duckdb on one machine, spark beyond it.
    summary
        One row per setting instead of one per sample: for very large grids.
    threads
        Threads to use.
    checkpoint
        Folder in which --method direct keeps finished samples.
    resume
        Continue from the checkpoint.
    """

    unrecorded: ClassVar[tuple[str, ...]] = ("engine", "master", "threads", "checkpoint", "resume")

    profile: AnyProfile = field(kw_only=False)
    grid: str | None = None
    settings: Annotated[AnySettings, Parameter(name="--setting", negative="", show_default=False)] = ()
    settings_file: Annotated[AnyPath | None, Parameter(name="--settings")] = None
    sizes: Sizes = "default"
    repeats: int = 3
    aggregate: str = "auto"
    error: Literal["auto", "relative", "scaled"] = "auto"
    method: Literal["analytic", "direct"] = "analytic"
    panel: AnySource | None = None
    summary: Flag = False
    threads: int | None = None
    checkpoint: AnyPath | None = None
    resume: Flag = False

    def save(self, made: "Study", path: Path) -> None:
        from halfmask.evaluation.study import summed_up

        (summed_up(made) if self.summary else made).write(path)


@command(Evaluate, group="Measure")
def evaluate(options: Evaluate) -> "Study":
    """Return the study: six error metrics of every setting on random subsets of users."""
    from halfmask.profiles import store  # noqa: F401  (so that reading imports nothing itself)

    with ThreadPoolExecutor(1) as other:  # reading waits for the disk while importing takes Python's time
        reading = other.submit(profile_of, options.profile)
        from halfmask.evaluation.error_kind import error_function
        from halfmask.evaluation.evaluate import evaluate_grid
        from halfmask.evaluation.experiment import Experiment

        made = reading.result()
    wanted, readings = _settings(options), None
    if options.method == "direct":
        if options.panel is None:
            raise OptionError("the direct method masks the readings themselves: name them, `panel`")
        readings = reopen(options.panel, made, engine=options.engine, master=options.master)
    tried = Experiment.on(
        made, sizes=options.sizes, repeats=options.repeats, seed=options.seed,
        aggregate=None if options.aggregate == "auto" else options.aggregate,
        error=error_function(options.error, made), method=options.method,
    )  # fmt: skip
    study = evaluate_grid(
        made, wanted, tried, panel=readings, summary=options.summary, threads=options.threads,
        checkpoint=None if options.checkpoint is None else Path(options.checkpoint), resume=options.resume,
        advance=options.advance,
    )  # fmt: skip
    return replace(study, about={**study.about, "asked": options.asked()})


def _settings(options: Evaluate) -> "Grid | str":
    """Return the grid's text joined with all single settings, or a `Grid` of these alone; ``auto`` if none is named."""
    from halfmask.mechanisms.grid import AUTO, Grid, read_settings
    from halfmask.mechanisms.setting import PrivacySetting

    single = [PrivacySetting.parse(each) if isinstance(each, str) else each for each in options.settings]
    if options.settings_file is not None:
        single += read_settings(options.settings_file)
    if not single:
        return options.grid or AUTO
    if options.grid:
        return ";".join([options.grid, *map(str, single)])
    return Grid.from_settings(single)


def main(options: Evaluate, *, shown: Display = IN_SHORT) -> None:
    """Privacy settings to a study: six error metrics of every setting on random subsets of users."""
    from halfmask.evaluation.evaluate import findings
    from halfmask.plain import to_plain

    with bar("evaluating settings" if options.method == "analytic" else "masking readings", 1) as advance:
        study = evaluate(replace(options, advance=advance))
    sizes = f"{study.users.min()} to {study.users.max()} users"
    told = findings(study)
    shown.show(
        CommandAnswer(
            {
                "settings": len(study.grid),
                "users": study.users.tolist(),
                "findings": told,
                "about": to_plain(study.about),
            },
            [],
            f"{len(study.grid):,} settings on {len(study.users)} subsets of {sizes}.",
            f"halfmask optimize {options.output} --profile {options.profile} -o menu.json",
            told,
            words=[
                "A study has six metrics per setting and subset: mean, standard deviation and entropy of the errors of "
                "readings, and of a period's total."
            ],
        )
    )
