"""Datasets to claims to a page: every step that users take, then every claim measured on what came out."""

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from halfmask.choice.mix import mix
from halfmask.data.open_panel import open_panel
from halfmask.data.panel import Panel
from halfmask.errors import OptionError
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.figures.heatmaps import heatmap_data
from halfmask.figures.study_samples import menu_samples, read_samples
from halfmask.files import whole_file
from halfmask.mechanisms.grid import grid as grid_named
from halfmask.menus.optimize import optimize
from halfmask.profiles.build import build_profile
from halfmask.profiles.profile import Profile
from reproduction import corrections, heterogeneous, homogeneous
from reproduction.claim import Claim, ClaimEvidence, ClaimFinding
from reproduction.page import page
from reproduction.trial import USERS, run_trial

Tell = Callable[[str], None]


@dataclass(frozen=True)
class ReproductionPlan:
    """How datasets are evaluated; the defaults are the paper's experiment."""

    grid: str = "paper"
    sizes: str = "default"
    repeats: int = 3
    step: float = 0.125
    mix_repeats: int = 10
    trial_users: int = USERS
    seeds: tuple[int, ...] = (7, 8, 9, 10, 11)
    threads: int | None = None


SAME = "Systems in which all users have the same setting"
FREE = "Systems in which everyone chooses"
WRONG = "What the paper has wrong"

CLAIMS: tuple[tuple[str, str, Callable[[ClaimEvidence], ClaimFinding]], ...] = (
    (SAME, "Sine settings cover a wider range of local and global error than Laplace settings do.",
     lambda e: homogeneous.wider_range(e.samples)),
    (SAME, "A sine setting is more likely than a Laplace setting to have a low local or global error.",
     lambda e: homogeneous.lower_errors(e.samples)),
    (SAME, "At equal total noise, Laplace has about 1 % more privacy and sine about 1 % more utility.",
     lambda e: homogeneous.equal_noise(e.samples)),
    (SAME, "As privacy goes up, utility goes down, under both mechanisms.",
     lambda e: homogeneous.trade_off(e.samples)),
    (SAME, "The menu has five settings near 0.01, 0.20, 0.40, 0.60 and 0.80 privacy, with utilities "
     "0.99, 0.98, 0.84, 0.76 and 0.68.",
     lambda e: homogeneous.menu_values(e.menu)),
    (SAME, "The dispersion of utility grows with privacy.",
     lambda e: homogeneous.dispersion_grows(e.of_menu)),
    (SAME, "The dispersion of utility shrinks above 1,000 users.",
     lambda e: homogeneous.dispersion_shrinks(e.of_menu, *e.samples.large())),
    (FREE, "The trade-off between privacy and utility persists in mixes, whatever the share of the dominant setting.",
     lambda e: heterogeneous.mix_trade_off(heatmap_data(e.mix, e.menu), e.menu)),
    (FREE, "The interquartile range of privacy reaches up to 0.16, less than the width of a bin.",
     lambda e: heterogeneous.privacy_dispersion(heatmap_data(e.mix, e.menu))),
    (FREE, "Utility stays above 0.76 even less its interquartile range.",
     lambda e: heterogeneous.utility_floor(heatmap_data(e.mix, e.menu), e.of_menu)),
    (FREE, "The privacy of an individual does not change with the choices of the others.",
     lambda e: heterogeneous.individual_privacy(e.trial.alone, e.trial.again, e.trial.among)),
    (WRONG, "The noise is symmetric around zero, so the mean of the global error approximates zero.",
     lambda e: corrections.zero_mean(e.trial, e.of_menu)),
    (WRONG, "More and larger coefficients increase the local error without affecting the global error.",
     lambda e: corrections.harmless_coefficients(e.samples)),
    (WRONG, "All combinations of the stated values for five coefficients are around 10,000 settings.",
     lambda _: corrections.ten_thousand_settings()),
    (WRONG, "The variance is an aggregate like total and average, named beside them: noise cancels in it (implied).",
     lambda e: corrections.variance_cancels(e.trial)),
)  # fmt: skip


