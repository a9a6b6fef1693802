"""Evaluate a grid of settings on subsets of users, by either method, and return a study."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.errors import OptionError
from halfmask.evaluation.aggregates import ANALYTIC, averaged, noun, own_value
from halfmask.evaluation.analytic.evaluate_analytic import Notes, evaluate_analytic
from halfmask.evaluation.analytic.global_errors import period_sums
from halfmask.evaluation.auto import auto_grid
from halfmask.evaluation.error_decay import decay_of, verdict
from halfmask.evaluation.error_kind import taken, unfit_for_relative
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.metrics import GLOBAL_MEAN, METRICS
from halfmask.evaluation.sampling import SMALL, Subset, default_sizes, draw_subsets, population
from halfmask.evaluation.scores import Constraint, passing, pooled
from halfmask.evaluation.study import Study
from halfmask.mechanisms.grid import Grid, asked_release, asks_for_auto
from halfmask.mechanisms.grid import grid as named_grid
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released

if TYPE_CHECKING:
    from halfmask.data.panel import Panel

MOST_BYTES = 2_500_000_000


def evaluate_grid(
    profile: Profile,
    grid: Grid | str,
    experiment: Experiment | None = None,
    *,
    panel: "Panel | None" = None,
    summary: bool = False,
    threads: int | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    advance: Callable[[int, int], None] | None = None,
) -> Study:
    """Evaluate every setting of a grid on random subsets of users. See `evaluate_analytic` and `evaluate_direct`.

    ``grid``                    a grid, or text in which ``auto`` stands for `auto_grid` of this profile and these
                                subsets; settings that end in ``@total`` are evaluated on the users' totals
    ``experiment``              subsets and method; by default those of `Experiment.on`
    ``panel``                   the readings, required by the direct method
    ``summary``                 compute local metrics only for settings that keep the constraint (analytic method)
    ``checkpoint``, ``resume``  as in `evaluate_direct`
    ``advance``                 progress callback ``(done, all)``, in settings (analytic) or readings (direct)
    """
    if not population(profile):
        raise OptionError("the profile has no usable reading")
    tried = experiment or Experiment.on(profile)
    subsets = draw_subsets(profile, tried.sizes, tried.repeats, tried.seed)
    how: dict[str, Any] = {"aggregate": tried.aggregate, "error": tried.error, "seed": tried.seed}
    masked = released(profile, asked_release(grid) if isinstance(grid, str) else grid.release)
    if isinstance(grid, str):
        grid = named_grid(grid, auto_grid(masked, subsets, **how) if asks_for_auto(grid) else None)
    tried = replace(tried, grid=grid.name, period=profile.period.text, fingerprint=profile.fingerprint())
    _check_memory(len(grid), len(subsets), summary)
    notes = Notes()
    if tried.method == "analytic":
        done = 0

        def step(settings: int) -> None:
            nonlocal done
            done += settings
            if advance:
                advance(done, len(grid))

        metrics = evaluate_analytic(
            masked,
            grid,
            subsets,
            **how,
            threads=threads,
            within=Constraint() if summary else None,
            advance=step,
            notes=notes,
        )
    else:
        if panel is None:
            raise OptionError("the direct method masks the readings themselves: name them with `panel=SOURCE`")
        from halfmask.evaluation.direct.run import evaluate_direct  # here, because engines take long to import

        metrics = evaluate_direct(
            panel, profile, list(grid.settings()), subsets, **how,
            checkpoint=checkpoint, resume=resume, threads=threads, progress=advance,
        )  # fmt: skip
        notes.excluded_periods = _zero_periods(masked, subsets, tried)
    users, repeat = (np.array([getattr(s, name) for s in subsets], np.int64) for name in ("users", "repeat"))
    about = {
        **tried.to_json(),
        "settings": len(grid),
        "scale": grid.scale,
        **({"quantity": profile.quantity} if profile.quantity else {}),
        "unfit_for_relative": unfit_for_relative(masked),
        "readings": masked.readings,
        "excluded_periods": notes.excluded_periods,
        "estimated": sorted(notes.estimated),
        "numpy": np.__version__,
    }
    return Study(grid, users, repeat, metrics, about)


def _zero_periods(profile: Profile, subsets: list[Subset], tried: Experiment) -> int:
    """Return the number of periods of all subsets whose aggregate is zero, so that they have no relative error.

    Only aggregates that follow from sums are counted.
    """
    if tried.error != "relative" or tried.aggregate not in ANALYTIC:
        return 0
    held = (sums[sums[:, 0] > 0] for sums in period_sums(profile, subsets))
    return sum(int((own_value(tried.aggregate, sums) == 0).sum()) for sums in held)


def findings(study: Study) -> list[str]:
    """Return notes on a study: what a reader should know besides its numbers."""
    choice = taken(study.experiment.error, study.about.get("unfit_for_relative"))
    told = [*averaged(study.about), *([] if choice is None else [choice])]
    if (few := int(study.users.max())) < SMALL and list(study.experiment.sizes) == default_sizes(few):
        told.append(f"fewer than {SMALL} users: subsets are of half and of all the {few}")
    decay = decay_of(study.metrics, study.users)
    if decay is not None:
        told.append(verdict(study.experiment.aggregate, decay.exponent))
    noisy = study.metrics[..., GLOBAL_MEAN].max(axis=1) > 0
    broken = ~passing(study.metrics, Constraint())
    if noisy.any() and not broken.any():
        told.append(_grids_own(study))
    elif broken.all():
        told.append("every setting breaks the constraint on the global error: add settings with less noise")
    if study.about.get("excluded_periods"):
        told.append(
            f"{study.about['excluded_periods']} periods of subsets have a {noun(study.experiment.aggregate)} of zero: "
            "no global error there"
        )
    if study.about.get("estimated"):
        names = ", ".join(study.about["estimated"])
        told.append(f"the law of {names} was estimated from draws, for want of a distribution function")
    return told


def _grids_own(study: Study) -> str:
    """Return a note that no setting breaks the constraint, and how much larger the noise could be.

    The latter assumes that errors are proportional to the noise.
    """
    limit, (mean, std) = Constraint(), pooled(study.metrics)
    with np.errstate(divide="ignore"):
        room = float(min(np.min(limit.max_mean / mean), np.min(limit.max_std / std)))
    return (
        "no setting breaks the constraint on the global error, so scores are relative to the noisiest setting of this "
        f"grid and would differ with another; noise {room:.3g} times as large would still keep it (grid auto does that)"
    )


def _check_memory(settings: int, samples: int, summary: bool) -> None:
    size = settings * samples * len(METRICS) * (4 if summary else 8)
    free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    if not summary and size > min(MOST_BYTES, free):
        raise OptionError(
            f"{settings:,} settings x {samples} samples take {size / 1e9:.1f} GB and {settings * samples:,} rows: "
            "add `summary` for one row a setting, or take fewer `sizes` or `repeats`"
        )
    if size > free:
        raise OptionError(
            f"{settings:,} settings x {samples} samples take {size / 1e9:.1f} GB: take fewer `sizes` or `repeats`"
        )
