"""``halfmask evaluate``."""

from dataclasses import replace

from halfmask.cli.output import bar, note
from halfmask.commands.evaluate import Evaluate
from halfmask.commands.evaluate import evaluate as make_study


def evaluate(options: Evaluate) -> None:
    """Privacy settings to a study: six error metrics of every setting on random subsets of users."""
    from halfmask.evaluation.evaluate import findings

    with bar("evaluating settings" if options.method == "analytic" else "masking readings", 1) as advance:
        study = make_study(replace(options, advance=advance))
    sizes = f"{study.users.min()} to {study.users.max()} users"
    note(f"{len(study.grid):,} settings on {len(study.users)} subsets of {sizes}")
    for finding in findings(study):
        note(finding)
    note(f"wrote {options.output}")