def reproduce(
    panels: Mapping[str, Any], output: str | Path, *, plan: ReproductionPlan | None = None, tell: Tell | None = None
) -> list[Claim]:
    """Measure every claim on every panel (name -> source) with every seed; write the page of them and their findings.

    The findings go to a JSON file of the same name. ``tell`` is called with progress. Files in between go to a
    temporary folder and are deleted; the evidence of one dataset and seed is in memory at a time.
    """
    if not panels:
        raise OptionError("no dataset to check the paper's claims on: give at least one NAME=SOURCE")
    target, plan = Path(output), plan or ReproductionPlan()
    if not target.absolute().parent.is_dir():
        raise OptionError(f"there is no folder {target.parent} to write {target} in: make it first", kind="folder")
    found: dict[str, dict[int, list[ClaimFinding]]] = {}
    about: dict[str, str] = {}
    for name, source in panels.items():
        about[name], found[name] = measure(name, source, plan, tell or _silent)
    plain = {
        name: {
            "about": about[name],
            "seeds": {str(seed): [asdict(each) for each in findings] for seed, findings in found[name].items()},
        }
        for name in panels
    }
    text = page(*read_findings(plain))
    with whole_file(target.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    with whole_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return [each for claims in read_findings(plain)[0].values() for each in claims]


def read_findings(plain: Mapping[str, Any]) -> tuple[dict[str, list[Claim]], dict[str, str]]:
    """Claims by part of the page, and what is said about each dataset, from the JSON that `reproduce` writes."""
    parts: dict[str, list[Claim]] = {}
    for number, (part, text, _) in enumerate(CLAIMS):
        findings = {
            name: {int(seed): ClaimFinding(**each[number]) for seed, each in dataset["seeds"].items()}
            for name, dataset in plain.items()
        }
        parts.setdefault(part, []).append(Claim(text, findings))
    return parts, {name: dataset["about"] for name, dataset in plain.items()}


def measure(name: str, source: Any, plan: ReproductionPlan, tell: Tell) -> tuple[str, dict[int, list[ClaimFinding]]]:
    """What is said about one dataset, and the findings of every claim by seed; its profile is made once."""
    tell(f"{name}: profile")
    panel = open_panel(source)
    profile = build_profile(panel, period="day")
    found: dict[int, list[ClaimFinding]] = {}
    kept, about = [], ""
    for seed in plan.seeds:
        evidence = gather(f"{name}, seed {seed}", panel, profile, plan, seed, tell)
        found[seed] = [judge(evidence) for _, _, judge in CLAIMS]
        kept.append(int(evidence.samples.kept.sum()))
        about = _about(profile, evidence, kept)
        del evidence
    return about, found


def gather(name: str, panel: Panel, profile: Profile, plan: ReproductionPlan, seed: int, tell: Tell) -> ClaimEvidence:
    """Study, menu, mixes and trial of one dataset with one seed."""
    with tempfile.TemporaryDirectory(prefix="halfmask-") as folder:
        file = Path(folder) / "study.parquet"
        tell(f"{name}: study")
        tried = Experiment.on(profile, sizes=plan.sizes, repeats=plan.repeats, seed=seed)
        study = evaluate_grid(profile, grid_named(plan.grid), tried, threads=plan.threads)
        study.write(file)
        del study
        menu = optimize(file).menu
        samples = read_samples(file, menu)
    tell(f"{name}: mixes")
    mixes = mix(profile, menu, step=plan.step, repeats=plan.mix_repeats, seed=seed)
    tell(f"{name}: masking readings")
    trial = run_trial(panel, menu, users=plan.trial_users, seed=seed)
    return ClaimEvidence(samples, menu, menu_samples(samples, menu, profile), mixes, trial)


def _about(profile: Profile, evidence: ClaimEvidence, kept: list[int]) -> str:
    samples = evidence.samples
    few, many = f"{min(kept):,}", f"{max(kept):,}"
    return (
        f"{profile.users:,} users, {len(profile.periods):,} days, {profile.readings:,} readings; "
        f"{len(samples.settings):,} settings on {len(samples.users)} subsets of {samples.users.min():,} to "
        f"{samples.users.max():,} users, {few if few == many else f'{few} to {many}'} of which keep the constraint; "
        f"{evidence.mix.table.num_rows:,} rows of mixes; {evidence.trial.users.max():,} users' readings masked one by "
        f"one; {len(kept)} seeds"
    )


def _silent(_: str) -> None:
    pass
