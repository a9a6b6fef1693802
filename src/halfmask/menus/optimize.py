"""Make a menu from a study: the best setting of each privacy bin (method: section 4)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from halfmask import __version__
from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.evaluation.aggregates import averaged
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.scores import Constraint, Weights
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.device_refusal import Takes, anything, refusal
from halfmask.menus.empty_bins import empty_bin, nothing
from halfmask.menus.menu import IDS, Menu, MenuSetting, Score, noise_std, none_setting
from halfmask.menus.menu_requirements import BinCost, Costs, Demand
from halfmask.menus.privacy_axis import Axis, By, axis_of
from halfmask.menus.question import Question, default_question
from halfmask.menus.recognised_share import recognised_if_known
from halfmask.menus.setting_protection import protection_of
from halfmask.menus.study_protection import StudyProtection
from halfmask.menus.study_scores import AnyStudy, StudyScores, opened_study, score_study
from halfmask.menus.total_error import total_errors
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from halfmask.protection.evidence import Evidence, population_of
from halfmask_device.decimals import number_text
from halfmask_device.setting import READING
from halfmask_device.terms import STEP

if TYPE_CHECKING:
    from halfmask.menus.attack_floor import Floored
    from halfmask.menus.refine import Refined

KEPT_ABOUT = (
    *("fingerprint", "aggregate", "error", "seed", "grid", "period", "engine", "sizes", "repeats"),
    *("settings", "readings", "unfit_for_relative", "quantity"),
)
MOST_SETTLED = 400
"""Most rounds in which the values of winners are computed exactly; no study was seen to need as many."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """A menu, with the bin and the fitness of every setting of the study.

    ``bin``         number of each setting's bin; -1 if it breaks the constraint or does not mask
    ``admissible``  settings in a bin with perc(Q, 50) - perc(Q, 10) < omega that meet all requirements
    ``fitness``     perc(U, 50) + perc(U, 10) of admissible settings, NaN of others
    ``winners``     index of the best setting of each bin; -1 if the bin is empty
    ``front``       Pareto front: admissible settings that no other exceeds in both median privacy and utility
    ``costs``       what the requirements cost in each bin; None without requirements
    ``refined``     result of refining the menu; None if it was not refined
    """

    menu: Menu
    scored: StudyScores
    axis: Axis
    bin: IntArray
    admissible: BoolArray
    fitness: FloatArray
    winners: IntArray
    front: IntArray
    notes: list[str] = field(default_factory=list)
    costs: Costs | None = None
    refined: "Refined | Floored | None" = None

    @property
    def edges(self) -> FloatArray:
        """Edges of the bins on their axis, from the least privacy up."""
        return self.axis.edges


def optimize(
    study: AnyStudy,
    *,
    bins: int = 5,
    omega: float = 0.1,
    weights: Weights | None = None,
    max_mean: float | None = None,
    max_std: float | None = None,
    factor: Callable[[PrivacySetting], float] | None = None,
    by: By = "score",
    require: Sequence[Demand] = (),
    profile: Profile | None = None,
    question: Question | None = None,
    evidence: Evidence | None = None,
    taken: Takes = anything,
) -> Optimum:
    """Return the menu of a study, given as an object, a path or the result of `read_study`.

    Settings that keep the constraint on the global error are put into equal bins by their median privacy. In each bin,
    the admissible setting with the largest perc(U, 50) + perc(U, 10) wins. Ties go to the larger median utility, then
    to the smaller noise, then to the earlier setting of the study.

    ``omega``                  upper bound of perc(Q, 50) - perc(Q, 10)
    ``max_mean``, ``max_std``  constraint on the global error (default 0.1 and 0.1)
    ``factor``                 returns a number from 0 to 1 that multiplies a setting's privacy, such as for predictable
                               noise
    ``by``                     axis that is divided into bins (see `privacy_axis`)
    ``require``                requirements that every setting must meet
    ``profile``                of the study's data; adds to the menu what each setting protects, and is needed by ``by``
                               and ``require``
    ``question``               change and window of epsilons; by default a typical reading's size in every reading of a
                               day
    ``evidence``               readings, to compute the share of producers recognised
    ``taken``                  returns whether devices accept a setting; others are not chosen
    """
    _check_bins(bins, omega)
    table, about = opened_study(study)
    scored = score_study(table, about, weights, _constraint(max_mean, max_std))
    if factor is not None:
        of = np.array([factor(scored.setting(row)) if kept else 1.0 for row, kept in enumerate(scored.passes)])
        scored = replace(scored, privacy_median=scored.privacy_median * of, privacy_p10=scored.privacy_p10 * of)
    facts = _facts(scored, profile, question, evidence, by, require, scaled=about.get("error") == "scaled")
    held = scored.passes & scored.masks
    axis = axis_of(by, scored, facts, bins, held)
    for _ in range(MOST_SETTLED):
        bin_ = axis.places(held)
        with np.errstate(invalid="ignore"):
            steady = held & (bin_ >= 0) & (scored.spread < omega)
        met = [each.met(facts) for each in require] if facts else []
        admissible = np.logical_and.reduce([steady, *met])
        winners = _winners(scored, bin_, admissible, bins, taken)
        new = [] if facts is None else [int(w) for w in winners if w >= 0 and w not in facts.settled]
        if facts is None or not new:
            break
        for winner in new:
            facts.settle(winner)
    fitness = np.where(admissible, scored.objective, np.nan)
    if (winners < 0).all():
        raise nothing(scored, held, omega, axis, require, _winners(scored, bin_, admissible, bins))
    about_study = {"study": Path(study).name} if isinstance(study, str | Path) else {}
    entries = [_entry(scored, axis, b, w) for b, w in enumerate(winners) if w >= 0]
    menu = Menu(
        settings=(*entries, none_setting(entries[0].setting.release)),
        normalisers=dict(zip(METRICS, scored.normalisers.tolist(), strict=True)),
        weights=scored.weights,
        constraints={"max_mean": scored.constraint.max_mean, "max_std": scored.constraint.max_std, "omega": omega},
        empty_bins=tuple(
            empty_bin(scored, axis, b, bin_, held, omega, steady, admissible) for b, w in enumerate(winners) if w < 0
        ),
        provenance={
            **{name: about[name] for name in KEPT_ABOUT if name in about},
            **about_study,
            "bins": bins,
            **({} if by == "score" else {"by": by}),
            **({"require": [str(each) for each in require]} if require else {}),
            "halfmask": __version__,
        },
    )
    if profile is not None:
        menu = protected(menu, profile, question or default_question(profile), evidence)
    notes = optimum_notes(scored, menu, axis, profile)
    costs = _costs(scored, bin_, steady, require, met, bins, taken) if require else None
    front = pareto_front(scored, admissible)
    return Optimum(menu, scored, axis, bin_, admissible, fitness, winners, front, notes, costs)


def protected(menu: Menu, profile: Profile, question: Question, evidence: Evidence | None = None) -> Menu:
    """Return the menu with the protection of each setting: guess error, epsilons, share recognised, error of totals."""
    question = question.of_release(menu.release, profile)
    people = population_of(released(profile, menu.release))
    evidence = evidence if menu.release == READING else None
    entries = []
    for each in menu.settings:
        found = protection_of(each.setting, people, question)
        errors = total_errors(profile, each.setting, scaled=menu.provenance.get("error") == "scaled")
        (named,) = recognised_if_known(evidence, [each.setting])
        entries.append(replace(each, protection=replace(found, errors=errors, recognised=named)))
    return replace(menu, settings=tuple(entries), question=question)


def _facts(
    scored: StudyScores,
    profile: Profile | None,
    question: Question | None,
    evidence: Evidence | None,
    by: By,
    require: Sequence[Demand],
    *,
    scaled: bool,
) -> StudyProtection | None:
    """Return the protection that axis and requirements need; None if they need only the study."""
    if by == "score" and not require and evidence is None:
        return None
    if profile is None:
        asked = f"`by={by}`" if by != "score" else f"requirement {require[0]}" if require else "`panel`"
        raise OptionError(f"{asked} looks at the readings' sizes: name the study's `profile`", kind="profile")
    return StudyProtection.of(scored, profile, question or default_question(profile), evidence, scaled=scaled)


def _winners(scored: StudyScores, bin_: IntArray, among: BoolArray, bins: int, taken: Takes = anything) -> IntArray:
    """Return the best setting of each bin that devices accept; -1 for bins without one."""
    found = []
    for rows in (np.flatnonzero(among & (bin_ == b)) for b in range(bins)):
        best = _winner(scored, rows)
        while best >= 0 and not taken(scored.setting(best)):
            rows = rows[rows != best]
            best = _winner(scored, rows)
        found.append(best)
    return np.array(found, np.int64)


def _costs(
    scored: StudyScores,
    bin_: IntArray,
    steady: BoolArray,
    require: Sequence[Demand],
    met: list[BoolArray],
    bins: int,
    taken: Takes,
) -> Costs:
    """Return the best median utility of each bin without requirements, with each alone, and with all."""
    together = np.logical_and.reduce([steady, *met])
    columns = [
        [None if w < 0 else float(scored.utility_median[w]) for w in _winners(scored, bin_, among, bins, taken)]
        for among in (steady, *(steady & each for each in met), together)
    ]
    rows = zip(*columns, strict=True)
    return Costs(tuple(require), tuple(BinCost(IDS[b], row[0], row[1:-1], row[-1]) for b, row in enumerate(rows)))


def pareto_front(scored: StudyScores, among: BoolArray) -> IntArray:
    """Return the settings of ``among`` that no other exceeds in utility at no less privacy, from private to useful.

    Privacy and utility are medians.
    """
    rows = np.flatnonzero(among)
    rows = rows[np.lexsort((-scored.utility_median[rows], -scored.privacy_median[rows]))]
    best = np.maximum.accumulate(scored.utility_median[rows]) if len(rows) else np.zeros(0)
    return rows[np.concatenate([[True], best[1:] > best[:-1]])] if len(rows) else rows


def _check_bins(bins: int, omega: float) -> None:
    if not 1 <= bins <= len(IDS):
        raise OptionError(f"bins {bins} is not between 1 and {len(IDS)}", kind="bins")
    if not 0 < omega <= 1 / bins:
        raise OptionError(
            f"omega {omega} is not above 0 and at most the width of a bin, {1 / bins:.4g}: lower `omega` or `bins`",
            kind="omega",
        )


def _constraint(max_mean: float | None, max_std: float | None) -> Constraint | None:
    """Return the requested constraint with defaults for what is missing; None if nothing was requested."""
    asked = {n: float(v) for n, v in (("max_mean", max_mean), ("max_std", max_std)) if v is not None}
    for name, value in asked.items():
        if not value > 0:
            raise OptionError(f"`{name}` {value} is not above 0: no setting could keep it", kind="constraint")
    return Constraint(**asked) if asked else None


def _winner(scored: StudyScores, rows: IntArray) -> int:
    """Return the best of some settings, with ties resolved as in `optimize`; -1 if there are none."""
    for values in (scored.objective, scored.utility_median):
        if len(rows):
            rows = rows[values[rows] == values[rows].max()]
    if len(rows) < 2:
        return int(rows[0]) if len(rows) else -1
    noises = [noise_std(scored.setting(row)) for row in rows]
    return int(rows[np.argmin([np.inf if noise is None else noise for noise in noises])])


def _score(scored: StudyScores, index: int) -> tuple[Score, Score]:
    return (
        Score(float(scored.privacy_median[index]), float(scored.privacy_p10[index])),
        Score(float(scored.utility_median[index]), float(scored.utility_p10[index])),
    )


def _entry(scored: StudyScores, axis: Axis, number: int, index: int) -> MenuSetting:
    setting = scored.setting(index)
    privacy, utility = _score(scored, index)
    return MenuSetting(
        IDS[number], setting, axis.bin(number), privacy, utility, float(scored.objective[index]), noise_std(setting)
    )


def optimum_notes(scored: StudyScores, menu: Menu, axis: Axis, profile: Profile | None) -> list[str]:
    """Return notes on a menu: empty bins, settings that hide little, refused settings and warnings of the study."""
    from halfmask.menus.menu import brief

    names = scored.mechanisms.unique().to_pylist()
    notes = [*averaged(menu.provenance), *menu.warnings()]
    if len(set(names) - {"none"}) == 1:
        only = next(iter(set(names) - {"none"}))
        notes.append(f"the study has one mechanism only, {only}: the menu compares it with no other")
    of = "" if axis.name == "privacy" else f" of {axis.name}"
    notes += [
        f"bin {each.bin[0]:g} to {each.bin[1]:g}{of} is empty"
        f"{'' if each.nearest is None else f'; nearest is {brief(each.nearest)}'}: {each.reason}"
        for each in menu.empty_bins
    ]
    masking = menu.settings[:-1]
    notes += [
        f"{each.id}, {brief(each.setting)}, hides next to nothing: the best guess of a {menu.release} from its report "
        f"errs by {each.protection.guess:.2%} of guessing without one"
        for each in masking
        if each.protection is not None and each.protection.hides_next_to_nothing
    ]
    step = STEP if menu.question is None or menu.question.step is None else number_text(menu.question.step)
    notes += [
        f"devices refuse {each.id}: {said}. Name the campaign's own `step`, and only what they take is chosen"
        for each in masking
        if (said := refusal(each.setting, float(step))) is not None
    ]
    if profile is None:
        notes.append("what a setting hides is judged on the readings' sizes: name `profile` to have it said")
    notes += [
        f"{other.id} has more privacy and more utility than {each.id}: nobody need choose {each.id}"
        for each, other in combinations(masking, 2)
        if other.objective >= each.objective
    ]
    return notes
